"""What `errands transfer` prints and asks: runs, tables, and scores by hand."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from rich.table import Table

from errands.cli.output import results

if TYPE_CHECKING:
    from errands.transfer.journal import Scored, TransferRun
    from errands.transfer.tables import Row

__all__ = ["asked_scores", "plain", "print_run", "print_tables", "run_json"]


def plain(value: Any, keep_lines: bool = False) -> str:
    """Anything from a page, as text that a terminal does not obey."""
    from errands.agents.terminal import harmless

    if isinstance(value, dict):
        value = "; ".join(f"{name}: {plain(held)}" for name, held in value.items())
    elif isinstance(value, list | tuple):
        value = ", ".join(plain(held) for held in value)
    said = harmless(str(value))
    return said if keep_lines else said[:2000]


def run_json(run: "TransferRun") -> dict[str, Any]:
    return {
        "run": str(run.path),
        "site": run.info.site,
        "agent": run.info.agent,
        "requests": run.requests,
        "episodes": [
            {
                "number": played.number,
                "instruction": played.instruction,
                "actions": [step.action for step in played.steps if step.action],
                "requests": [[made.kind, made.url] for made in played.requests],
                "status": played.ended.status if played.ended else "",
                "error": played.ended.error if played.ended else "",
                "notes": played.ended.notes if played.ended else [],
                "bought": msgspec.to_builtins(played.held),
                "score": msgspec.to_builtins(played.score),
            }
            for played in run.finished
        ],
    }


def print_run(run: "TransferRun") -> None:
    for played in run.finished:
        assert played.ended is not None
        results.print(f"{played.number}: {plain(played.instruction)}", style="bold")
        for step in played.steps:
            if step.action:
                results.print(f"  {plain(step.action)}", soft_wrap=True)
        asked = [made.kind for made in played.requests]
        counts = f"{asked.count('search')} searches and {asked.count('item')} items asked for"
        if played.held is not None:
            product = played.held.product
            chosen = ", ".join(f"{name}: {value}" for name, value in played.held.options.items())
            held = f"  held: {product.title} [{product.id}] {chosen}"
            results.print(plain(held), soft_wrap=True)
        if played.ended.error:
            results.print(plain(f"  error: {played.ended.error}"), soft_wrap=True)
        for note in played.ended.notes:
            results.print(plain(f"  note: {note}"), soft_wrap=True)
        results.print(f"  {counts}; {played.ended.seconds:.1f} seconds")


def print_tables(rows: "list[Row]") -> None:
    def said(value: float | None) -> str:
        return "–" if value is None else f"{value:.1f}"

    first = Table(title="Table 6", title_justify="left")
    for name in ("agent", "site", "score", "success %", "seconds", "scored", "unscored", "errors"):
        first.add_column(name, justify="left" if name in ("agent", "site") else "right")
    second = Table(title="Table 9", title_justify="left")
    for name in ("agent", "site", "all", "attribute", "option", "type", "price"):
        second.add_column(name, justify="left" if name in ("agent", "site") else "right")
    for row in rows:
        counts = (str(row.episodes), str(row.unscored), str(row.errors))
        figures = (said(row.score), said(row.success), said(row.seconds), *counts)
        first.add_row(plain(row.agent), row.site, *figures)
        parts = (row.score, row.attribute, row.option, row.type, row.price)
        second.add_row(plain(row.agent), row.site, *map(said, parts))
    results.print(first)
    results.print(second)


def asked_scores(run: "TransferRun", by: str) -> "Iterator[Scored]":
    """Scores, as a person at the terminal enters them."""
    from errands.agents.terminal import Terminal
    from errands.transfer.scores import score as made
    from errands.transfer.scores import share, unscored

    terminal = Terminal()
    for played in unscored(run):
        assert played.held is not None
        product = played.held.product
        terminal.rule(f"Episode {played.number}")
        terminal.show((played.instruction, "bold"))
        cost = " to ".join(f"{price:.2f}" for price in product.prices) or "N/A"
        terminal.show(f"{product.title}\n{cost} {product.currency} {product.price_note}")
        for name, value in played.held.options.items():
            terminal.show(f"chosen: {name} = {value}")
        terminal.show(product.category)
        for line in product.bullets[:10]:
            terminal.show(f"- {line[:300]}")
        terminal.show(played.held.url)
        while True:
            try:
                attribute = share(terminal.ask("attributes, right/wanted"))
                option = share(terminal.ask("options, right/wanted or -"))
                kind = float(terminal.ask("type: 0, 0.1, 0.5 or 1"))
                price = float(terminal.ask("price: 0 or 1"))
                entry = made(played.number, attribute, option, kind, price, by)
            except ValueError as failure:
                terminal.show(f"That was not understood: {failure}. Once more.")
                continue
            yield entry
            break
