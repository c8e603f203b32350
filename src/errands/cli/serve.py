"""`errands serve`: the shop as a website, and environments for trainers on other machines."""

import contextlib
import socket
from typing import Final

import typer

from errands.cli.completion import data_names, protocol_names
from errands.cli.output import remarks, results
from errands.errors import CatalogError, SettingError, TaskError

__all__ = ["app"]


app = typer.Typer()

_OPENENV: Final = {
    *("openenv", "protocol", "host", "port", "sessions", "idle", "token"),
    *("allowed_host", "trusted_proxy"),
}
"""What can be said together with --openenv."""


@app.command()
def serve(
    context: typer.Context,
    environments: bool = typer.Option(
        False, "--environments", help="Serve environments over HTTP and WebSocket instead."
    ),
    agentgym: bool = typer.Option(
        False,
        "--agentgym",
        help="Serve the shop by AgentGym's HTTP routes instead; below /agentgym with --site.",
    ),
    site: bool | None = typer.Option(
        None,
        "--site/--no-site",
        show_default=False,
        help="The shop's website (default: unless something else is asked for).",
    ),
    runs: list[str] = typer.Option(
        [],
        metavar="PLACE",
        show_default=False,
        help="Show runs below /runs: a run's directory, a folder of such, postgresql://...;"
        " may be repeated.",
    ),
    openenv: bool = typer.Option(
        False, "--openenv", help="Serve a protocol's episodes to OpenEnv's clients, and only that."
    ),
    protocol: list[str] = typer.Option(
        ["shop-demo"],
        metavar="NAME",
        autocompletion=protocol_names,
        help="What --openenv serves: a protocol, or FILE.toml#name; several are splits.",
    ),
    data: list[str] = typer.Option(
        ["demo"],
        metavar="PLACE",
        help="A catalogue to shop in; a folder of tasks for form pages and crowd work; or both: may"
        " be repeated.",
        autocompletion=data_names,
    ),
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
    host: str = typer.Option(
        "127.0.0.1",
        envvar="ERRANDS_HOST",
        help="The address to listen on; 0.0.0.0 for other machines, too.",
    ),
    port: int = typer.Option(8000, min=0, max=65535, help="The port; 0 takes a free one."),
    allowed_host: list[str] = typer.Option(
        [],
        metavar="NAME",
        envvar="ERRANDS_ALLOWED_HOST",
        show_default=False,
        help="A name that the server is called by, beside its own: shop.example.org,"
        " *.example.org, or * for any; may be repeated.",
    ),
    trusted_proxy: list[str] = typer.Option(
        [],
        metavar="ADDRESS",
        envvar="ERRANDS_TRUSTED_PROXY",
        show_default=False,
        help="A proxy in front, or a network (10.0.0.0/8): clients are whom it names by"
        " X-Forwarded-For or Forwarded; may be repeated.",
    ),
    sessions: int = typer.Option(10_000, min=1, help="Open sessions at most."),
    visitors: int = typer.Option(
        100_000,
        min=0,
        help="Unfinished sessions of visitors at most. Beyond, those make room who took no step for"
        " --idle seconds, or else were away for an hour; where there are none, no new one begins.",
    ),
    per_client: int | None = typer.Option(
        None, min=1, help="Open sessions at most from one address (default: no such limit)."
    ),
    form_threads: int | None = typer.Option(
        None,
        min=1,
        max=64,
        help="Threads that work on form pages (default: one for each core, at most 4).",
    ),
    form_processes: int = typer.Option(
        0, min=0, max=256, help="Processes that work on form pages instead of threads."
    ),
    shop_processes: int = typer.Option(
        0, min=0, max=256, help="Processes that play the shop's environments (0: the server does)."
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
    docs/guides/website.md is about the website, docs/guides/serving.md about environments,
    docs/guides/looking-at-runs.md about runs; /openapi.json describes all of it to programs.

    Examples:

    \b
      errands serve
      errands serve --data shop-1k --goals human --store shoppers.sqlite --port 9000
      errands serve --environments --site --form-threads 2
      errands serve --agentgym --data shop-1k --port 36001
      errands serve --runs runs
      ERRANDS_TOKEN=... errands serve --environments --host 0.0.0.0
      errands serve --openenv --protocol shop-learn-train --protocol shop-demo
    """
    _check_openenv(context, openenv)
    has_site = not (environments or agentgym or runs) if site is None else site
    has_crowd = has_site if crowd is None else crowd
    if not (has_site or has_crowd or environments or agentgym or runs):
        raise SettingError("Nothing is left to serve; leave out --no-site, or add --environments.")
    if (form_processes or shop_processes) and not environments:
        raise SettingError(
            "--form-processes and --shop-processes play the environments: add --environments."
        )
    if token is not None and (not token or not token.isascii() or not token.isprintable()):
        raise SettingError("The token must be printable ASCII, and not empty.")
    if openenv:
        from errands.cli.serve_openenv import serve_openenv

        serve_openenv(
            *(protocol, host, port),
            sessions=sessions,
            idle=idle,
            token=token,
            allowed_host=allowed_host,
            trusted_proxy=trusted_proxy,
        )
        return
    # Pages about runs need neither.
    is_asked = has_site or has_crowd or environments or agentgym
    catalog, tasks = _catalog_and_tasks(data if is_asked else [])
    from errands.crowd.store.database import shown
    from errands.web.core.limits import ServerLimits
    from errands.web.server import AGENTGYM, CrowdConfig, ServerStart, SiteConfig
    from errands.web.server import serve as run

    limits = ServerLimits(
        sessions=sessions,
        sessions_per_client=per_client,
        visitors=visitors,
        idle_seconds=idle,
        form_threads=form_threads or ServerLimits().form_threads,
        form_processes=form_processes,
        shop_processes=shop_processes,
    )

    def started(start: ServerStart) -> None:
        address = start.address
        served = (
            ("the shop", has_site),
            ("crowd work", has_crowd),
            ("environments", environments),
            ("AgentGym's WebShop", agentgym),
            ("runs", bool(runs)),
        )
        what = " and ".join(name for name, is_there in served if is_there)
        results.print(f"Serving {what} on {address}")
        results.file.flush()
        if not start.has_goals:
            remarks.print("The shop has no goals yet: it can be searched, but nothing be bought.")
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
        if agentgym:
            base = f"{address}{AGENTGYM if has_site else ''}"
            remarks.print(f'AgentGym\'s client takes env_server_base="{base}".')
        remarks.print(_advice(address, host, token, environments, has_site))

    run(
        catalog=catalog,
        goals=goals,
        tasks=tasks if environments else None,
        agentgym=agentgym,
        site=SiteConfig(seed, attrs) if has_site else None,
        crowd=CrowdConfig(tasks, password, reset_password) if has_crowd else None,
        store=store,
        runs=runs,
        host=host,
        port=port,
        token=token,
        allowed_host=allowed_host,
        trusted_proxy=trusted_proxy,
        limits=limits,
        on_start=started,
    )


def _catalog_and_tasks(places: list[str]) -> tuple[str, str]:
    """Which of the places is the catalogue, and which the folder of tasks; `demo` is both."""
    from errands.shop.catalog.library import locate
    from errands.turk.tasks.loader import load_tasks

    sorts: dict[str, list[str]] = {"catalogue": [], "folder of tasks": []}
    for place in places:
        if place == "demo":
            continue
        with contextlib.suppress(CatalogError):
            if (locate(place) / "manifest.json").is_file():
                sorts["catalogue"].append(place)
                continue
        try:
            load_tasks(place)
        except TaskError:
            raise SettingError(
                f"--data {place}: there is no such catalogue (`errands catalog list` names them),"
                " and no such folder of tasks."
            ) from None
        sorts["folder of tasks"].append(place)
    for sort, found in sorts.items():
        if len(found) > 1:
            raise SettingError(f"--data takes one {sort}, and got {' and '.join(found)}.")
    catalog, tasks = ((*found, "demo")[0] for found in sorts.values())
    return catalog, tasks


def _check_openenv(context: typer.Context, openenv: bool) -> None:
    """Options that would do nothing are refused."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE":
            continue
        option = f"--{name.replace('_', '-')}"
        if openenv and name not in _OPENENV:
            raise SettingError(
                f"--openenv serves protocols and nothing else: leave out {option}, or serve that on"
                " another port."
            )
        if name == "protocol" and not openenv:
            raise SettingError("--protocol says what --openenv serves: add --openenv.")


def _advice(address: str, host: str, token: str | None, environments: bool, has_site: bool) -> str:
    """How to try it, who can reach it, and by which names."""
    from errands.web.core.hosts import is_loopback

    lines = [f"Open {address}/ in a browser."] if has_site else []
    if environments:
        secret = " -H 'Authorization: Bearer TOKEN'" if token else ""
        lines.append(f'Try: curl{secret} {address}/v1/sessions -d \'{{"environment": "shop"}}\'')
    if is_loopback(host):
        lines.append("Only this machine can reach it; --host 0.0.0.0 opens it to others.")
        return "\n".join(lines)
    lines.append(
        f"It answers to addresses in numbers and to the name {socket.gethostname()}; other names"
        " need --allowed-host."
    )
    if token is None and (environments or not has_site):
        lines.append("Anyone who reaches this address can use it; --token keeps others out.")
    elif has_site:
        lines.append("Anyone who reaches this address can shop.")
    return "\n".join(lines)
