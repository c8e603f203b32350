"""Vectors of drawn pictures."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("resvg_py", reason="pip install resvg_py to draw pictures")

import msgspec

from errands.errors import DataError
from errands.learn.data.pictures import products
from errands.learn.models.picture_encoder import PictureConfig, draw, train_pictures
from errands.shop.catalog.catalog import Catalog

QUICK = PictureConfig(epochs=8, vocabulary_size=60, width=8, batch_size=16, threads=1)


def test_drawing_shows_what_a_reference_says() -> None:
    red, blue, again = draw(
        ["picture:shoe/c01010/0", "picture:shoe/1010c0/0", "picture:shoe/c01010/0"], 32
    )
    assert red.shape == (3, 32, 32)
    assert np.array_equal(red, again)
    middle = np.s_[:, 12:22, 10:22]
    assert red[middle][0].mean() > blue[middle][0].mean() + 40
    assert blue[middle][2].mean() > red[middle][2].mean() + 40


def test_every_product_gets_a_vector_and_the_same_one_every_time(little: Catalog) -> None:
    losses: list[float] = []
    drawn = train_pictures(little, QUICK, lambda epoch, loss: losses.append(loss))
    assert set(drawn.pictures.products) == {one.asin.lower() for one in products(little)}
    assert drawn.pictures.width == 8
    assert losses[-1] < losses[0]
    again = train_pictures(little, QUICK)
    assert again.pictures.equals(drawn.pictures)
    other = train_pictures(little, msgspec.structs.replace(QUICK, seed=1))
    assert not other.pictures.equals(drawn.pictures)


def test_products_with_one_picture_share_a_vector(little: Catalog) -> None:
    drawn = train_pictures(little, msgspec.structs.replace(QUICK, epochs=1))
    seen: dict[str, np.ndarray] = {}
    for one in products(little):
        vector = drawn.pictures.of(one.asin.lower())
        assert vector is not None
        assert np.array_equal(seen.setdefault(one.image or "", vector), vector)
    assert len(seen) == drawn.different


def test_a_catalogue_of_another_shop_has_nothing_to_draw(tmp_path: Path) -> None:
    class Elsewhere:
        path = tmp_path

        def __len__(self) -> int:
            return 0

    with pytest.raises(DataError, match="no generated pictures"):
        train_pictures(Elsewhere(), QUICK)  # type: ignore[arg-type]
