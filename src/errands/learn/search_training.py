"""Search models learn to write the queries that demonstrations search for.

    train_search(demonstrations.queries, Path("search"), SearchTraining())

Where `SearchTraining.model` names a checkpoint of Hugging Face's, that one is trained further;
else a small model from scratch. `open_search_model` opens what either has left.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
import torch
from torch import Tensor
from torch.nn import functional

from errands.agents.page_reading import words as split
from errands.errors import DataError
from errands.learn.checkpoint import ABOUT, About, load_weights, read_about, stamp
from errands.learn.data.dataset import fingerprint, hold_out, wished
from errands.learn.data.demonstrations import Query
from errands.learn.data.vocabulary import Vocabulary
from errands.learn.models.rng import private_chance
from errands.learn.models.search import (
    END,
    UNSAYABLE,
    QueryModel,
    SearchConfig,
    Searcher,
    SearchModel,
    Sources,
    Wish,
    Written,
    disguise,
    pack_sources,
    read,
    write,
)
from errands.learn.timing import Stopwatch
from errands.learn.trainer import (
    SAVE_SECONDS,
    Measured,
    Progress,
    Trained,
    learn,
    left_over,
    order,
)

__all__ = ["PRESETS", "SearchTraining", "open_search_model", "train_search"]


Shown = TypeVar("Shown")


class SearchTraining(msgspec.Struct, frozen=True, kw_only=True):
    """How a search model is trained."""

    search: SearchConfig = SearchConfig()
    """Of the small model."""
    model: str = ""
    """A BART or T5 checkpoint of Hugging Face's, by name or path, to train instead."""
    epochs: int = 20
    batch: int = 32
    rate: float = 2e-3
    warm_up: int = 50
    """Updates over which the rate rises; then it falls to 0 in a straight line."""
    decay: float = 0.01
    clip: float = 1.0
    words: int = 8_000
    disguised: float = 0.0
    """Share of an instruction's known words that the small model sees as if they were not."""
    held_out: float = 0.0
    """Share of the wishes that is not learnt, but measured after every epoch."""
    seed: int = 0
    threads: int = 2


PRESETS: Final = {
    "small": SearchTraining(),
    "paper": SearchTraining(model="facebook/bart-base", epochs=10, batch=4, rate=5e-5),
}


class Example(NamedTuple):
    """An instruction and its query, in words and numbers."""

    wished: Wish
    query: tuple[str, ...]
    said: tuple[int, ...]
    """The query and its end; `UNSAYABLE` where no way leads to a word."""


class Batch(NamedTuple):
    """Examples side by side."""

    sources: Sources
    written: Written
    said: Tensor


def train_search(
    queries: Sequence[Query],
    folder: Path,
    config: SearchTraining,
    *,
    others: Sequence[Query] = (),
    checksum: str = "",
    resume: bool = False,
    track: str | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
    save_every: float = SAVE_SECONDS,
    device: str = "cpu",
) -> Trained:
    """Train, or go on training; the checkpoint in `folder` is written as it goes.

    `others` are queries to measure after every epoch, beside what `config` holds out.
    `checksum` is that of the catalogue the queries were made for. `stop` is asked after every
    update: a training that stops is saved and can be resumed.
    """
    queries, others = (
        [one for one in some if split(one.wanted) and split(one.query)]
        for some in (queries, others)
    )
    if not queries:
        raise DataError("These demonstrations have no search to learn from.")
    plan = msgspec.to_builtins(config)
    lesson, kept = hold_out(queries, config.held_out, seed=config.seed, wish=wished)
    held = [*kept, *others]
    mark = fingerprint(queries)
    left = left_over(folder, "search", plan, resume, mark)
    about = About(kind="search", trained="imitation", config=plan, checksum=checksum, lesson=mark)
    if config.model:
        from errands.learn.models.pretrained_search import measure_pairs, open_for_training

        pretrained = open_for_training(config.model, folder, is_new=left is None)
        return learn(
            folder,
            about,
            config,
            left,
            count=len(lesson),
            make=lambda: pretrained.model,
            batches=lambda first: (
                (step, [lesson[number] for number in chosen])
                for step, chosen in order(len(lesson), config, first)
            ),
            measure=lambda model, pairs: measure_pairs(pretrained, pairs),
            held_out=(lambda: _parts(held, config.batch)) if held else None,
            track=track,
            on_progress=on_progress,
            stop=stop,
            save_every=save_every,
            device=device,
        )
    watch = Stopwatch()
    with watch.on("encoding"):
        words = (
            Vocabulary.of((text for query in lesson for text in query), most=config.words)
            if left is None
            else Vocabulary(read_about(folder, "search").words)
        )
        data, unseen = (
            [example(query, words, config.search) for query in some] for some in (lesson, held)
        )
    return learn(
        folder,
        msgspec.structs.replace(about, words=words.words),
        config,
        left,
        count=len(lesson),
        make=lambda: SearchModel(config.search, words),
        batches=lambda first: _batches(data, words, config, first),
        measure=_measure,
        held_out=(
            (lambda: (pack(part, words) for part in _parts(unseen, config.batch)))
            if unseen
            else None
        ),
        track=track,
        on_progress=on_progress,
        stop=stop,
        save_every=save_every,
        device=device,
        watch=watch,
    )


