"""Search models learn to write the queries that demonstrations search for.

    train_search(demonstrations.queries, Path("search"), SearchTrainingConfig())
    open_search_model("search").queries("i need a red hat") -> ["red hat", ...]

Where `SearchTrainingConfig.model` names a checkpoint of Hugging Face's, that one is trained
further; else a small model from scratch.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import torch
from torch import Tensor
from torch.nn import functional

from errands.agents.page_reading import read_instruction
from errands.agents.page_reading import words as split
from errands.errors import DataError
from errands.learn.checkpoint import ABOUT, CheckpointInfo, load_weights, read_info, stamp
from errands.learn.data.dataset import fingerprint, hold_out
from errands.learn.data.demonstrations import DemonstratedQuery
from errands.learn.data.vocabulary import Vocabulary
from errands.learn.models.runtime import seeded_torch
from errands.learn.models.search import (
    END,
    IGNORED,
    EncodedInstruction,
    QueryModel,
    QueryPrefixes,
    SearchConfig,
    Searcher,
    SearchModel,
    SourceBatch,
    encode_instruction,
    encode_query,
    pack_sources,
    word_dropout,
)
from errands.learn.timing import Stopwatch
from errands.learn.trainer import (
    BatchMetrics,
    SupervisedConfig,
    SupervisedTask,
    TrainingOptions,
    TrainingResult,
    batch_order,
    chunks,
    read_stored,
    train_supervised,
)
from errands.shop.fingerprints import GoalFingerprints

__all__ = [
    "PRESETS",
    "SearchTrainingConfig",
    "open_search_model",
    "predict_queries",
    "train_search",
    "write_queries",
]


class SearchTrainingConfig(SupervisedConfig, frozen=True, kw_only=True):
    """The hyperparameters of a search model's training."""

    search: SearchConfig = SearchConfig()
    """Of the small model."""
    model: str = ""
    """A BART or T5 checkpoint of Hugging Face's, by name or path, to train instead."""
    from_scratch: bool = False
    """Whether that one's weights are drawn anew, as in the paper's ablation."""
    epochs: int = 20
    word_dropout: float = 0.0
    """Share of an instruction's known words that the small model sees as if they were unknown."""


PRESETS: Final = {
    "small": SearchTrainingConfig(),
    "paper": SearchTrainingConfig(
        model="facebook/bart-base", epochs=10, batch_size=4, learning_rate=5e-5
    ),
}


class QueryExample(NamedTuple):
    """An instruction and its query, in words and numbers."""

    instruction: EncodedInstruction
    query: tuple[str, ...]
    targets: tuple[int, ...]
    """The query and its end; `IGNORED` where a word can be neither written nor copied."""


class QueryBatch(NamedTuple):
    """Examples side by side."""

    sources: SourceBatch
    prefixes: QueryPrefixes
    targets: Tensor


def train_search(
    queries: Sequence[DemonstratedQuery],
    folder: Path,
    config: SearchTrainingConfig,
    *,
    others: Sequence[DemonstratedQuery] = (),
    checksum: str = "",
    goals: GoalFingerprints | None = None,
    options: TrainingOptions | None = None,
) -> TrainingResult:
    """Train, or go on training; the checkpoint in `folder` is written as it goes.

    `others` are queries to measure after every epoch, beside what `config` holds out.
    `checksum` is that of the catalogue the queries were made for, `goals` are the fingerprints of
    what was wanted; without them those of the instructions are kept.
    """
    options = options or TrainingOptions()
    queries, others = (
        [one for one in some if split(one.instruction) and split(one.query)]
        for some in (queries, others)
    )
    if not queries:
        raise DataError("These demonstrations have no search to learn from.")
    training, held_out = hold_out(queries, config.held_out, config.seed)
    measured = [*held_out, *others]
    info = CheckpointInfo(
        kind="search",
        trained="imitation",
        config=msgspec.to_builtins(config),
        checksum=checksum,
        fingerprint=fingerprint(queries),
    )
    stored = read_stored(folder, info, options.resume)
    if goals is None:
        goals = GoalFingerprints.of(("", query.instruction) for query in queries)
    watch = Stopwatch()
    task: SupervisedTask[Any, Any]
    if config.model:
        task = _pretrained_task(training, measured, folder, config, is_new=stored is None)
    else:
        with watch.on("encoding"):
            words = (
                Vocabulary.of(
                    (text for query in training for text in query), most=config.vocabulary_size
                )
                if stored is None
                else Vocabulary(read_info(folder, "search").words)
            )
            task = _small_task(training, measured, words, config)
        info = msgspec.structs.replace(info, words=words.words)
    return train_supervised(task, folder, info, config, options, stored, watch, goals)


def _pretrained_task(
    training: Sequence[DemonstratedQuery],
    measured: Sequence[DemonstratedQuery],
    folder: Path,
    config: SearchTrainingConfig,
    *,
    is_new: bool,
) -> SupervisedTask[Any, Sequence[DemonstratedQuery]]:
    from errands.learn.models.pretrained_search import open_for_training

    searcher = open_for_training(
        config.model,
        folder,
        is_new=is_new,
        from_scratch=config.from_scratch,
        seed=config.seed,
    )
    return SupervisedTask(
        len(training),
        lambda: searcher.model,
        lambda first: (
            (step, [training[place] for place in chosen])
            for step, chosen in batch_order(len(training), config, first)
        ),
        lambda model, pairs: BatchMetrics(*searcher.measure(pairs)),
        (lambda: chunks(measured, config.batch_size)) if measured else None,
    )


