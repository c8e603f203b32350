"""`errands transfer`: agents in real shops, over their pages."""

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import typer
from rich.table import Table

from errands.cli.completion import agent_names, catalog_names
from errands.cli.options import agent_settings, default_to, takes_records
from errands.cli.output import Json, counting, print_json, program, remarks, results, write_new
from errands.cli.transfer.output import entered_scores, plain, print_run, print_tables, run_json
from errands.errors import SettingError

if TYPE_CHECKING:
    from errands.transfer.fetch.fetcher import Fetch
    from errands.transfer.goals import TransferGoal
    from errands.transfer.journal import TransferRun
    from errands.transfer.sites.site import SiteReader

__all__ = ["app"]


app = typer.Typer(
    name="transfer",
    cls=default_to("play"),
    no_args_is_help=True,
    help="Agents in real shops: their pages as ours, two kinds of request and no third.",
)


_SITE = typer.Option(
    ...,
    help="amazon, ebay, schema.org, webshop, an installed one, or module:attribute.",
)
_HOST = typer.Option("", help="Another host of the same shop, as www.amazon.co.uk.")


@dataclass(frozen=True)
class _GoalOptions:
    """What is to be bought."""

    instruction: list[str] = typer.Option(
        [], help="What is to be bought; may be repeated. Scored by hand."
    )
    goals: Path | None = typer.Option(
        None, help="A file of goals: .txt, .toml (with what counts), .json (frozen goals)."
    )
    catalog: str | None = typer.Option(
        None,
        "--data",
        help="Take the instructions from a catalogue's human goals instead.",
        autocompletion=catalog_names,
    )
    split: str = typer.Option("test", help="With --data: which split.")
    episodes: int | None = typer.Option(None, min=1, help="Only the first so many goals.")

    def read(self) -> "tuple[TransferGoal, ...]":
        from errands.transfer.goals import catalog_goals, instruction_goal, read_goals

        given = [bool(self.instruction), self.goals is not None, self.catalog is not None]
        if sum(given) != 1:
            raise SettingError("What is to be bought: give one of --instruction, --goals, --data.")
        if self.goals is not None:
            return read_goals(self.goals)[: self.episodes]
        if self.catalog is None:
            return tuple(map(instruction_goal, self.instruction))[: self.episodes]
        from errands.shop.catalog.catalog import Catalog
        from errands.shop.splits import split_indices

        human = Catalog.open(self.catalog).goals("human")
        indices = split_indices(self.split, human)[: self.episodes or 100]
        return catalog_goals(human[index] for index in indices)


@dataclass(frozen=True)
class _SourceOptions:
    """Where pages come from."""

    pages: Path | None = typer.Option(None, help="A folder of saved pages: no requests.")
    cassette: Path | None = typer.Option(None, help="A recording to play again: no requests.")
    record: bool = typer.Option(False, "--record", help="Write the cassette along the way.")
    service: str = typer.Option(
        "", help="A scraping service: an address with {url}, and {key} if it needs one."
    )
    service_key: str = typer.Option(
        "", help="The environment variable that holds the service's key."
    )
    fetch: str = typer.Option("", help="module:function of your own, from a URL to a page.")
    host: str = _HOST
    search: str = typer.Option(
        "", "--search-url", help="For schema.org: where results are, with {query} and {page}."
    )
    pause: float = typer.Option(2.0, min=0, help="Seconds between requests, at least.")
    ignore_robots: bool = typer.Option(
        False, "--ignore-robots", help="Do not read robots.txt. Only with the shop's leave."
    )
    user_agent: str = typer.Option("", help="Who asks; the default says that it is errands.")
    timeout: float = typer.Option(20.0, help="Seconds for a page.")
    allow_local: bool = typer.Option(
        False, "--allow-local", help="Request pages inside your own network, too."
    )

    def site(self, name: str) -> "SiteReader":
        from errands.transfer.sites.schema_org import SAVED
        from errands.transfer.sites.site import site_named

        saved = self.pages is not None and name == "schema.org"
        reader = site_named(name, host=self.host, search=self.search or (SAVED if saved else ""))
        reader.search_url("", 1)  # schema.org must have been told where to search.
        return reader

    def open(self, site: "SiteReader") -> "AbstractContextManager[tuple[Fetch, str]]":
        from errands.transfer.fetch.http import USER_AGENT
        from errands.transfer.fetch.sources import FetchConfig, page_source

        live = FetchConfig(
            service=self.service,
            service_key=self.service_key,
            own=self.fetch,
            pause=self.pause,
            ignore_robots=self.ignore_robots,
            user_agent=self.user_agent or USER_AGENT,
            timeout=self.timeout,
            allow_local=self.allow_local,
        )
        return page_source(
            site, pages=self.pages, cassette=self.cassette, record=self.record, live=live
        )


@dataclass(frozen=True)
class _AgentOptions:
    """Who shops."""

    agent: str = typer.Option(
        "rule", help="An agent of the shop (`errands agents`).", autocompletion=agent_names
    )
    model: str | None = typer.Option(None, help="The model of `--agent llm`.")
    checkpoint: str | None = typer.Option(None, help="What a trained agent was saved in.")
    setting: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A setting of the agent; may be repeated."
    )
    seed: int = typer.Option(0, min=0, help="Of the agent's randomness.")

    def settings(self) -> dict[str, Any]:
        return agent_settings(self.setting, self.model, self.checkpoint)


