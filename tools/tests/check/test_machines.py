"""New runs of another class of machine than the stored ones are named, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from rlregress.check import baseline_runs
from rlregress.check.cell_selection import Selection
from rlregress.check.machines import describe_other_machines
from rlregress.check.session import Session
from rlregress.report import markdown_page
from rlregress.report.html import check_page

from ..training.test_records import content
from .test_outcome import result_of


def test_runs_of_another_class_of_machine_are_reported(tmp_path):
    """Another processor or instruction set is; an equal or unknown one, or a crash, is not."""
    (stored,) = [
        item
        for item in baseline_runs.load_all_baselines()
        if item.cell.id == "sb3-ppo-Hopper-v4-short"
    ]
    session = Session(Selection("short", cells=stored.cell.id), 4, str(tmp_path))
    stored_platform = dict(stored.platform)
    assert "instructions" not in stored_platform
    same = stored_platform | {"instructions": "AVX2"}
    platforms = [same, same | {"cpu": "Other"}, same | {"cpu": "Other"}, {}]
    for job, platform in zip(session.list_jobs_of_cell(stored.cell), platforms, strict=True):
        session.store.locate_record(job).parent.mkdir(exist_ok=True)
        session.store.put_record_of_attempt(job, {**content(job), "platform": platform}, "one")
    [note] = describe_other_machines(session)
    assert note.startswith("2 new runs come from another class of machine (Other, Python ")
    other_baseline = replace(stored, platform=stored_platform | {"instructions": "AVX512"})
    session.stored = {stored.cell: other_baseline}
    first_note, second_note = describe_other_machines(session)
    assert first_note.startswith("1 new runs come from another class of machine (AMD")
    assert "AVX2" in first_note
    assert "AVX512" in first_note
    assert second_note.startswith("2 new runs")
    assert (
        f"({stored_platform['cpu']}, Python {stored_platform['python']}, "
        f"threads: {stored_platform['torch_threads']}); confirm" in note
    )
    page = check_page.make_page_of_check(result_of([], notes=[note]))
    assert f"\nNote: {note}.\n" in markdown_page.format_page_as_markdown(page)
