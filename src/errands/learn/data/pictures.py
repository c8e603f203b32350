"""Pictures as vectors: a table from products to what an encoder made of their pictures.

`errands train pictures` makes one with our own small encoder; the original's features
(`feat_conv.pt`, by the address of each picture in `feat_ids.pt`) can be taken over. A checkpoint
keeps the table it was trained with, so that it is used with the same.
"""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from errands.errors import DataError, SettingError
from errands.learn.checkpoint import read_tensors, write_whole
from errands.shop.catalog.catalog import Catalog
from errands.shop.product import Product

__all__ = [
    "Pictures",
    "keep_pictures",
    "kept_pictures",
    "original_features",
    "pictures_of",
    "products",
]

_KEPT: Final = "pictures.npz"


class Pictures:
    """Vectors by product, as the environment calls it: in small letters."""

    def __init__(self, products: Sequence[str], vectors: NDArray[Any]) -> None:
        self.products = tuple(product.lower() for product in products)
        self.vectors = np.ascontiguousarray(vectors, np.float32)
        self._rows = {product: row for row, product in enumerate(self.products)}

    def __len__(self) -> int:
        return len(self.products)

    @property
    def width(self) -> int:
        return int(self.vectors.shape[1])

    def of(self, product: str) -> NDArray[np.float32] | None:
        """What a product's picture shows; None where there is none."""
        row = self._rows.get(product)
        return None if row is None else self.vectors[row]

    def equals(self, other: "Pictures") -> bool:
        return self.products == other.products and np.array_equal(self.vectors, other.vectors)

    def write(self, path: Path) -> None:
        held = io.BytesIO()
        np.savez(held, products=np.array(self.products, str), vectors=self.vectors)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, lambda work: work.write_bytes(held.getvalue()))
        except OSError as failure:
            raise DataError(f"{path} cannot be written ({failure.strerror}).") from None

    @classmethod
    def read(cls, path: Path) -> "Pictures":
        try:
            with np.load(path, allow_pickle=False) as held:
                products, vectors = held["products"], held["vectors"]
        except OSError as failure:
            reason = failure.strerror or "it is no such table"
            raise DataError(f"{path} cannot be read ({reason}).") from None
        except Exception as failure:
            # Whatever a file that is no table makes of its reader.
            raise DataError(
                f"{path} is no table of pictures ({type(failure).__name__}); `errands train"
                " pictures` makes one."
            ) from None
        if vectors.ndim != 2 or products.shape != vectors.shape[:1] or vectors.dtype.kind != "f":
            raise DataError(f"{path} is no table of pictures: its parts do not fit together.")
        if products.dtype.kind != "U":
            raise DataError(f"{path} names products by {products.dtype}; expected text.")
        return cls(products.tolist(), vectors)


def original_features(features: Path, addresses: Path, catalog: Catalog) -> Pictures:
    """The original's features of the products of a catalogue, by the address of their picture."""
    vectors, known = read_tensors(features), read_tensors(addresses)
    if not hasattr(vectors, "numpy") or not isinstance(known, list) or len(known) != len(vectors):
        raise DataError(
            f"{features} and {addresses} do not belong together; expected a matrix, and a list with"
            " an address for each of its rows."
        )
    rows = {address: row for row, address in enumerate(known)}
    found = [
        (product.asin.lower(), rows[product.image])
        for product in products(catalog)
        if product.image in rows
    ]
    if not found:
        raise DataError(f"{addresses} has no picture of the catalogue {catalog.path}.")
    return Pictures([name for name, _ in found], vectors.numpy()[[row for _, row in found]])


def keep_pictures(folder: Path, pictures: Pictures | None) -> None:
    """Put a table into a new checkpoint, or none."""
    if pictures is None:
        try:
            (folder / _KEPT).unlink(missing_ok=True)
        except OSError as failure:
            raise DataError(f"{folder} cannot be written ({failure.strerror}).") from None
    else:
        pictures.write(folder / _KEPT)


def kept_pictures(folder: Path) -> Pictures | None:
    """The table that a checkpoint has; None where it was trained without pictures."""
    return Pictures.read(folder / _KEPT) if (folder / _KEPT).exists() else None


def pictures_of(folder: Path, given: Pictures | None) -> Pictures | None:
    """The pictures that a model has learnt with, and none else."""
    kept = kept_pictures(folder)
    if given is not None and (kept is None or not kept.equals(given)):
        raise SettingError(
            f"{folder} was trained {'with other' if kept else 'without'} pictures; leave --pictures"
            " out: what it saw is in it."
        )
    return kept


def products(catalog: Catalog) -> Iterator[Product]:
    """Everything in a catalogue."""
    return (catalog.product(number) for number in range(len(catalog)))