def _parts(examples: Sequence[Shown], count: int) -> Iterator[list[Shown]]:
    """All in their order, so many at once."""
    for place in range(0, len(examples), count):
        yield list(examples[place : place + count])


def _batches(
    data: Sequence[Example], words: Vocabulary, config: SearchTraining, first: int
) -> Iterator[tuple[int, Batch]]:
    """Batches from after `first` on, each with its number from 1."""
    for step, chosen in order(len(data), config, first):
        dice = random.Random(f"{config.seed} disguise {step}")
        examples = [
            data[number]._replace(
                wished=disguise(data[number].wished, words, config.disguised, dice)
            )
            for number in chosen
        ]
        yield step, pack(examples, words)


def example(query: Query, words: Vocabulary, config: SearchConfig) -> Example:
    """A query as the small model is shown it."""
    wished = read(query.wanted, words, config.longest_wish)
    asked = split(query.query)[: config.longest_query]
    copies = dict(zip(wished.words, wished.sayable, strict=True))
    said = [
        copies.get(word, 1 + words.places[word] if word in words.places else UNSAYABLE)
        for word in asked
    ]
    return Example(wished, tuple(asked), (*said, END))


def pack(examples: Sequence[Example], words: Vocabulary) -> Batch:
    """Many examples as tensors."""
    longest = max(len(one.said) for one in examples)
    shape = (len(examples), longest)
    numbers = torch.zeros(shape, dtype=torch.int64)
    places = torch.zeros_like(numbers)
    said = torch.full(shape, UNSAYABLE)
    for row, one in enumerate(examples):
        length = len(one.said)
        written = write(one.wished, one.query, words)
        numbers[row, :length] = torch.tensor(written[0])
        places[row, :length] = torch.tensor(written[1])
        said[row, :length] = torch.tensor(one.said)
    sources = pack_sources([one.wished for one in examples])
    return Batch(sources, Written(numbers, places), said)


def _measure(model: SearchModel, batch: Batch) -> Measured:
    scores = model(batch.sources, batch.written)
    sayable = batch.said != UNSAYABLE
    loss = functional.nll_loss(scores[sayable], batch.said[sayable])
    right = (scores.argmax(dim=2) == batch.said) & sayable
    return Measured(loss, int(right.sum()), int(sayable.sum()))


def open_search_model(place: str) -> QueryModel:
    """A search model for use: a checkpoint's directory, or one of Hugging Face's by name or path.

    Raises `DataError` for anything else. Opened but once, until it is written again.
    """
    return _open_search_model(place, stamp(Path(place)))


@lru_cache(4)
def _open_search_model(place: str, written: tuple[int, int]) -> QueryModel:
    folder = Path(place)
    if folder.is_dir() and not (folder / "config.json").exists():
        about = read_about(folder, "search")
        try:
            config = msgspec.convert(about.config, SearchTraining)
        except msgspec.ValidationError as failure:
            raise DataError(f"{folder} is of another architecture ({failure}).") from None
        if config.model:
            from errands.learn.models.pretrained_search import open_trained

            return open_trained(folder)
        words = Vocabulary(about.words)
        with private_chance(0):
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
