"""`errands mcp`: episodes as tools for any client of the Model Context Protocol."""

import typer

from errands.cli.completion import data_names, protocol_names
from errands.cli.output import remarks, results
from errands.errors import SettingError

__all__ = ["app"]

app = typer.Typer()


@app.command()
def mcp(
    protocol: list[str] = typer.Option(
        ["shop-demo", "turk-demo"],
        metavar="NAME",
        autocompletion=protocol_names,
        help="What is played: a protocol, or FILE.toml#name; may be repeated, one of each domain.",
    ),
    data: str | None = typer.Option(
        None,
        help="Another catalogue or folder of tasks, for a single --protocol.",
        autocompletion=data_names,
    ),
    split: str | None = typer.Option(None, help="Another split, for a single --protocol."),
    episodes: int | None = typer.Option(
        None, min=1, help="So many of each protocol, from the beginning."
    ),
    max_steps: int | None = typer.Option(None, min=1, help="Steps of an episode."),
    http: bool = typer.Option(False, "--http", help="Serve streamable HTTP instead of stdio."),
    port: int | None = typer.Option(
        None, min=0, max=65535, help="The port for --http (default: 8000); 0 takes a free one."
    ),
    handles: int = typer.Option(1000, min=1, help="Episodes that are kept at most."),
    idle: float = typer.Option(3600.0, min=0.1, help="Seconds until an unused one is forgotten."),
) -> None:
    """Serve episodes as tools over MCP, to clients such as editors, assistants and agent kits.

    A tool begins an episode and returns a handle with the first page; the others take the handle;
    result tells the reward once the episode is over. Over stdio the handle may be left out for the
    last one. HTTP is for programs on this machine alone. See docs/guides/integrations/mcp.md.

    Examples:

    \b
      errands mcp
      errands mcp --protocol shop-demo --max-steps 15
      errands mcp --http --port 8765
    """
    if port is not None and not http:
        raise SettingError("--port is for --http; over stdio there is none.")
    if len(protocol) > 1 and (data or split):
        raise SettingError("--data and --split are for a single protocol; name it by --protocol.")
    from errands.integrations.episodes import open_episodes
    from errands.integrations.mcp import (
        EpisodeHandles,
        HandleLimits,
        mcp_server,
        run_http,
        run_stdio,
    )

    opened = [
        open_episodes(name, data=data, split=split, episodes=episodes, max_steps=max_steps)
        for name in protocol
    ]
    limits = HandleLimits(handles=handles, idle_seconds=idle)
    server = mcp_server(EpisodeHandles(opened, one_client=not http, limits=limits))
    keys = " and ".join(one.key for one in opened)
    if not http:
        remarks.print(f"Serving {keys} over standard input and output.")
        run_stdio(server)
        return
    from errands.web.core.limits import listen

    listening = listen("127.0.0.1", 8000 if port is None else port)
    results.print(f"Serving MCP on http://127.0.0.1:{listening.getsockname()[1]}/mcp")
    results.file.flush()
    remarks.print(f"Episodes of {keys}; Ctrl-C ends it.")
    run_http(server, listening)
