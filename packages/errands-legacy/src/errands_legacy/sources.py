"""Which catalogue an environment sells from: one that is named, given files, or the demo.

WebShop's files are built into a catalogue the first time they are given; it is kept in Errands'
home under a name made of their checksums, so that the next process opens it at once.
"""

import contextlib
import hashlib
import json
import operator
import os
import sys
import tempfile
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from errands.atomic import atomic_write
from errands.errors import DataError, SettingError
from errands.home import catalogs_dir, data_dir, home
from errands.shop.build.builder import DEFAULT_TAGGER, build_catalog, generate_catalog
from errands.shop.build.json_stream import stream_array, stream_object
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.library import DEMO, DEMO_EDITION, DEMO_SEED, ensure
from errands.shop.catalog.manifest import FORMAT

__all__ = ["CATALOG_VARIABLE", "DataFiles", "default_files", "find_catalog"]

CATALOG_VARIABLE: Final = "ERRANDS_LEGACY_CATALOG"
"""Names the catalogue of every environment, whatever files its code asks for."""

PathLike = str | os.PathLike[str]


class DataFiles(NamedTuple):
    """The files of one of WebShop's data sets."""

    items: Path
    attributes: Path
    human: Path


def default_files(dataset: str = "small") -> DataFiles:
    """Where `errands data` puts WebShop's files: `small` or `full`."""
    folder, size = {"small": (data_dir("webshop-1k"), "_1000"), "full": (data_dir("webshop"), "")}[
        dataset
    ]
    return DataFiles(
        folder / f"items_shuffle{size}.json",
        folder / f"items_ins_v2{size}.json",
        folder / "items_human_ins.json",
    )


def find_catalog(
    catalog: PathLike | Catalog | None = None,
    *,
    file_path: PathLike | None = None,
    attr_path: PathLike | None = None,
    human_path: PathLike | None = None,
    num_products: int | None = None,
) -> Catalog:
    """The catalogue that is named, else that of the files, else the demo.

    `num_products` takes the first records of the items file, as the original does; without files
    it is the size of the demo.
    """
    named = catalog or os.environ.get(CATALOG_VARIABLE)
    if named:
        return Catalog.open(named)
    num_products = _count(num_products)
    default, chosen = default_files(), _chosen_files()
    items = Path(file_path) if file_path else chosen.items
    if not items.is_file():
        if items in (default.items, default_files("full").items):
            return _demo(num_products)
        raise DataError(
            f"There is no items file {items}; expected WebShop's items_shuffle.json or a file like"
            " it, no file_path for the demo, or a catalogue's name in"
            f" {CATALOG_VARIABLE}."
        )
    attributes, human = (
        Path(given) if given else path if path != usual else _beside(items, usual)
        for given, path, usual in zip((attr_path, human_path), chosen[1:], default[1:], strict=True)
    )
    return _built(items, attributes, human if human.is_file() else None, num_products)


def _chosen_files() -> DataFiles:
    """The default files, or those that code has written into `web_agent_site.utils`: the original
    is told so of others."""
    default, utils = default_files(), sys.modules.get("web_agent_site.utils")
    if not hasattr(utils, "FILES"):  # Not imported, or the original's own.
        return default
    assert utils is not None
    now = map(Path, (utils.DEFAULT_FILE_PATH, utils.DEFAULT_ATTR_PATH, utils.HUMAN_ATTR_PATH))
    known = zip(now, utils.FILES, default, strict=True)
    return DataFiles(*(usual if path == first else path for path, first, usual in known))


def _count(num_products: Any) -> int | None:
    if num_products is None:
        return None
    try:
        count = 0 if isinstance(num_products, bool) else operator.index(num_products)
    except TypeError:
        count = 0
    if count < 1:
        raise SettingError(f"num_products={num_products!r}: expected 1 or more, or None for all.")
    return count


def _beside(items: Path, default: Path) -> Path:
    """The file of the same set that lies beside the items file, else the default one."""
    name = default.name
    if name.startswith("items_ins_v2"):
        name = items.name.replace("items_shuffle", "items_ins_v2")
    near = items.with_name(name)
    return near if near.is_file() and near != items else default


def _demo(num_products: int | None) -> Catalog:
    if num_products is None:
        return Catalog.open(DEMO)
    folder = catalogs_dir() / f"{DEMO}-{FORMAT}.{DEMO_EDITION}-{num_products}"
    make = partial(generate_catalog, products=num_products, seed=DEMO_SEED)
    return Catalog.open(ensure(folder, make))


def _built(items: Path, attributes: Path, human: Path | None, num_products: int | None) -> Catalog:
    if not attributes.is_file():
        raise DataError(
            f"There is no attributes file {attributes} for {items}; give WebShop's"
            " items_ins_v2.json, or a file like it, as attr_path."
        )
    sums = [None if path is None else _checksum(path) for path in (items, attributes, human)]
    made_of = [FORMAT, DEMO_EDITION, DEFAULT_TAGGER, num_products, *sums]
    name = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]

    def build(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            first, said = items, human
            if num_products is not None:
                first = _first_records(items, num_products, Path(scratch))
                if said is not None and not _speaks_of(said, first):
                    said = None
            build_catalog(folder, items=first, attributes=attributes, human=said)

    return Catalog.open(ensure(catalogs_dir() / f"webshop-{name}", build))


def _first_records(items: Path, count: int, scratch: Path) -> Path:
    """A file of the first records of another."""
    cut = scratch / items.name
    with cut.open("w", encoding="utf-8") as file:
        mark = "["
        for record in islice(stream_array(items), count):
            file.write(f"{mark}{json.dumps(record)}")
            mark = ",\n"
        file.write("[]" if mark == "[" else "]")
    return cut


def _speaks_of(human: Path, items: Path) -> bool:
    """Whether there is an instruction for one of the products, which may be few."""
    asins = {record.get("asin") for record in stream_array(items) if isinstance(record, dict)}
    return any(asin in asins for asin, _ in stream_object(human))


def _checksum(path: Path) -> str:
    """A file's checksum, remembered as long as its size and date are the same: it may be large."""
    state = path.stat()
    known = f"{path.resolve()}|{state.st_size}|{state.st_mtime_ns}"
    memo = home() / "checksums" / hashlib.sha256(known.encode()).hexdigest()[:32]
    if memo.is_file():
        return memo.read_text()
    try:
        with path.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    # A home that cannot be written is complained of where a catalogue is made.
    with contextlib.suppress(OSError):
        memo.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(memo, lambda work: work.write_text(checksum))
    return checksum
