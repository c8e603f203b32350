"""`errands transfer`: agents in real shops, over their pages."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from typer.core import TyperGroup

from errands.cli.output import Json, print_json, program, remarks, results
from errands.cli.transfer.output import (
    asked_scores,
    plain,
    print_run,
    print_tables,
    run_json,
)
from errands.errors import SettingError

if TYPE_CHECKING:
    from errands.transfer.goals import TransferGoal

__all__ = ["register"]


class _PlayByDefault(TyperGroup):
    """`errands transfer --site ...` is `errands transfer play --site ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = ["play", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="transfer",
    cls=_PlayByDefault,
    no_args_is_help=True,
    help="Agents in real shops: pages in, our pages out, two kinds of request and no third.",
)


def register(main: typer.Typer) -> None:
    main.add_typer(app)


_SITE = typer.Option(..., help="amazon, ebay, schema.org or webshop.")
_HOST = typer.Option("", help="Another host of the same shop, as www.amazon.co.uk.")
_SEARCH = typer.Option(
    "", "--search-url", help="For schema.org: where results are, with {query} and {page}."
)


@app.command("play")
def play(
    site: str = _SITE,
    instruction: list[str] = typer.Option(
        [], help="What is to be bought; may be repeated. ScoreLine by hand."
    ),
    agent: str = typer.Option("rule", help="An agent of the shop (`errands agents`)."),
    goals: Path | None = typer.Option(
        None, help="A file of errands: .txt, .toml (with what counts), .json (frozen goals)."
    ),
    catalog: str | None = typer.Option(
        None, help="Take the errands from a catalogue's human goals instead."
    ),
    split: str = typer.Option("test", help="With --catalog: which split."),
    episodes: int | None = typer.Option(None, min=1, help="Only the first so many errands."),
    pages: Path | None = typer.Option(None, help="A folder of saved pages: nobody is asked."),
    cassette: Path | None = typer.Option(None, help="A recording to play again: nobody is asked."),
    record: bool = typer.Option(False, "--record", help="Write the cassette while asking."),
    service: str = typer.Option(
        "", help="A scraping service: an address with {url}, and {key} if it needs one."
    ),
    service_key: str = typer.Option(
        "", help="The environment variable that holds the service's key."
    ),
    fetch: str = typer.Option("", help="module:function of your own, from a URL to a page."),
    host: str = _HOST,
    search: str = _SEARCH,
    model: str | None = typer.Option(None, help="The model of `--agent llm`."),
    checkpoint: str | None = typer.Option(None, help="What a trained agent was saved in."),
    setting: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A setting of the agent; may be repeated."
    ),
    out: Path | None = typer.Option(None, help="The run's file (default: below runs/)."),
    resume: bool = typer.Option(False, "--resume", help="Go on with the run that --out holds."),
    rules: str = typer.Option("released", help="For errands that say what counts."),
    max_steps: int = typer.Option(50, min=1, help="Of an episode."),
    details: bool = typer.Option(
        False, "--details", help="Also ask for parts of an item on pages of their own."
    ),
    pause: float = typer.Option(2.0, min=0, help="Seconds between requests, at least."),
    episode_requests: int = typer.Option(60, min=1, help="The most that an episode may send."),
    run_requests: int = typer.Option(3000, min=1, help="The most that a run may send."),
    ignore_robots: bool = typer.Option(
        False, "--ignore-robots", help="Do not ask for robots.txt. Only with the shop's leave."
    ),
    user_agent: str = typer.Option("", help="Who asks; the default says that it is errands."),
    timeout: float = typer.Option(20.0, help="Seconds for a page."),
    allow_local: bool = typer.Option(
        False, "--allow-local", help="Ask hosts inside your own network, too."
    ),
    seed: int = typer.Option(0, min=0, help="Of the agent's chance."),
    as_json: bool = Json,
) -> None:
    """Let an agent shop in a real shop; `play` may be left out.

    Only searches and opened items are ever asked for. Options and the purchase stay inside; what
    would have been bought is held for scoring. Ask only shops that allow it.

    Examples:

    \b
      errands transfer --site amazon --instruction "red basketball shoes" --agent rule
      errands transfer --site ebay --instruction "..." --agent il --checkpoint il --pages saved
      errands transfer --site amazon --goals errands.toml --cassette tape.jsonl --record
      errands transfer --site amazon --goals errands.toml --cassette tape.jsonl
    """
    from errands.transfer.fetch.http import USER_AGENT
    from errands.transfer.fetch.sources import FetchConfig, page_source
    from errands.transfer.play import TransferLimits, default_file, transfer
    from errands.transfer.sites.site import site_named
    from errands.transfer.tables import rows_of

    if pages is not None and site == "schema.org" and not search:
        from errands.transfer.sites.schema_org import SAVED

        search = SAVED
    shop = site_named(site, host=host, search=search)
    shop.search_url("", 1)  # schema.org must have been told where to search.
    wanted = _errands(instruction, goals, catalog, split, episodes)
    if resume and out is None:
        raise SettingError("--resume needs --out, the file of the run to go on with.")
    place = out or default_file(site, agent)
    settings: dict[str, Any] = dict(_pair(text) for text in setting)
    settings |= {
        name: value
        for name, value in (("model", model), ("checkpoint", checkpoint))
        if value is not None
    }
    live = FetchConfig(
        service=service,
        service_key=service_key,
        own=fetch,
        pause=pause,
        ignore_robots=ignore_robots,
        user_agent=user_agent or USER_AGENT,
        timeout=timeout,
        allow_local=allow_local,
    )
    opened = page_source(shop, pages=pages, cassette=cassette, record=record, live=live)
    with _told_how_to_go_on(place), opened as (source, told), _bar(agent) as bar:
        task = bar.add_task(f"{agent} on {site}", total=len(wanted))
        run, ended = transfer(
            wanted,
            shop,
            source,
            agent,
            out=place,
            pages=told,
            settings=settings,
            rules=rules,
            limits=TransferLimits(max_steps, episode_requests, run_requests),
            seed=seed,
            resume=resume,
            details=details,
            stand_in=pages is not None,
            on_episode=lambda summary, scored: bar.advance(task),
        )
    rows = rows_of([run])
    if as_json:
        print_json({**run_json(run), "ended": ended, "tables": msgspec.to_builtins(rows)})
    else:
        print_run(run)
        print_tables(rows)
        if ended:
            more = " and a larger --run-requests" if run.requests >= run_requests else ""
            remarks.print(
                f"The run ended early: {ended}. The same with --out {place} --resume{more}"
                " goes on.",
                soft_wrap=True,
            )
        results.print(f"Kept in {place}.", soft_wrap=True)
        if rows and rows[0].unscored:
            results.print(f"Score by hand: {program()} transfer score {place}", soft_wrap=True)
    if ended or (run.finished and all(each.end and each.end.error for each in run.finished)):
        raise typer.Exit(1)


@app.command("read")
def read(
    file: Path = typer.Argument(help="A saved page."),
    site: str = _SITE,
    as_page: bool = typer.Option(
        False, "--as-page", help="Show our page and what can be done there instead."
    ),
    url: str = typer.Option("", help="Where the page was, for links in it."),
    host: str = _HOST,
    as_json: bool = Json,
) -> None:
    """What is read from one page, and what is missing on it.

    Examples:

    \b
      errands transfer read item.html --site amazon
      errands transfer read results.html --site ebay --as-page
    """
    from errands.transfer.environment import preview
    from errands.transfer.fetch.saved_pages import read_page
    from errands.transfer.sites.site import site_named

    shop = site_named(site, host=host)
    html = read_page(file)
    kind = shop.kind(html)
    if not kind:
        raise SettingError(f"{file} is no page of {site}: neither results nor an item.")
    found: Any = shop.read_results(html, url) if kind == "search" else shop.read_item(html, url)
    if as_page:
        page = preview(shop, html, kind, "(no instruction)")
        results.print(plain(page.text, keep_lines=True), soft_wrap=True)
        results.print(f"Can be clicked: {plain(page.clickables)}", soft_wrap=True)
    elif as_json:
        print_json({"kind": kind, **msgspec.to_builtins(found)})
    else:
        table = Table(show_header=False, box=None)
        for name, value in msgspec.to_builtins(found).items():
            if name != "cards":
                table.add_row(name, plain(value))
        for card in getattr(found, "cards", ()):
            cost = " to ".join(f"{price:.2f}" for price in card.prices) or "N/A"
            table.add_row(card.id, plain(f"{cost}  {card.title}"))
        results.print(table)


@app.command("score")
def score(
    run: Path = typer.Argument(help="The run's file."),
    by: str = typer.Option("hand", help="Who scores; kept with the score."),
    csv: Path | None = typer.Option(None, help="Scores from a CSV that --form wrote."),
    form: Path | None = typer.Option(None, help="Write a CSV to be filled in, and stop."),
    force: bool = typer.Option(False, "--force", help="With --form: overwrite a file."),
    as_json: bool = Json,
) -> None:
    """Enter scores by hand: attributes, options, type and price of each purchase.

    Attributes and options are RIGHT/WANTED (`2/3`; `-` for no options), the type is 0, 0.1, 0.5
    or 1, the price 0 or 1. What is entered is kept at once.

    Examples:

    \b
      errands transfer score runs/mine.jsonl
      errands transfer score runs/mine.jsonl --form form.csv
      errands transfer score runs/mine.jsonl --csv form.csv --by ada
    """
    from errands.agents.agent import EndOfRun
    from errands.transfer.journal import append_to, read_run
    from errands.transfer.scores import read_scores, unscored, write_form
    from errands.transfer.tables import rows_of

    held = read_run(run)
    if form is not None:
        _write_new(form, write_form(held), force)
        results.print(f"{form}: {len(unscored(held))} purchases to be scored.", soft_wrap=True)
        return
    entered = 0
    with append_to(run) as journal, contextlib.suppress(EndOfRun):
        found = list(read_scores(csv, held, by)) if csv is not None else asked_scores(held, by)
        for line in found:
            journal.write(line)
            entered += 1
    rows = rows_of([read_run(run)])
    if as_json:
        print_json({"entered": entered, "tables": msgspec.to_builtins(rows)})
        return
    results.print(f"{entered} scores entered.")
    print_tables(rows)


@app.command("table")
def table_command(
    runs: list[Path] = typer.Argument(help="Files of runs."),
    paper: bool = typer.Option(False, "--paper", help="Also the figures of the paper."),
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown."),
    as_json: bool = Json,
) -> None:
    """Tables 6 and 9 of the paper over runs: score, success rate, seconds; the score's parts.

    Examples:

    \b
      errands transfer table runs/rule.jsonl runs/il.jsonl
      errands transfer table runs/*.jsonl --paper --markdown
    """
    from errands.transfer.journal import read_run
    from errands.transfer.tables import PAPER, rows_of, to_markdown

    rows = rows_of([read_run(path) for path in runs])
    if paper:
        rows += [msgspec.structs.replace(row, agent=f"{row.agent} (paper)") for row in PAPER]
    if as_json:
        print_json(msgspec.to_builtins(rows))
    elif markdown:
        typer.echo(to_markdown(rows), nl=False)
    else:
        print_tables(rows)


@app.command("compare")
def compare(
    folder: Path = typer.Argument(help="A folder of saved pages."),
    as_json: bool = Json,
) -> None:
    """What the original reads from saved pages, beside what is read here; as Markdown.

    Examples:

    \b
      errands transfer compare ../shared/data/transfer-pages
    """
    from errands.experiments.reading_comparison import compared, to_markdown

    facts = compared(folder)
    if as_json:
        print_json([fact._asdict() for fact in facts])
    else:
        typer.echo(to_markdown(facts), nl=False)


def _errands(
    instructions: list[str],
    goals: Path | None,
    catalog: str | None,
    split: str,
    episodes: int | None,
) -> "tuple[TransferGoal, ...]":
    from errands.transfer.goals import catalog_goals, instruction_goal, read_goals

    given = [bool(instructions), goals is not None, catalog is not None]
    if sum(given) != 1:
        raise SettingError("What is to be bought: give one of --instruction, --goals, --catalog.")
    if goals is not None:
        found = read_goals(goals)
    elif catalog is not None:
        from errands.shop.catalog.catalog import Catalog
        from errands.shop.splits import split_indices

        held = Catalog.open(catalog).goals("human")
        indices = split_indices(split, held)[: episodes or 100]
        found = catalog_goals(held[index] for index in indices)
    else:
        found = tuple(instruction_goal(text) for text in instructions)
    return found[:episodes]


def _write_new(path: Path, text: str, force: bool) -> None:
    """Write a file; one that is there, perhaps filled in, is not lost by mistake."""
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise SettingError(f"{path} is there already; --force overwrites it.") from None
    except OSError as failure:
        raise SettingError(f"{path} cannot be written ({failure.strerror}).") from None


@contextlib.contextmanager
def _told_how_to_go_on(place: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        remarks.print(
            f"Stopped; what was played is kept in {place}. The same command with --out {place}"
            " --resume goes on.",
            soft_wrap=True,
        )
        raise typer.Exit(130) from None


def _bar(agent: str) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=remarks,
        transient=True,
        disable=not remarks.is_terminal or agent == "human",
    )


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SettingError(f"--set {text}: expected NAME=VALUE.")
    return name.strip(), value
