"""`errands demo`: what it can show, each in a module of its own."""

from pathlib import Path

import typer

from errands.cli.options import CatalogData, TasksData, default_to
from errands.cli.output import Json

__all__ = ["app"]

app = typer.Typer(
    name="demo",
    cls=default_to("shop"),
    help="Watch an agent shop, or a form being filled in, or see all baselines play.\n\n"
    "Without a command it is the shop, which may also be left out: errands demo --goal 12.",
)


@app.command()
def shop(
    catalog: str = CatalogData,
    goals: str | None = typer.Option(
        None, help="human, synthetic or a goal file (default: human where there are any)."
    ),
    goal: int | None = typer.Option(
        None, min=0, help="Which goal to shop for (default: 5, where there are so many)."
    ),
) -> None:
    """Watch a simple agent shop: every page, every action, and the reward explained.

    Examples:

    \b
      errands demo
      errands demo --goal 12
      errands demo --data webshop-1k
    """
    from errands.cli.demo.shop import watch_shopping

    watch_shopping(catalog, goals, goal)


@app.command()
def turk(
    tasks: str = TasksData,
    task: str | None = typer.Option(None, help="Which task (default: a short one, or the first)."),
    row: int = typer.Option(0, min=0, help="Which of its instances."),
    driver: str = typer.Option("auto", help="auto, dom or browser."),
) -> None:
    """Watch a form being filled in: the page, the actions, and the score of each field.

    Examples:

    \b
      errands demo turk
      errands demo turk --task "Fridge Notes"
    """
    from errands.cli.demo.turk import watch_form

    watch_form(tasks, task, row, driver)


@app.command()
def tour(
    out: Path | None = typer.Option(None, help="A new directory (default: below runs/)."),
    as_json: bool = Json,
) -> None:
    """Play random, rule and the oracles on both domains of the demo data, and report on them.

    Example: errands demo tour --out runs/tour
    """
    from errands.cli.demo.tour import play_baselines

    play_baselines(out, as_json)
