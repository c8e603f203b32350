"""What `errands transfer` prints and asks: runs, tables, and scores by hand."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from errands.cli.output import results, table

if TYPE_CHECKING:
    from errands.transfer.journal import ScoreLine, TransferRun
    from errands.transfer.tables import TransferRow

__all__ = ["entered_scores", "plain", "print_run", "print_tables", "run_json"]


def plain(value: Any, keep_lines: bool = False) -> str:
    """Anything from a page, as text that a terminal does not obey."""
    from errands.agents.terminal import harmless

    if isinstance(value, dict):
        value = "; ".join(f"{name}: {plain(part)}" for name, part in value.items())
    elif isinstance(value, list | tuple):
        value = ", ".join(plain(part) for part in value)
    said = harmless(str(value))
    return said if keep_lines else said[:2000]


def run_json(run: "TransferRun") -> dict[str, Any]:
    return {
        "run": run.path,
        "site": run.info.site,
        "agent": run.info.agent,
        "requests": run.requests,
        "episodes": [
            {
                "number": played.number,
                "instruction": played.instruction,
                "actions": [step.action for step in played.steps if step.action],
                "requests": [[request.kind, request.url] for request in played.requests],
                "status": played.end.status if played.end else "",
                "error": played.end.error if played.end else "",
                "notes": played.end.notes if played.end else [],
                "bought": played.purchase,
                "score": played.score,
            }
            for played in run.finished
        ],
    }


def print_run(run: "TransferRun") -> None:
    for played in run.finished:
        assert played.end is not None
        results.print(f"{played.number}: {plain(played.instruction)}", style="bold")
        for step in played.steps:
            if step.action:
                results.print(f"  {plain(step.action)}")
        kinds = [request.kind for request in played.requests]
        counts = f"{kinds.count('search')} searches and {kinds.count('item')} items requested"
        if played.purchase is not None:
            product = played.purchase.product
            chosen = ", ".join(
                f"{name}: {value}" for name, value in played.purchase.options.items()
            )
            results.print(plain(f"  purchase: {product.title} [{product.id}] {chosen}"))
        if played.end.error:
            owner = f" ({played.end.owner})" if played.end.owner else ""
            results.print(plain(f"  error{owner}: {played.end.error}"))
        for note in played.end.notes:
            results.print(plain(f"  note: {note}"))
        results.print(f"  {counts}; {played.end.seconds:.1f} seconds")


def print_tables(rows: "list[TransferRow]") -> None:
    def said(value: float | None) -> str:
        return "–" if value is None else f"{value:.1f}"

    figures, parts = [], []
    for row in rows:
        who = (plain(row.agent), row.site)
        counts = (str(row.episodes), str(row.unscored), str(row.errors))
        figures.append((*who, *map(said, (row.score, row.success, row.seconds)), *counts))
        each = (row.score, row.attribute, row.option, row.type, row.price)
        parts.append((*who, *map(said, each)))
    first = ("agent", "site", "score", "success %", "seconds", "scored", "unscored", "errors")
    second = ("agent", "site", "all", "attribute", "option", "type", "price")
    results.print(table(*first, rows=figures, left=2, title="Table 6"))
    results.print(table(*second, rows=parts, left=2, title="Table 9"))


def entered_scores(run: "TransferRun", by: str) -> "Iterator[ScoreLine]":
    """Scores, as a person at the terminal enters them."""
    from errands.agents.terminal import Terminal
    from errands.transfer.scores import match_count, unscored
    from errands.transfer.scores import score as made

    terminal = Terminal()
    for played in unscored(run):
        assert played.purchase is not None
        product = played.purchase.product
        terminal.rule(f"Episode {played.number}")
        terminal.show((played.instruction, "bold"))
        cost = " to ".join(f"{price:.2f}" for price in product.prices) or "N/A"
        terminal.show(f"{product.title}\n{cost} {product.currency} {product.price_note}")
        for name, value in played.purchase.options.items():
            terminal.show(f"chosen: {name} = {value}")
        terminal.show(product.category)
        for line in product.bullets[:10]:
            terminal.show(f"- {line[:300]}")
        terminal.show(played.purchase.url)
        while True:
            try:
                attribute = match_count(terminal.ask("attributes, right/wanted"))
                option = match_count(terminal.ask("options, right/wanted or -"))
                kind = float(terminal.ask("type: 0, 0.1, 0.5 or 1"))
                price = float(terminal.ask("price: 0 or 1"))
                entry = made(played.number, attribute, option, kind, price, by)
            except ValueError as failure:
                terminal.show(f"That was not understood: {failure}. Once more.")
                continue
            yield entry
            break
