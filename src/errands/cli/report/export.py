"""`errands export`: a run in formats of others, or a protocol as tasks for Harbor."""

import shlex
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import typer

from errands.cli.completion import data_names
from errands.cli.options import agent_settings
from errands.cli.output import Json, answer, progress_bar, remarks
from errands.errors import SettingError
from errands.plugins import nearest
from errands.runs.export import FORMATS, export
from errands.runs.store.places import open_run

__all__ = ["app"]

_FORMATS: Final = (*FORMATS, "harbor")

app = typer.Typer()


@app.command("export")
def export_command(
    run: str = typer.Argument(
        help="The directory of a run, or its address; for harbor a protocol, or FILE.toml#name."
    ),
    path: Path = typer.Argument(
        help="What to write: a file; for atif a directory, or a .jsonl; for harbor a directory."
    ),
    form: str = typer.Option("jsonl", "--format", help=f"One of {', '.join(_FORMATS)}."),
    force: bool = typer.Option(False, "--force", help="Replace a file that exists."),
    style: str | None = typer.Option(
        None,
        help="chat: act (default), react (with thoughts), or sent (a model's requests as sent).",
    ),
    setting: list[str] = typer.Option(
        [],
        "--set",
        metavar="NAME=VALUE",
        help="chat: what the agent llm is to be asked with: shots, top, window, calls, prompt.",
    ),
    min_reward: float | None = typer.Option(
        None, min=0, max=1, help="chat: only episodes with at least this reward."
    ),
    episodes: int | None = typer.Option(
        None, min=1, help="harbor: so many episodes, from the beginning."
    ),
    data: str | None = typer.Option(
        None, help="harbor: another catalogue or folder of tasks.", autocompletion=data_names
    ),
    split: str | None = typer.Option(None, help="harbor: another split."),
    max_steps: int | None = typer.Option(None, min=1, help="harbor: steps of an episode."),
    image: str | None = typer.Option(
        None,
        metavar="NAME",
        help="harbor: a Docker image that has errands and the data (default: errands is installed"
        " from the package index, with the demo's data).",
    ),
    mcp: bool = typer.Option(
        True, "--mcp/--no-mcp", help="harbor: offer the tools over MCP, too, not by HTTP alone."
    ),
    open_network: bool = typer.Option(
        False,
        "--open-network",
        help="harbor: let agents reach the internet, where goals could be looked up.",
    ),
    as_json: bool = Json,
) -> None:
    """Write all episodes of a run in another format, or a protocol as tasks for Harbor.

    Examples:

      errands export runs/rule rule.jsonl

      errands export runs/rule rule.parquet --format parquet

      errands export runs/rule trajectories --format atif

      errands export runs/rule sft.jsonl --format chat --min-reward 0.8

      errands export runs/teacher sft.jsonl --format chat --style react --set shots=0 --set top=3

      errands export shop-demo tasks --format harbor --episodes 20
    """
    chat = {"--style": style, "--set": setting or None, "--min-reward": min_reward}
    for option, value in chat.items():
        if value is not None and form != "chat":
            raise SettingError(f"{option} is for --format chat.")
    if form == "harbor":
        if force:
            raise SettingError("--force replaces a file; tasks for Harbor get a new directory.")
        changes = {"episodes": episodes, "data": data, "split": split, "max_steps": max_steps}
        options = {"image": image, "mcp": mcp, "open_network": open_network}
        _export_tasks(run, path, {**options, **changes}, as_json)
        return
    given = {
        "--episodes": episodes,
        "--data": data,
        "--split": split,
        "--max-steps": max_steps,
        "--image": image,
        "--no-mcp": None if mcp else True,
        "--open-network": open_network or None,
    }
    for option, value in given.items():
        if value is not None:
            raise SettingError(f"{option} is for --format harbor; a run is written as it is.")
    if form not in FORMATS:
        raise SettingError(
            f"There is no format {form!r};{nearest(form, _FORMATS)} expected {', '.join(_FORMATS)}."
        )
    with closing(open_run(run)) as store, progress_bar() as bar:
        total = len(store.numbers())
        count = export(
            store,
            path,
            form,
            replace=force,
            style=style or "act",
            settings=agent_settings(setting, None, None),
            min_reward=min_reward,
            progress=lambda done: bar("writing", done, total),
        )
    if form == "chat":
        _remark_on_goals(store.info.protocol.get("split"))
    record = {"written": path, "episodes": count}
    lines = [f"{count:,} episodes written to {path}"]
    if not count:
        remarks.print(f"{path} is empty: no episode is as it was asked for.")
    if count < total:
        why = "failed" if min_reward is None else f"failed or have a reward below {min_reward:g}"
        lines.append(f"{total - count:,} others {why} and are left out.")
    if total < store.info.episodes:
        lines.append(
            f"The run is to have {store.info.episodes:,}; the command that began it goes on with"
            f" --out {shlex.quote(run)} --resume"
        )
    answer(as_json, record, *lines)


def _remark_on_goals(split: object) -> None:
    from errands.envs.groups import is_for_testing

    if is_for_testing(split):
        remarks.print(
            f"These goals are for testing ({split}): what learns from their episodes must not be"
            " tested on them."
        )


def _export_tasks(protocol: str, out: Path, options: dict[str, Any], as_json: bool) -> None:
    from errands.integrations.harbor import write_tasks

    with progress_bar() as bar:
        episodes = write_tasks(
            out, protocol, progress=lambda done, total: bar("writing", done, total), **options
        )
    record = {"written": out, "episodes": len(episodes), "protocol": episodes.key}
    answer(
        as_json,
        record,
        f"{len(episodes):,} tasks of {episodes.key} written to {out}",
        f"Try: harbor run --path {shlex.quote(str(out))} --agent oracle",
    )
