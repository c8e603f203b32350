"""`errands crowd`: what people wrote and did on the website, as data."""

import typer

from errands.cli.crowd.demonstrations import (
    export_demonstrations,
    import_logs,
    show_demonstrations,
)
from errands.cli.crowd.instructions import export_instructions, show_instructions
from errands.cli.crowd.store import IncludeTrials, Store
from errands.cli.output import Json, print_json
from errands.crowd.instructions.human_file import summary
from errands.crowd.shopping.demonstrations import read_overview
from errands.crowd.store.database import open_read_only

__all__ = ["app"]

app = typer.Typer(
    name="crowd",
    no_args_is_help=True,
    help="What people wrote and did on your website, as data.",
)
_export = typer.Typer(
    name="export",
    no_args_is_help=True,
    help="Write instructions as a file, or demonstrations as a run.",
)


@app.command()
def info(store: str = Store, include_trials: bool = IncludeTrials, as_json: bool = Json) -> None:
    """Count the instructions that people wrote, and the workers who shopped, with their figures.

    Examples:

    \b
      errands crowd info site.sqlite
      errands crowd info site.sqlite --include-trials --json
    """
    with open_read_only(store) as database:
        written = summary(database)
        shopped = read_overview(database, include_trials=include_trials)
    if as_json:
        print_json({"instructions": written, "demonstrations": shopped})
        return
    show_instructions(written)
    show_demonstrations(shopped)


app.add_typer(_export)
_export.command("instructions")(export_instructions)
_export.command("demonstrations")(export_demonstrations)
app.command("import-logs")(import_logs)
