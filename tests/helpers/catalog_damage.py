"""Damaged catalogues: many of them in one process, which may end as it likes.

    python catalog_damage.py FOLDER FIRST COUNT

plays with a copy of a catalogue that is damaged in so many ways, each by its number alone, and
prints a line of JSON for each: what was damaged, and what came of it.
"""

import json
import os
import random
import resource
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

__all__ = ["WAYS", "main", "outcome_of"]

QUERIES = ("black cotton shirt", "with for and easy to clean", "zzz", "women shoes size 8 red")


def _flip(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _bytes(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data))
    count = min(rng.choice([1, 8, 64, 4096]), len(data) - at)
    data[at : at + count] = rng.randbytes(count)


def _begin(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(min(len(data), 136))
    data[at] = rng.randrange(256)


def _same(value: int) -> Callable[[bytearray, random.Random], None]:
    def fill(data: bytearray, rng: random.Random) -> None:
        at = rng.randrange(len(data)) // 8 * 8
        count = min(rng.choice([4, 8, 512]), len(data) - at)
        data[at : at + count] = bytes([value]) * count

    return fill


def _digit(data: bytearray, rng: random.Random) -> None:
    """Another number or letter in a text or header."""
    at = rng.randrange(min(len(data), 4096))
    for place in [*range(at, min(len(data), 4096)), *range(at)]:
        if chr(data[place]).isalnum():
            data[place] = rng.choice(b"0123456789abcfiOSUu")
            return


def _swap(data: bytearray, rng: random.Random) -> None:
    one, other = rng.randrange(len(data)) // 8 * 8, rng.randrange(len(data)) // 8 * 8
    count = min(8, len(data) - max(one, other))
    data[one : one + count], data[other : other + count] = (
        data[other : other + count],
        data[one : one + count],
    )


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _grow(data: bytearray, rng: random.Random) -> None:
    data += rng.randbytes(rng.choice([1, 8, 5000]))


def _empty(data: bytearray, rng: random.Random) -> None:
    data.clear()


WAYS: dict[str, Callable[[bytearray, random.Random], None]] = {
    "flip": _flip, "bytes": _bytes, "begin": _begin, "zeros": _same(0), "ones": _same(255),
    "digit": _digit, "swap": _swap, "cut": _cut, "grow": _grow, "empty": _empty,
}  # fmt: skip


def _used(catalog: Any) -> str:
    """All that is asked of a catalogue, in one checksum."""
    from errands.envs.shop import ShopEnv
    from errands.shop.splits import overlap, split_indices

    said = sha256()

    def tell(*values: Any) -> None:
        said.update(repr(values).encode("utf-8", "backslashreplace"))

    count = len(catalog)
    for number in range(0, count, 7):
        product, card = catalog.product(number), catalog.card(number)
        tell(product, card, catalog.number(card.asin), product.price_tag)
    for query in QUERIES:
        tell(catalog.search(query, 10), catalog.search(query, 600), catalog.find(query))
    with ThreadPoolExecutor(1) as pool:
        batch = catalog.find_batch(QUERIES, 20, pool, 1)
        tell([batch.numbers(i).tolist() for i in range(len(QUERIES))])
    for seed in (None, 5):
        goals = catalog.goals("synthetic", seed)
        tell(len(goals), [goals[index] for index in range(0, len(goals), 97)])
        tell(len(split_indices("disjoint-test", goals)), overlap("test", goals))
        tell(goals.price(catalog.product(3)), float(goals.cumulative[-1]))
    for draw in ("released", "weighted"):
        env = ShopEnv(catalog=catalog, goal_draw=draw, max_steps=10)
        page, info = env.reset(seed=3)
        for turn in range(5):
            clickable = info["available_actions"]["clickables"] if turn else ()
            action = f"click[{clickable[-1]}]" if clickable else f"search[{QUERIES[0]}]"
            page, reward, _, _, info = env.step(action)
            tell(page, reward)
        env.close()
    return said.hexdigest()


def outcome_of(use: Callable[[], str]) -> tuple[str, str]:
    """How it went: `answer` and its checksum, `sentence` and its words, or `raw`."""
    from errands.errors import ErrandsError

    try:
        return "answer", use()
    except ErrandsError as failure:
        return "sentence", str(failure)
    except BaseException as failure:
        return "raw", f"{type(failure).__name__}: {failure}"


def _agree(folder: Path, name: str, size: int) -> None:
    """Have the manifest say that a file has this size."""
    path = folder / "manifest.json"
    told = json.loads(path.read_bytes())
    told["files"][name]["bytes"] = size
    del told["seal"]
    path.write_text(json.dumps(told))


def main(source: Path, first: int, count: int) -> None:
    from errands.shop.catalog.catalog import Catalog

    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.RLIM_INFINITY))
    warnings.simplefilter("error", RuntimeWarning)
    names = sorted(str(path.relative_to(source)) for path in source.rglob("*") if path.is_file())
    healthy = _used(Catalog(source))
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work, "copy")
        shutil.copytree(source, folder)
        for number in range(first, first + count):
            rng = random.Random(number)
            # Every file in every way, then again with other chance.
            name = names[number % len(names)]
            way = list(WAYS)[number // len(names) % len(WAYS)]
            whole = (source / name).read_bytes()
            data = bytearray(whole)
            if data:
                WAYS[way](data, rng)
            _replace(folder / name, bytes(data))
            if name != "manifest.json" and len(data) != len(whole) and rng.random() < 0.5:
                _agree(folder, name, len(data))
            print(json.dumps({"number": number, "file": name, "way": way}), flush=True)
            quick = outcome_of(lambda: _used(_opened(folder)))
            off = outcome_of(lambda: _used(Catalog(folder)))
            record = {
                "same": bytes(data) == whole,
                "quick": quick,
                "off": off,
                "right": quick[1] == healthy,
            }
            print(json.dumps(record), flush=True)
            for each in (name, "manifest.json"):
                _replace(folder / each, (source / each).read_bytes())
    # Not `ru_maxrss`, which begins with the parent's.
    status = Path("/proc/self/status").read_text()
    print(json.dumps({"megabytes": int(status.split("VmHWM:")[1].split()[0]) >> 10}))


def _replace(path: Path, data: bytes) -> None:
    """By a new file: the old one is mapped, and to cut it would end the process."""
    new = path.with_name("new")
    new.write_bytes(data)
    os.replace(new, path)


def _opened(folder: Path) -> Any:
    from errands.shop.catalog.catalog import Catalog
    from errands.shop.catalog.verification import verify_files

    verify_files(folder, "quick")
    return Catalog(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
