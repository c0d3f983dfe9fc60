'use strict';
// findings, and rows of tables; what a finding holds goes with it
const field = document.getElementById('find');
const every = [...document.querySelectorAll('main :is(article, details, .scroll, tbody tr)')]
  .filter(of => !of.parentElement.closest('article'));
const holders = every.filter(of => of.matches('details, .scroll') && of.querySelector('tbody tr'));
const items = every.filter(of => !holders.includes(of));
const folded = new Map(holders.filter(of => of.matches('details')).map(of => [of, of.open]));
const texts = new Map(items.map(of => {
  const title = of.closest('details')?.querySelector('summary').textContent ?? '';
  return [of, (title + ' ' + of.textContent).toLowerCase()];
}));
const holds = of => items.some(item => of.contains(item) && !item.hidden);
function find() {
  const wanted = field.value.trim().toLowerCase();
  for (const of of items) of.hidden = !texts.get(of).includes(wanted);
  for (const of of holders) {
    of.hidden = !holds(of);
    if (folded.has(of)) of.open = wanted ? true : folded.get(of);
  }
  for (const section of document.querySelectorAll('main section')) {
    section.hidden = wanted && !holds(section);
    let shown = false;
    for (const part of [...section.children].reverse()) {
      if (part.matches('h3')) {
        part.hidden = wanted && !shown;
        shown = false;
      } else shown ||= holds(part);
    }
  }
  const found = items.filter(of => !of.hidden).length;
  document.querySelector('output').textContent = wanted ? `${found} of ${items.length}` : '';
}
if (field && items.length) {
  field.parentElement.hidden = false;
  field.addEventListener('input', find);
}
