"""A run as files for other tools: JSONL, Parquet, ATIF, conversations.

Episodes go through one by one, so a million of them need no more memory than a few. The result
appears whole or not at all. Halves of surrogate pairs, which UTF-8 has no bytes for, become the
replacement character.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.atomic import atomic_write
from errands.extras import install_command
from errands.plugins import nearest
from errands.runs.atif import trajectory, valid_text
from errands.runs.chat import ChatWriter
from errands.runs.episode import Episode, RunInfo, Step, Summary
from errands.runs.episode_source import EpisodeSource
from errands.runs.replay import reopen_source
from errands.runs.store.base import Store, StoreError

__all__ = ["FORMATS", "export"]

FORMATS: Final = ("jsonl", "parquet", "atif", "chat")

_BATCH: Final = 5_000
_BATCH_CHARACTERS: Final = 16_000_000
_STEP_FIELDS: Final = tuple(field.name for field in msgspec.structs.fields(Step))
_SUMMARY_FIELDS: Final = tuple(field.name for field in msgspec.structs.fields(Summary))


def export(
    store: Store,
    path: str | os.PathLike[str],
    format: str,
    *,
    replace: bool = False,
    style: str = "act",
    settings: Mapping[str, Any] | None = None,
    min_reward: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write all episodes of a run; how many there were.

    `jsonl`: an object a line. `parquet`: a row each, steps nested. `atif`: a folder with a file
    each, or one file of lines where the path ends in `.jsonl`. `chat`: a conversation a line, in a
    `style` of `errands.runs.chat.STYLES`, of episodes that have a reward, of at least `min_reward`;
    `settings` are those of the agent `llm` that it is to be asked with (`ChatWriter`).
    What is there already is left alone unless it is to be replaced; a folder always is. `progress`
    is told the count so far.
    """
    if format not in FORMATS:
        raise StoreError(
            f"There is no format {format!r};{nearest(format, FORMATS)} expected"
            f" {', '.join(FORMATS)}."
        )
    out = Path(path).absolute()
    folder = format == "atif" and out.suffix != ".jsonl"
    if out.exists() and (folder or out.is_dir() or not replace):
        how = "remove it" if folder or out.is_dir() else "replace it (--force)"
        raise StoreError(f"{out} exists already; name another path, or {how}.")
    count = 0

    def episodes() -> Iterator[Episode]:
        nonlocal count
        for episode in store.episodes():
            if format == "chat" and not _is_chosen(episode.summary, min_reward):
                continue
            count += 1
            yield episode
            if progress is not None:
                progress(count)

    line = _atif_line if format == "atif" else _plain_line
    try:
        if folder:
            with _new_folder(out) as work:
                for episode in episodes():
                    name = f"episode-{episode.summary.number:06}.json"
                    (work / name).write_bytes(line(episode, store.info))
        elif format == "chat":
            atomic_write(
                out, lambda work: _write_chat(episodes(), store.info, work, style, settings)
            )
        elif format == "parquet":
            atomic_write(out, lambda work: _write_parquet(episodes(), store.info, work))
        else:
            atomic_write(out, lambda work: _write_lines(episodes(), store.info, work, line))
    except OSError as failure:
        raise StoreError(
            f"{out} cannot be written ({failure.strerror or failure}); nothing is left of it."
        ) from None
    return count


@contextlib.contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """A hidden sibling to write to; it gets its name when all went well."""
    work = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        yield work
        work.chmod(0o755)
        work.rename(out)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise


def _write_lines(
    episodes: Iterator[Episode],
    info: RunInfo,
    work: Path,
    line: Callable[[Episode, RunInfo], bytes],
) -> None:
    with open(work, "wb") as out:
        out.writelines(line(episode, info) for episode in episodes)


def _is_chosen(summary: Summary, min_reward: float | None) -> bool:
    """Whether an episode is one to learn from."""
    return summary.reward is not None and summary.reward >= (min_reward or 0.0)


def _write_chat(
    episodes: Iterator[Episode],
    info: RunInfo,
    work: Path,
    style: str,
    settings: Mapping[str, Any] | None,
) -> None:
    opened: list[EpisodeSource] = []

    def source() -> EpisodeSource:
        if not opened:
            opened.append(reopen_source(info))
        return opened[0]

    writer = ChatWriter(info, style, source, settings)
    try:
        with open(work, "wb") as out:
            for episode in episodes:
                for line in writer.lines(episode):
                    out.write(msgspec.json.encode(valid_text(line)) + b"\n")
    finally:
        for one in opened:
            one.close()


