"""Tables of pictures, and models that see."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from errands.errors import DataError, SettingError
from errands.learn.a2c import PRESETS, train_rl
from errands.learn.data.batch import TextReader, TokenLimits, encode, pack
from errands.learn.data.demonstrations import read_demonstrations
from errands.learn.data.pictures import Pictures, load_pictures, products
from errands.learn.data.view import ChoiceView
from errands.learn.data.vocabulary import Vocabulary
from errands.learn.environments import open_training_env
from errands.learn.imitation import ImitationConfig, train_choice
from errands.learn.models.choice import ChoiceConfig, ChoiceModel
from errands.learn.models.picture_encoder import original_features
from errands.learn.policy import open_policy
from errands.learn.trainer import TrainingOptions
from errands.shop.catalog.catalog import Catalog

SMALL = ChoiceConfig(width=16, lengths=TokenLimits(page=16))


@pytest.fixture
def table(little: Catalog) -> Pictures:
    names = [product.asin.lower() for product in products(little)]
    return Pictures(names, np.random.default_rng(0).normal(size=(len(names), 5)))


def test_a_table_is_written_and_read(table: Pictures, tmp_path: Path) -> None:
    table.write(tmp_path / "deep" / "pictures.npz")
    again = Pictures.read(tmp_path / "deep" / "pictures.npz")
    assert again.equals(table)
    assert again.of("nobody") is None
    name = table.products[3]
    np.testing.assert_array_equal(again.of(name), table.vectors[3])


@pytest.mark.parametrize("content", [b"", b"PK nothing", b"\x93NUMPY"])
def test_what_is_no_table(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"bad\.npz"):
        Pictures.read(tmp_path / "bad.npz")


def test_a_table_whose_parts_do_not_fit(tmp_path: Path) -> None:
    np.savez(tmp_path / "odd.npz", products=np.array(["a"]), vectors=np.zeros((2, 3)))
    with pytest.raises(DataError, match="do not fit"):
        Pictures.read(tmp_path / "odd.npz")


def test_the_originals_features_come_by_address(little: Catalog, tmp_path: Path) -> None:
    shown = list(products(little))[:3]
    torch.save(torch.arange(12.0).reshape(3, 4), tmp_path / "feat.pt")
    torch.save([shown[1].image, "http://elsewhere/", shown[0].image], tmp_path / "ids.pt")
    found = original_features(tmp_path / "feat.pt", tmp_path / "ids.pt", little)
    first = found.of(shown[1].asin.lower())
    assert first is not None
    assert first.tolist() == [0, 1, 2, 3]
    torch.save(["http://elsewhere/"] * 3, tmp_path / "ids.pt")
    with pytest.raises(DataError, match="no picture of the catalogue"):
        original_features(tmp_path / "feat.pt", tmp_path / "ids.pt", little)
    torch.save(["too", "few"], tmp_path / "ids.pt")
    with pytest.raises(DataError, match="belong together"):
        original_features(tmp_path / "feat.pt", tmp_path / "ids.pt", little)


def test_a_picture_moves_scores_only_where_it_is_seen(table: Pictures) -> None:
    words = Vocabulary(("red", "hat", "buy"))
    model = ChoiceModel(ChoiceConfig(width=16, pictures=5), len(words)).eval()
    blind = ChoiceView("red hat", (), "a hat", ("buy", "back"), ("buy", "back"))
    one, other = (
        ChoiceView("red hat", (), "a hat", ("buy", "back"), ("buy", "back"), name)
        for name in table.products[:2]
    )
    encoded = [encode(view, words, TokenLimits(), table) for view in (blind, one, other)]
    with torch.no_grad():
        scores = model(pack(encoded)).scores
        alone = model(pack(encoded[:1])).scores
    torch.testing.assert_close(scores[0], alone[0])
    assert not torch.allclose(scores[1], scores[2])
    assert not torch.allclose(scores[0], scores[1])


def test_gradients_reach_the_picture(table: Pictures) -> None:
    words = Vocabulary(("red", "hat", "buy"))
    model = ChoiceModel(ChoiceConfig(width=16, pictures=5), len(words))
    view = ChoiceView("red hat", (), "a hat", ("buy", "back"), ("buy", "back"), table.products[0])
    model(pack([encode(view, words, TokenLimits(), table)])).scores[0, 0].backward()
    assert model.picture.weight.grad is not None
    assert model.picture.weight.grad.abs().sum() > 0


def test_a_checkpoint_keeps_its_pictures(demos: str, table: Pictures, tmp_path: Path) -> None:
    shown = read_demonstrations(demos)
    config = ImitationConfig(choice=SMALL, epochs=1, threads=1)
    steps: list[int] = []

    def stop() -> bool:
        steps.append(1)
        return len(steps) == 3

    train_choice(shown, tmp_path / "il", config, pictures=table, options=TrainingOptions(stop=stop))
    train_choice(shown, tmp_path / "il", config, options=TrainingOptions(resume=True))
    train_choice(shown, tmp_path / "whole", config, pictures=table)
    resumed, whole = (open_policy(str(tmp_path / name)) for name in ("il", "whole"))
    assert isinstance(resumed.reader, TextReader)
    assert resumed.reader.pictures is not None
    assert resumed.reader.pictures.equals(table)
    assert resumed.config.pictures == 5
    for one, other in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_reinforcement_sees_what_imitation_saw(
    demos: str, table: Pictures, little: Catalog, tmp_path: Path
) -> None:
    shown = read_demonstrations(demos)
    train_choice(
        shown, tmp_path / "il", ImitationConfig(choice=SMALL, epochs=1, threads=1), pictures=table
    )
    floor = open_training_env("shop-learn-train", 4, str(little.path))
    config = msgspec.structs.replace(PRESETS["small"], total_timesteps=64)
    train_rl(floor, tmp_path / "rl", config, start=tmp_path / "il")
    kept = load_pictures(tmp_path / "rl")
    assert kept is not None
    assert kept.equals(table)
    other = Pictures(table.products, table.vectors + 1)
    with pytest.raises(SettingError, match="with other pictures"):
        train_rl(floor, tmp_path / "no", config, start=tmp_path / "il", pictures=other)
    train_rl(floor, tmp_path / "scratch", config, pictures=table)
    assert open_policy(str(tmp_path / "scratch")).config.pictures == 5


def test_products_are_text_in_small_letters(tmp_path: Path) -> None:
    np.savez(tmp_path / "large.npz", products=np.array(["B01"]), vectors=np.zeros((1, 3)))
    assert Pictures.read(tmp_path / "large.npz").of("b01") is not None
    np.savez(tmp_path / "numbers.npz", products=np.array([1]), vectors=np.zeros((1, 3)))
    with pytest.raises(DataError, match="expected text"):
        Pictures.read(tmp_path / "numbers.npz")


def test_pictures_of_something_else_are_refused(
    demos: str, table: Pictures, tmp_path: Path
) -> None:
    shown = read_demonstrations(demos)
    config = ImitationConfig(choice=SMALL, epochs=1, threads=1)
    strange = Pictures(["b0nobody"], np.zeros((1, 5)))
    with pytest.raises(DataError, match="No product of these demonstrations"):
        train_choice(shown, tmp_path / "il", config, pictures=strange)
    assert not (tmp_path / "il").exists()
    train_choice(
        shown, tmp_path / "il", config, pictures=table, options=TrainingOptions(stop=lambda: True)
    )
    other = Pictures(table.products, table.vectors + 1)
    with pytest.raises(SettingError, match="with other pictures"):
        train_choice(
            shown, tmp_path / "il", config, pictures=other, options=TrainingOptions(resume=True)
        )
    train_choice(
        shown, tmp_path / "il", config, pictures=table, options=TrainingOptions(resume=True)
    )
