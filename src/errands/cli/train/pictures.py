"""`errands train pictures`: vectors of products' pictures, for choice models that see."""

from pathlib import Path

import typer

from errands.cli.options import CatalogData
from errands.cli.output import Force, Json, answer, counting, refuse_to_replace
from errands.cli.train.progress import (
    Epochs,
    Seed,
    changed,
    need_torch,
)
from errands.errors import SettingError

__all__ = ["pictures"]


def pictures(
    out: Path = typer.Option(..., help="The table to write, a .npz file."),
    catalog: str = CatalogData,
    features: Path | None = typer.Option(None, help="The original's features: feat_conv.pt."),
    addresses: Path | None = typer.Option(None, help="Which pictures they are of: feat_ids.pt."),
    epochs: int | None = Epochs,
    width: int | None = typer.Option(None, min=2, max=16_384, help="Width of a picture's vector."),
    seed: int = Seed,
    force: bool = Force,
    as_json: bool = Json,
) -> None:
    """Make a table of pictures: a vector for every product of a catalogue.

    A small convolutional encoder learns to tell a title's words from the generated picture; or
    the original's features are taken over by the addresses of pictures.

    Examples:

    \b
      errands train pictures --out pictures.npz
      errands train choice demos --out il --pictures pictures.npz
      errands train pictures --features feat_conv.pt --addresses feat_ids.pt --out f.npz
    """
    need_torch()
    from errands.learn.models.picture_encoder import (
        PictureConfig,
        original_features,
        train_pictures,
    )
    from errands.shop.catalog.catalog import Catalog

    if (features is None) != (addresses is None):
        raise SettingError("--features and --addresses go together; give both, or none.")
    refuse_to_replace(out, force)
    opened = Catalog.open(catalog, verify="quick")
    if features is not None and addresses is not None:
        table = original_features(features, addresses, opened)
        figures: dict[str, float] = {}
    else:
        config = changed(PictureConfig(), epochs=epochs, width=width, seed=seed)
        with counting() as shown:
            task = shown.add_task("learning", total=config.epochs, remark="drawing")

            def show(epoch: int, loss: float) -> None:
                shown.update(task, completed=epoch, remark=f"loss {loss:.3f}")

            trained = train_pictures(opened, config, show)
        table = trained.pictures
        figures = {"different": trained.different, "right": trained.right}
    table.write(out)
    accuracy = ""
    if figures:
        accuracy = (
            f" {figures['different']:,.0f} different pictures; the encoder's most likely word"
            f" is in the title for {figures['right']:.0%}."
        )
    answer(
        as_json,
        {"file": out, "products": len(table), "width": table.width, **figures},
        f"{out}: vectors of {table.width} numbers for {len(table):,} products.{accuracy}",
    )