def _atif_line(episode: Episode, info: RunInfo) -> bytes:
    return msgspec.json.encode(trajectory(episode, info)) + b"\n"


def _plain_line(episode: Episode, info: RunInfo) -> bytes:
    summary = {name: getattr(episode.summary, name) for name in _SUMMARY_FIELDS}
    summary["length"] = summary.pop("steps")
    whole = {
        "run": info.id,
        "protocol": info.protocol_key,
        "agent": info.agent,
        **summary,
        "steps": [{name: getattr(step, name) for name in _STEP_FIELDS} for step in episode.steps],
        "last_digest": episode.last_digest,
        "last": episode.last,
    }
    try:
        return msgspec.json.encode(whole) + b"\n"
    except UnicodeEncodeError:
        return msgspec.json.encode(valid_text(msgspec.to_builtins(whole))) + b"\n"


def _write_parquet(episodes: Iterator[Episode], info: RunInfo, work: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise StoreError(f"Parquet needs pyarrow; run {install_command('export')}.") from None
    schema, step = _schema(pyarrow)
    about = msgspec.json.encode(valid_text(msgspec.to_builtins(info)))
    schema = schema.with_metadata({"errands.run": about})
    characters = 0
    batch: list[Episode] = []
    with parquet.ParquetWriter(work, schema, compression="zstd") as out:
        for episode in episodes:
            batch.append(episode)
            characters += sum(len(one.observation or "") for one in episode.steps)
            if len(batch) == _BATCH or characters > _BATCH_CHARACTERS:
                out.write_table(_table(pyarrow, batch, info, schema, step))
                batch, characters = [], 0
        if batch:
            out.write_table(_table(pyarrow, batch, info, schema, step))


def _schema(arrow: Any) -> tuple[Any, Any]:
    """The columns of an episode, and those of a step."""
    text, whole, real, truth = arrow.string(), arrow.int64(), arrow.float64(), arrow.bool_()
    kinds = {str: text, int: whole, float: real}
    step = arrow.struct(
        [
            arrow.field(field.name, kinds.get(field.type, text))
            for field in msgspec.structs.fields(Step)
        ]
    )
    special = {"reward": real, "success": truth}
    columns = [arrow.field(name, text) for name in ("run", "protocol", "agent")]
    for field in msgspec.structs.fields(Summary):
        name = "length" if field.name == "steps" else field.name
        columns.append(arrow.field(name, special.get(name) or kinds.get(field.type, text)))
    columns.append(arrow.field("steps", arrow.list_(step)))
    columns += [arrow.field(name, text) for name in ("last_digest", "last")]
    return arrow.schema(columns), step


def _cell(step: Step, name: str) -> Any:
    """A step's value in a column; calls of a model are JSON text."""
    if name != "calls":
        return getattr(step, name)
    return msgspec.json.encode(valid_text(msgspec.to_builtins(step.calls))).decode()


def _table(arrow: Any, batch: list[Episode], info: RunInfo, schema: Any, step: Any) -> Any:
    """Episodes as columns. Parts differ from run to run, so they are JSON text."""
    steps = [one for episode in batch for one in episode.steps]
    ends = [0]
    for episode in batch:
        ends.append(ends[-1] + len(episode.steps))
    fields = [
        arrow.array(valid_text([_cell(one, field.name) for one in steps]), field.type)
        for field in step
    ]
    nested = arrow.ListArray.from_arrays(
        arrow.array(ends, arrow.int32()), arrow.StructArray.from_arrays(fields, fields=list(step))
    )
    summaries = [episode.summary for episode in batch]
    columns: dict[str, list[Any]] = {
        name: [getattr(one, name) for one in summaries] for name in _SUMMARY_FIELDS
    }
    columns["length"] = columns.pop("steps")
    columns["parts"] = [
        msgspec.json.encode(valid_text(msgspec.to_builtins(parts))).decode()
        for parts in columns["parts"]
    ]
    for name, value in (("run", info.id), ("protocol", info.protocol_key), ("agent", info.agent)):
        columns[name] = [value] * len(batch)
    for name in ("last_digest", "last"):
        columns[name] = [getattr(episode, name) for episode in batch]
    arrays = [
        nested
        if field.name == "steps"
        else arrow.array(valid_text(columns[field.name]), field.type)
        for field in schema
    ]
    return arrow.Table.from_arrays(arrays, schema=schema)
