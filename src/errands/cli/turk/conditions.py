"""`errands turk conditions`: the published rows that a language model can be run under."""

from errands.agents.llm.turk.conditions import Condition, PublishedTable, published_table
from errands.cli.output import json_lines, print_json, results, table
from errands.cli.turk.challenge import app

__all__ = ["app"]


@app.command("conditions")
def conditions_command(as_json: bool = json_lines("row")) -> None:
    """List the rows of the paper's table 4: what each shows a model, and its published score.

    \b
    Examples:
      errands turk conditions
      errands run turk-test --agent llm --model NAME --set condition=gpt4-relevant
      errands run turk-test --agent llm --model NAME --set condition=gpt4-full --set demos=3
    """
    published = published_table()
    if as_json:
        for row in published.rows:
            print_json(_record(published, row))
        return
    rows = [_cells(_record(published, row)) for row in published.rows]
    headings = ("condition", "input", "encoding", "demos", "budget", "score")
    title = f"{published.source}, protocol {published.protocol}"
    shown = table(*headings, rows=rows, left=3, title=title)
    for column in shown.columns:
        column.no_wrap = True
    results.print(shown)
    results.print(
        "Input: text, or text and vision; budget: tokens of a prompt; score: as published, in %."
        " A name in -original is what the original's code did, not what the paper describes."
    )


def _record(published: PublishedTable, row: Condition) -> dict[str, object]:
    return {
        "name": row.name,
        "model": row.model,
        "agent": row.agent,
        "protocol": published.protocol,
        "settings": published.settings(row) if row.settings else {},
        "input_tokens": row.input_tokens,
        "score": row.score,
        "types": row.types,
        "source": published.source,
    }


def _cells(record: dict[str, object]) -> tuple[str, ...]:
    settings = record["settings"]
    assert isinstance(settings, dict)
    modalities = ("T + V" if settings["vision"] else "T") if settings else ""
    counts = (settings.get("demos"), settings.get("budget"))
    return (
        str(record["name"]),
        modalities,
        str(settings.get("encoding", "")),
        *("" if count is None else f"{count:,}" for count in counts),
        str(record["score"]),
    )
