// A field above every long table that leaves the rows which hold all the words typed.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".md-content table")) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 12) continue;
    const texts = rows.map(row => row.textContent.toLowerCase());
    const field = document.createElement("input");
    const count = document.createElement("span");
    field.type = "search";
    field.placeholder = "Filter rows";
    field.setAttribute("aria-label", "Filter the rows of the table below");
    field.className = count.className = "filter";
    count.setAttribute("aria-live", "polite");
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/);
      let left = 0;
      rows.forEach((row, i) => {
        row.hidden = !words.every(word => texts[i].includes(word));
        left += !row.hidden;
      });
      count.textContent = field.value ? `${left} of ${rows.length}` : "";
    });
    const above = document.createElement("p");
    above.append(field, count);
    (table.closest(".md-typeset__scrollwrap") || table).before(above);
  }
});
