"""`errands serve`: the shop as a website, and environments for trainers on other machines."""

import typer

from errands.cli.output import remarks, results
from errands.errors import SettingError

__all__ = ["app"]


app = typer.Typer()


@app.command()
def serve(
    environments: bool = typer.Option(
        False, "--environments", help="Serve environments over HTTP and WebSocket instead."
    ),
    site: bool | None = typer.Option(
        None,
        "--site/--no-site",
        show_default=False,
        help="The shop's website (default: unless there are --environments or --runs).",
    ),
    runs: list[str] = typer.Option(
        [],
        metavar="PLACE",
        show_default=False,
        help="Show runs below /runs: a run's directory, a folder of such, postgresql://...;"
        " may be repeated.",
    ),
    catalog: str = typer.Option("demo", help="A catalogue's directory or name."),
    goals: str = typer.Option(
        "synthetic",
        help="What is shopped for: synthetic, human, a goal file. Clients may say otherwise.",
    ),
    crowd: bool | None = typer.Option(
        None,
        "--crowd/--no-crowd",
        "--office/--no-office",
        show_default=False,
        help="Crowd work and data collection below /office (default: with the website).",
    ),
    store: str = typer.Option(
        "errands-site.sqlite",
        metavar="PLACE",
        help="Where the website keeps everything, every step of its visitors among it: a file,"
        " or postgresql://...",
    ),
    password: str | None = typer.Option(
        None,
        envvar="ERRANDS_ADMIN_PASSWORD",
        show_default=False,
        help="The admin's, for a new --store (default: one is generated and shown once).",
    ),
    reset_password: bool = typer.Option(
        False,
        "--reset-password",
        help="Give the admin another password, --password or a generated one: the old one is lost.",
    ),
    seed: int = typer.Option(0, min=0, help="Of the goals that visitors of the website get."),
    attrs: bool = typer.Option(
        False, "--attrs", help="Let the website show the hidden attributes of products."
    ),
    tasks: str = typer.Option("demo", help="Form pages and crowd work: a task folder, or demo."),
    host: str = typer.Option(
        "127.0.0.1", help="The address to listen on; 0.0.0.0 for other machines, too."
    ),
    port: int = typer.Option(8000, min=0, max=65535, help="The port; 0 takes a free one."),
    sessions: int = typer.Option(10_000, min=1, help="Open sessions at most."),
    visitors: int = typer.Option(
        100_000, min=0, help="Unfinished sessions of visitors at most; beyond, no new one begins."
    ),
    per_client: int | None = typer.Option(
        None, min=1, help="Open sessions at most from one address (default: no such limit)."
    ),
    idle: float = typer.Option(900.0, min=0.1, help="Seconds after which an unused session ends."),
    token: str | None = typer.Option(
        None,
        envvar="ERRANDS_TOKEN",
        show_default=False,
        help="Clients must send it: Authorization: Bearer TOKEN. The website is open.",
    ),
) -> None:
    """Serve the shop as a website for people; or environments; or pages about runs; or all.

    Prints its address, then runs until Ctrl-C or SIGTERM, and finishes what is in flight.
    docs/site.md is about the website, docs/serving.md about environments, docs/site-runs.md about
    runs; /openapi.json describes all of it to programs.

    Examples:

    \b
      errands serve
      errands serve --catalog shop-1k --goals human --store shoppers.sqlite --port 9000
      errands serve --environments --site
      errands serve --runs runs
      ERRANDS_TOKEN=... errands serve --environments --host 0.0.0.0
    """
    has_site = not (environments or runs) if site is None else site
    has_crowd = has_site if crowd is None else crowd
    if not (has_site or has_crowd or environments or runs):
        raise SettingError("Nothing is left to serve; leave out --no-site, or add --environments.")
    if token is not None and (not token or not token.isascii() or not token.isprintable()):
        raise SettingError("The token must be printable ASCII, and not empty.")
    from errands.crowd.store.database import shown
    from errands.web.core.limits import ServerLimits
    from errands.web.server import CrowdConfig, ServerStart, SiteConfig
    from errands.web.server import serve as run

    limits = ServerLimits(
        sessions=sessions,
        sessions_per_client=per_client,
        visitors=visitors,
        idle_seconds=idle,
    )

    def started(start: ServerStart) -> None:
        address = start.address
        served = (
            ("the shop", has_site),
            ("crowd work", has_crowd),
            ("environments", environments),
            ("runs", bool(runs)),
        )
        what = " and ".join(name for name, is_there in served if is_there)
        results.print(f"Serving {what} on {address}")
        results.file.flush()
        if has_site or has_crowd:
            remarks.print(f"Everything is kept in {shown(store)}.")
        if start.password is not None:
            remarks.print(
                f"The admin's password, shown only now: {start.password}",
                markup=False,
                highlight=False,
            )
        if has_crowd:
            remarks.print(f"Open {address}/office to invite people.")
        if runs:
            secret = "; the password is the token" if token else ""
            remarks.print(f"Open {address}/runs in a browser{secret}.")
        remarks.print(_advice(address, host, token, environments, has_site))

    run(
        catalog=catalog,
        goals=goals,
        tasks=tasks if environments else None,
        site=SiteConfig(seed, attrs) if has_site else None,
        crowd=CrowdConfig(tasks, password, reset_password) if has_crowd else None,
        store=store,
        runs=runs,
        host=host,
        port=port,
        token=token,
        limits=limits,
        on_start=started,
    )


def _advice(address: str, host: str, token: str | None, environments: bool, has_site: bool) -> str:
    """How to try it, and who can reach it."""
    lines = [f"Open {address}/ in a browser."] if has_site else []
    if environments:
        secret = " -H 'Authorization: Bearer TOKEN'" if token else ""
        lines.append(f'Try: curl{secret} {address}/v1/sessions -d \'{{"environment": "shop"}}\'')
    if host in ("127.0.0.1", "localhost", "::1"):
        lines.append("Only this machine can reach it; --host 0.0.0.0 opens it to others.")
    elif token is None and (environments or not has_site):
        lines.append("Anyone who reaches this address can use it; --token keeps others out.")
    elif has_site:
        lines.append("Anyone who reaches this address can shop.")
    return "\n".join(lines)