@dataclass(frozen=True)
class _RunOptions:
    """How a run is played and kept."""

    out: Path | None = typer.Option(None, help="The run's file (default: below runs/).")
    resume: bool = typer.Option(False, "--resume", help="Go on with the run that --out holds.")
    rules: str = typer.Option("released", help="For goals that say what counts.")
    max_steps: int = typer.Option(50, min=1, help="Of an episode.")
    details: bool = typer.Option(
        False, "--details", help="Also request parts of an item on pages of their own."
    )
    episode_requests: int = typer.Option(60, min=1, help="The most that an episode may send.")
    run_requests: int = typer.Option(3000, min=1, help="The most that a run may send.")

    def file(self, site: str, agent: str) -> Path:
        from errands.transfer.play import default_file

        if self.resume and self.out is None:
            raise SettingError("--resume needs --out, the file of the run to go on with.")
        return self.out or default_file(site, agent)


@app.command("play")
@takes_records
def play(
    who: _AgentOptions,
    wanted: _GoalOptions,
    where: _SourceOptions,
    how: _RunOptions,
    site: str = _SITE,
    as_json: bool = Json,
) -> None:
    """Let an agent shop in a real shop; `play` may be left out.

    Only searches and opened items are ever requested. Options and the purchase stay inside; what
    would have been bought is recorded for scoring. Play only in shops that allow it.

    Examples:

    \b
      errands transfer --site amazon --instruction "red basketball shoes" --agent rule
      errands transfer --site ebay --instruction "..." --agent il --checkpoint il --pages saved
      errands transfer --site amazon --goals goals.toml --cassette tape.jsonl --record
      errands transfer --site amazon --goals goals.toml --cassette tape.jsonl
    """
    from errands.transfer.play import TransferConfig, transfer

    reader = where.site(site)
    goals = wanted.read()
    file = how.file(reader.name, who.agent)
    shown = counting(quiet=who.agent == "human")
    with _told_how_to_go_on(file), where.open(reader) as (fetch, pages), shown as bar:
        task = bar.add_task(f"{who.agent} on {reader.name}", total=len(goals), remark="")
        config = TransferConfig(
            agent=who.agent,
            out=file,
            pages=pages,
            settings=who.settings(),
            rules=how.rules,
            max_steps=how.max_steps,
            per_episode=how.episode_requests,
            per_run=how.run_requests,
            seed=who.seed,
            resume=how.resume,
            details=how.details,
            stand_in=where.pages is not None,
        )
        run, reason = transfer(
            goals, reader, fetch, config, on_episode=lambda summary, score: bar.advance(task)
        )
    _print_played(run, reason, run.requests >= how.run_requests, as_json=as_json)
    if reason or (run.finished and all(each.end and each.end.error for each in run.finished)):
        raise typer.Exit(1)


def _print_played(run: "TransferRun", reason: str, is_spent: bool, *, as_json: bool) -> None:
    """A run that was played; `reason` says why it ended early, if it did."""
    from errands.transfer.tables import rows_of

    rows = rows_of([run])
    if as_json:
        print_json({**run_json(run), "ended": reason, "tables": rows})
        return
    print_run(run)
    print_tables(rows)
    if reason:
        more = " and a larger --run-requests" if is_spent else ""
        remarks.print(
            f"The run ended early: {reason}. The same with --out {run.path} --resume{more} goes on."
        )
    results.print(f"Kept in {run.path}.")
    if rows and rows[0].unscored:
        results.print(f"Score by hand: {program()} transfer score {run.path}")


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

    A page that tells of results or of a product although none was read ends with an error that
    says what it tells.

    Examples:

    \b
      errands transfer read item.html --site amazon
      errands transfer read results.html --site ebay --as-page
    """
    from errands.transfer.environment import preview
    from errands.transfer.fetch.saved_pages import read_page
    from errands.transfer.sites.claims import unread_item, unread_results
    from errands.transfer.sites.site import SiteError, site_named

    shop = site_named(site, host=host)
    html = read_page(file)
    kind = shop.kind(html)
    if not kind:
        reason = unread_results(html, shop.read_results(html, url))
        told = f" Yet {reason}: nothing of it was read." if reason else ""
        raise SettingError(f"{file} is no page of {site}: neither results nor an item.{told}")
    found: Any = shop.read_results(html, url) if kind == "search" else shop.read_item(html, url)
    what = "results were" if kind == "search" else "product was"
    if reason := (unread_results if kind == "search" else unread_item)(html, found):
        raise SiteError(
            f"{file}: no {what} read, although {reason}: {site} does not know its layout."
        )
    if as_page:
        page = preview(shop, html, kind, "(no instruction)")
        results.print(plain(page.text, keep_lines=True))
        results.print(f"Can be clicked: {plain(page.clickables)}")
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
    from errands.transfer.journal import TransferJournal, read_run
    from errands.transfer.scores import read_scores, unscored, write_form
    from errands.transfer.tables import rows_of

    if form is not None and csv is not None:
        raise SettingError("--form writes a CSV and --csv reads one; give one of them.")
    played = read_run(run)
    if form is not None:
        write_new(form, write_form(played), replace=force)
        results.print(f"{form}: {len(unscored(played))} purchases to be scored.")
        return
    entered = 0
    with TransferJournal(run) as journal, contextlib.suppress(EndOfRun):
        scores = list(read_scores(csv, played, by)) if csv else entered_scores(played, by)
        for line in scores:
            journal.write(line)
            entered += 1
    rows = rows_of([read_run(run)])
    if as_json:
        print_json({"entered": entered, "tables": rows})
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
        print_json(rows)
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


@contextlib.contextmanager
def _told_how_to_go_on(place: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        remarks.print(
            f"Stopped; what was played is kept in {place}. The same command with --out {place}"
            " --resume goes on."
        )
        raise typer.Exit(130) from None