def _small_task(
    training: Sequence[DemonstratedQuery],
    measured: Sequence[DemonstratedQuery],
    words: Vocabulary,
    config: SearchTrainingConfig,
) -> SupervisedTask[SearchModel, QueryBatch]:
    examples, unseen = (
        [example(query, words, config.search) for query in part] for part in (training, measured)
    )

    def batches(first: int) -> Iterator[tuple[int, QueryBatch]]:
        for step, chosen in batch_order(len(examples), config, first):
            rng = random.Random(f"{config.seed} disguise {step}")
            dropped = [
                one._replace(
                    instruction=word_dropout(one.instruction, words, config.word_dropout, rng)
                )
                for one in (examples[place] for place in chosen)
            ]
            yield step, pack(dropped, words)

    return SupervisedTask(
        len(examples),
        lambda: SearchModel(config.search, words),
        batches,
        _measure,
        (lambda: (pack(part, words) for part in chunks(unseen, config.batch_size)))
        if unseen
        else None,
    )


def example(query: DemonstratedQuery, words: Vocabulary, config: SearchConfig) -> QueryExample:
    """A query as the small model is shown it."""
    instruction = encode_instruction(query.instruction, words, config.max_instruction_words)
    query_words = split(query.query)[: config.max_query_words]
    copies = dict(zip(instruction.words, instruction.output_ids, strict=True))
    targets = [
        copies.get(word, 1 + words.places[word] if word in words.places else IGNORED)
        for word in query_words
    ]
    return QueryExample(instruction, tuple(query_words), (*targets, END))


def pack(examples: Sequence[QueryExample], words: Vocabulary) -> QueryBatch:
    """Many examples as tensors."""
    longest = max(len(one.targets) for one in examples)
    shape = (len(examples), longest)
    numbers = torch.zeros(shape, dtype=torch.int64)
    places = torch.zeros_like(numbers)
    targets = torch.full(shape, IGNORED)
    for row, one in enumerate(examples):
        length = len(one.targets)
        prefix = encode_query(one.instruction, one.query, words)
        numbers[row, :length] = torch.tensor(prefix[0])
        places[row, :length] = torch.tensor(prefix[1])
        targets[row, :length] = torch.tensor(one.targets)
    sources = pack_sources([one.instruction for one in examples])
    return QueryBatch(sources, QueryPrefixes(numbers, places), targets)


def _measure(model: SearchModel, batch: QueryBatch) -> BatchMetrics:
    scores = model(batch.sources, batch.prefixes)
    is_target = batch.targets != IGNORED
    loss = functional.nll_loss(scores[is_target], batch.targets[is_target])
    right = (scores.argmax(dim=2) == batch.targets) & is_target
    return BatchMetrics(loss, int(right.sum()), int(is_target.sum()))


def open_search_model(place: str) -> QueryModel:
    """A search model for use: a checkpoint's directory, or one of Hugging Face's by name or path.

    Raises `DataError` for anything else. Opened but once, until it is written again.
    """
    return _open_search_model(place, stamp(Path(place)))


@lru_cache(4)
def _open_search_model(place: str, written: tuple[int, int]) -> QueryModel:
    folder = Path(place)
    if folder.is_dir() and not (folder / "config.json").exists():
        info = read_info(folder, "search")
        try:
            config = msgspec.convert(info.config, SearchTrainingConfig)
        except msgspec.ValidationError as failure:
            raise DataError(f"{folder} is of another architecture ({failure}).") from None
        if config.model:
            from errands.learn.models.pretrained_search import rebuild_searcher

            searcher = rebuild_searcher(folder)
            load_weights(folder, searcher.model)
            return searcher
        words = Vocabulary(info.words)
        with seeded_torch(0):
            model = SearchModel(config.search, words)
        load_weights(folder, model)
        return Searcher(model, words)
    if not folder.is_dir() and (folder.exists() or place.startswith((".", "/", "~"))):
        raise DataError(
            f"{place} is no checkpoint: expected a directory with {ABOUT}, as `errands train"
            " search` makes it, or a model of Hugging Face's by name or path."
        )
    from errands.learn.models.pretrained_search import open_pretrained

    return open_pretrained(place)


def predict_queries(
    model: QueryModel,
    instructions: Iterable[str],
    beams: int = 10,
    on_text: Callable[[], None] = lambda: None,
) -> dict[str, list[str]]:
    """Queries of every different instruction, without its price phrase."""
    queries: dict[str, list[str]] = {}
    for instruction in instructions:
        text = read_instruction(instruction).text
        if text not in queries:
            queries[text] = model.queries(text, beams)
        on_text()
    return queries


def write_queries(path: Path, queries: Mapping[str, list[str]], *, replace: bool = False) -> None:
    """Write a file of the form of the original's goal_query_predict.json, as the choice oracle
    reads it: from instructions to queries, the best first."""
    try:
        with path.open("wb" if replace else "xb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(queries), indent=1))
            file.write(b"\n")
    except FileExistsError:
        raise DataError(f"{path} is there already; add --force to replace it.") from None
    except OSError as failure:
        raise DataError(f"{path} cannot be written ({failure.strerror}).") from None
