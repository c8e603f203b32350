"""What a matching model sees: numbers of what pages show, and of nothing else."""

import msgspec
import numpy as np
import torch

from errands.envs.shop import ShopEnv
from errands.learn.data.associations import Associations, pieces
from errands.learn.data.matching import FEATURES, MatchReader
from errands.learn.data.view import ChoiceView, SeenProduct
from errands.learn.models.matching import MatchingModel

READER = MatchReader(Associations())


def _listed(*titles: str, price: float = 10.0) -> ChoiceView:
    seen = tuple(
        SeenProduct(f"b{place}", title, price, place) for place, title in enumerate(titles)
    )
    names = ("back to search", "next >", *(one.name for one in seen))
    return ChoiceView("red wool hat $20.00", (), "", names, names, kind="results", seen=seen)


def _on_item(*values: str, chosen: tuple[str, ...] = ()) -> ChoiceView:
    one = SeenProduct("b0", "wool hat", 10.0, 0, 1, (("color", values),), chosen)
    names = ("< prev", *values, "buy now")
    return ChoiceView(
        "red wool hat $20.00", (), "", names, names, kind="item", seen=(one,), here="b0"
    )


def test_every_action_is_a_row_in_its_place(shop: ShopEnv) -> None:
    from errands.learn.data.view import EpisodeMemory

    memory = EpisodeMemory()
    page, info = shop.reset(options={"goal": 3})
    for action in (f"search[{info['instruction'].partition(',')[0]}]", 2, 2, "click[< prev]"):
        view = memory.view(page)
        encoded = READER.encode(view)
        assert encoded.actions == len(view.names)
        assert encoded.features.shape[1] == FEATURES
        assert np.isfinite(encoded.features).all()
        said = action if isinstance(action, str) else f"click[{view.names[action]}]"
        memory.record(view, said)
        page = shop.step(said)[0]


def test_a_title_that_covers_more_is_told_from_others() -> None:
    rows = READER.encode(_listed("Blue Shoe", "Red Wool Hat", "Wool Hat")).features[2:]
    fit = rows[:, 21]  # The cover of what is shown.
    assert fit.tolist() == [0.0, 1.0, np.float32(2 / 3)]


def test_words_that_mean_the_same_cover_too() -> None:
    (red,), (crimson,) = pieces("red"), pieces("crimson")
    knowing = MatchReader(Associations({red: {crimson: 0.8}}))
    plain, known = (
        reader.encode(_listed("Crimson Wool Hat")).features[2, 21] for reader in (READER, knowing)
    )
    assert known > plain


def test_nothing_is_cut() -> None:
    long = "Filler " * 400 + "red"
    assert READER.encode(_listed(long)).features[2, 21] > 0


def test_price_and_choices_are_seen() -> None:
    cheap, dear = (READER.encode(_listed("hat", price=price)).features for price in (10.0, 30.0))
    assert not np.array_equal(cheap, dear)
    open_, chosen = (
        READER.encode(_on_item("red", "blue", chosen=some)).features for some in ((), ("red",))
    )
    assert not np.array_equal(open_, chosen)
    assert not np.array_equal(open_[1], open_[2]), "red was asked for, blue was not"


def test_views_side_by_side_are_scored_as_alone() -> None:
    torch.manual_seed(0)
    model = MatchingModel(16, 1, 2).eval()
    views = [READER.encode(view) for view in (_listed("red hat", "hat"), _on_item("red", "blue"))]
    together = model(READER.pack(views))
    for row, view in enumerate(views):
        alone = model(READER.pack([view]))
        assert torch.allclose(
            alone.scores[0, : view.actions], together.scores[row, : view.actions], atol=1e-5
        )
        assert torch.allclose(alone.values[0], together.values[row], atol=1e-5)
        assert (together.scores[row, view.actions :] < -1e8).all()


def test_products_that_were_opened_are_seen_everywhere() -> None:
    view = _listed("red hat")
    other = SeenProduct("b9", "red wool hat", 5.0, 12, 1)
    more = msgspec.structs.replace(view, seen=(other, *view.seen))
    encoded = READER.encode(more)
    assert len(encoded.features) == encoded.actions + 1
    plain = READER.encode(view)
    assert not np.array_equal(plain.features[2], encoded.features[2]), "a better one is known"
