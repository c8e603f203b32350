"""`errands demo turk`: one form filled in, action by action, by somebody who knows the answers."""

import shlex
from contextlib import closing

from rich.panel import Panel

from errands.cli.output import program, results, table
from errands.errors import SettingError
from errands.turk.actions.grammar import format_action
from errands.turk.drivers import Pages
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.scoring.instance_score import instance_figure, score_page
from errands.turk.scoring.metrics import DISPLAYED
from errands.turk.tasks.loader import DEMO, load_tasks

__all__ = ["watch_form"]

_LINES = 24
_FIRST = "Teapot Reviews"
"""Of the demo's tasks, a form that fits a screen."""


def watch_form(tasks: str, task: str | None, row: int, driver: str) -> None:
    """Show a page, the actions of somebody who knows the answers, and the score of each field."""
    opened = load_tasks(tasks)
    task = task or (_FIRST if tasks == DEMO else opened.names[0])
    chosen = opened.task(task)
    if row >= len(chosen.instances):
        raise SettingError(f"{task!r} has no row {row}; expected 0 to {len(chosen.instances) - 1}.")
    instance = chosen.instances[row]
    with closing(Pages(driver)) as pages, closing(pages.open(chosen, instance)) as page:
        lines = page.text().splitlines()
        rest = len(lines) - _LINES
        shown = [*lines[:_LINES], *([f"... and {rest} more lines"] if rest > 0 else [])]
        results.print(f"A form, read by the driver {pages.choice(chosen)!r}:")
        results.print(Panel("\n".join(shown), title=task))
        before = instance_figure(score_page(page, instance), "paper")
        done = play_oracle(page, instance)
        results.print("Somebody who knows what people answered does this:")
        for number, action in enumerate(done, 1):
            results.print(f"  {number}. {format_action(action)}")
        scored = score_page(page, instance)
    rows = []
    for field in scored:
        labels = ", ".join("-" if a is None else str(a) for a in instance.labels[field.name])
        scores = (
            f"{field.scores[rules]:.2f}" if rules in field.scores else "" for rules in DISPLAYED
        )
        rows.append((field.name, field.type, ", ".join(field.values), labels, *scores))
    headings = ("field", "type", "answered", "people said", *DISPLAYED)
    results.print(table(*headings, rows=rows, title="Scores"))
    after = instance_figure(scored, "paper")
    results.print(f"Score: {after or 0:.2f}; doing nothing would have given {before or 0:.2f}.\n")
    results.print("What to try next:")
    place = "" if tasks == DEMO else f" --data {shlex.quote(tasks)}"
    others = [name for name in opened.names if name != task]
    for command, why in (
        (f"turk info {shlex.quote(tasks)}", "what the tasks hold"),
        (f"run turk{place} --agent random", "a baseline on all of them"),
        *((f"demo turk{place} --task {shlex.quote(name)}", "another form") for name in others[:1]),
    ):
        results.print(f"  {program()} {command}  # {why}")
