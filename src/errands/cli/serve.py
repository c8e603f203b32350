"""`errands serve`: environments for trainers on other machines."""

import typer

from errands.cli.output import remarks, results
from errands.errors import SettingError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    environments: bool = typer.Option(
        False, "--environments", help="Serve environments over HTTP and WebSocket."
    ),
    catalog: str = typer.Option("demo", help="A catalogue's directory or name."),
    goals: str = typer.Option(
        "synthetic", help="What clients shop for unless they say: synthetic, human, a goal file."
    ),
    tasks: str = typer.Option("demo", help="Paperwork: a folder of tasks, or demo."),
    host: str = typer.Option(
        "127.0.0.1", help="The address to listen on; 0.0.0.0 for other machines, too."
    ),
    port: int = typer.Option(8000, min=0, max=65535, help="The port; 0 takes a free one."),
    sessions: int = typer.Option(10_000, min=1, help="Open sessions at most."),
    per_client: int | None = typer.Option(
        None, min=1, help="Open sessions at most from one address (default: no such limit)."
    ),
    idle: float = typer.Option(900.0, min=0.1, help="Seconds after which an unused session ends."),
    token: str | None = typer.Option(
        None,
        envvar="ERRANDS_TOKEN",
        show_default=False,
        help="Clients must send it: Authorization: Bearer TOKEN.",
    ),
) -> None:
    """Serve many environments from one process, which owns the catalogue.

    Prints its address, then runs until Ctrl-C or SIGTERM, and finishes what is in flight.
    docs/serving.md has the protocol; /openapi.json describes it to programs.

    Examples:

    \b
      errands serve --environments
      errands serve --environments --catalog shop-1k --goals human --port 9000
      ERRANDS_TOKEN=... errands serve --environments --host 0.0.0.0
    """
    if not environments:
        raise SettingError("Nothing to serve was named; run `errands serve --environments`.")
    if token is not None and (not token or not token.isascii() or not token.isprintable()):
        raise SettingError("The token must be printable ASCII, and not empty.")
    from errands.web.limits import Limits
    from errands.web.server import serve_environments

    limits = Limits(sessions=sessions, sessions_per_client=per_client, idle_seconds=idle)

    def started(address: str) -> None:
        results.print(f"Serving environments on {address}", soft_wrap=True)
        results.file.flush()
        remarks.print(_advice(address, host, token), soft_wrap=True)

    serve_environments(
        catalog=catalog,
        goals=goals,
        tasks=tasks,
        host=host,
        port=port,
        token=token,
        limits=limits,
        on_start=started,
    )


def _advice(address: str, host: str, token: str | None) -> str:
    """How to try it, and who can reach it."""
    secret = " -H 'Authorization: Bearer TOKEN'" if token else ""
    lines = [f'Try: curl{secret} {address}/v1/sessions -d \'{{"environment": "shop"}}\'']
    if host in ("127.0.0.1", "localhost", "::1"):
        lines.append("Only this machine can reach it; --host 0.0.0.0 opens it to others.")
    elif token is None:
        lines.append("Anyone who reaches this address can use it; --token keeps others out.")
    return "\n".join(lines)
