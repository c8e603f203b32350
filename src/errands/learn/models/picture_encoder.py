"""Vectors of pictures: by a small convolutional encoder of ours, or the original's features.

    train_pictures(Catalog.open("demo"), PictureConfig()).pictures.write(Path("pictures.npz"))

The encoder learns to tell from a picture which words stand in the product's title, as far as a
picture says it (what it is, its colour); what its last layer but one makes of a picture is the
picture's vector. Products with the same picture share one. The original's features are taken over
by the addresses of pictures.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from errands.browser.screenshots import decode
from errands.errors import DataError, SettingError
from errands.extras import install_command
from errands.learn.data.pictures import Pictures, products
from errands.learn.data.vocabulary import tokens
from errands.learn.models.runtime import read_tensors, seeded_torch
from errands.shop.catalog.catalog import Catalog
from errands.shop.render.images import picture

__all__ = [
    "PictureConfig",
    "PictureNet",
    "PictureResult",
    "draw",
    "original_features",
    "train_pictures",
]

_OURS: Final = "picture:"


class PictureConfig(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"batch_size": "batch", "learning_rate": "rate", "vocabulary_size": "words"},
):
    """How pictures become vectors."""

    size: int = 32
    """Pixels of a side."""
    width: int = 64
    vocabulary_size: int = 300
    """So many of the most frequent words of titles are to be told, those aside that every tenth
    title has: they say nothing about a picture."""
    epochs: int = 12
    batch_size: int = 64
    learning_rate: float = 2e-3
    seed: int = 0
    threads: int = 1


class PictureResult(NamedTuple):
    """A table, and how well its encoder tells words."""

    pictures: Pictures
    different: int
    """Pictures, without repetition."""
    right: float
    """The share of pictures whose most likely word is in a title."""


class PictureNet(nn.Module):
    """Three convolutions, and one layer for the words."""

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        self.look = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 48, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(48 * 16, width),
            nn.Tanh(),
        )
        self.tell = nn.Linear(width, words)

    def forward(self, pixels: Tensor) -> Tensor:
        told: Tensor = self.tell(self.look(pixels))
        return told


def draw(references: Sequence[str], size: int) -> NDArray[np.uint8]:
    """Pictures as colours: N x 3 x size x size."""
    try:
        import resvg_py
    except ImportError:
        raise SettingError(
            "Drawing pictures needs resvg_py, which is not installed; run"
            f" {install_command('train')}."
        ) from None
    drawn = np.empty((len(references), 3, size, size), np.uint8)
    for place, reference in enumerate(references):
        png = bytes(resvg_py.svg_to_bytes(svg_string=picture(reference), width=size, height=size))
        drawn[place] = decode(png)[:, :, :3].transpose(2, 0, 1)
    return drawn


def train_pictures(
    catalog: Catalog,
    config: PictureConfig,
    on_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> PictureResult:
    """Vectors of all products whose pictures are ours."""
    shown = [(one.asin.lower(), one.image or "", one.title) for one in products(catalog)]
    shown = [one for one in shown if one[1].startswith(_OURS)]
    if not shown:
        raise DataError(
            f"{catalog.path} has no generated pictures to look at; for pictures of other shops give"
            " a table of features (--features, --addresses)."
        )
    references = sorted({reference for _, reference, _ in shown})
    rows = {reference: row for row, reference in enumerate(references)}
    pixels = torch.from_numpy(draw(references, config.size))
    targets = _targets(
        [(rows[reference], title) for _, reference, title in shown], config.vocabulary_size
    )
    with seeded_torch(config.seed, config.threads):
        net = PictureNet(config.width, targets.shape[1])
        _train(net, pixels, targets, config, on_epoch)
        vectors, best = _encode(net, pixels)
    right = float((targets[torch.arange(len(best)), best] > 0).float().mean())
    named = [name for name, _, _ in shown]
    found = vectors.numpy()[[rows[reference] for _, reference, _ in shown]]
    return PictureResult(Pictures(named, found), len(references), right)


def original_features(features: Path, addresses: Path, catalog: Catalog) -> Pictures:
    """The original's features of the products of a catalogue, by the address of their picture."""
    vectors, listed = read_tensors(features), read_tensors(addresses)
    if not hasattr(vectors, "numpy") or not isinstance(listed, list) or len(listed) != len(vectors):
        raise DataError(
            f"{features} and {addresses} do not belong together; expected a matrix, and a list with"
            " an address for each of its rows."
        )
    rows = {address: row for row, address in enumerate(listed)}
    known_products = [
        (product.asin.lower(), rows[product.image])
        for product in products(catalog)
        if product.image in rows
    ]
    if not known_products:
        raise DataError(f"{addresses} has no picture of the catalogue {catalog.path}.")
    return Pictures(
        [name for name, _ in known_products], vectors.numpy()[[row for _, row in known_products]]
    )


def _targets(shown: Sequence[tuple[int, str]], most: int) -> Tensor:
    """Which of the most frequent words the titles of each picture have: shares that add up to 1."""
    said = [(row, set(tokens(title))) for row, title in shown]
    counts = Counter(word for _, words in said for word in words)
    told = [word for word, count in counts.items() if 10 * count <= len(shown)] or list(counts)
    ranked = sorted(told, key=lambda word: (-counts[word], word))[:most]
    places = {word: place for place, word in enumerate(ranked)}
    targets = torch.zeros(max(row for row, _ in said) + 1, len(ranked))
    for row, words in said:
        for word in words & places.keys():
            targets[row, places[word]] += 1
    return targets / targets.sum(dim=1, keepdim=True).clamp(min=1)


def _train(
    net: PictureNet,
    pixels: Tensor,
    targets: Tensor,
    config: PictureConfig,
    on_epoch: Callable[[int, float], None],
) -> None:
    optimizer = torch.optim.AdamW(net.parameters(), lr=config.learning_rate)
    for epoch in range(1, config.epochs + 1):
        order = torch.randperm(len(pixels))
        losses = []
        for first in range(0, len(order), config.batch_size):
            chosen = order[first : first + config.batch_size]
            loss = functional.cross_entropy(net(_colours(pixels[chosen])), targets[chosen])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        on_epoch(epoch, sum(losses) / len(losses))


def _encode(net: PictureNet, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """The vector of every picture, and the word it says most clearly."""
    vectors, best = [], []
    with torch.inference_mode():
        for first in range(0, len(pixels), 256):
            vector: Any = net.look(_colours(pixels[first : first + 256]))
            vectors.append(vector)
            best.append(net.tell(vector).argmax(dim=1))
    return torch.cat(vectors), torch.cat(best)


def _colours(pixels: Tensor) -> Tensor:
    return pixels.float() / 127.5 - 1
