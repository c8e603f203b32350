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

from errands.atomic import atomic_write
from errands.errors import DataError, SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.product import Product

__all__ = [
    "Pictures",
    "checkpoint_pictures",
    "load_pictures",
    "products",
    "save_pictures",
]

_FILE: Final = "pictures.npz"


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
        content = io.BytesIO()
        np.savez(content, products=np.array(self.products, str), vectors=self.vectors)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, lambda work: work.write_bytes(content.getvalue()))
        except OSError as failure:
            raise DataError(f"{path} cannot be written ({failure.strerror}).") from None

    @classmethod
    def read(cls, path: Path) -> "Pictures":
        try:
            with np.load(path, allow_pickle=False) as table:
                products, vectors = table["products"], table["vectors"]
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


def save_pictures(folder: Path, pictures: Pictures | None) -> None:
    """Put a table into a new checkpoint, or none."""
    if pictures is None:
        try:
            (folder / _FILE).unlink(missing_ok=True)
        except OSError as failure:
            raise DataError(f"{folder} cannot be written ({failure.strerror}).") from None
    else:
        pictures.write(folder / _FILE)


def load_pictures(folder: Path) -> Pictures | None:
    """The table that a checkpoint has; None where it was trained without pictures."""
    return Pictures.read(folder / _FILE) if (folder / _FILE).exists() else None


def checkpoint_pictures(folder: Path, pictures: Pictures | None) -> Pictures | None:
    """The pictures that the model of a checkpoint was trained with; others are refused."""
    stored = load_pictures(folder)
    if pictures is not None and (stored is None or not stored.equals(pictures)):
        raise SettingError(
            f"{folder} was trained {'with other' if stored else 'without'} pictures; leave"
            " --pictures out: what it saw is in it."
        )
    return stored


def products(catalog: Catalog) -> Iterator[Product]:
    """Everything in a catalogue."""
    return (catalog.product(number) for number in range(len(catalog)))
