"""The data sets and everything that is known of their files, as frozen data.

A file may exist in more than one genuine version; a version is known by its size and, where
somebody has measured it, by its SHA-256 or its git blob id. What is not known is left out
rather than guessed, and `KnownFile.judge` says how far a file could be checked.
"""

import difflib
from dataclasses import dataclass
from importlib import resources
from typing import Literal

from errands.data.fingerprint import Fingerprint
from errands.errors import DataError

__all__ = ["DATASETS", "Check", "Dataset", "KnownFile", "Version", "find_dataset", "known_tasks"]

Check = Literal["sha256", "git-blob", "size", "unknown", "differs"]
"""How a file was recognised: by a checksum, only by its size, not at all because nothing is
known of it, or (accepted with `verify=False`) as another file than the known ones."""

_TOLERANCE = 0.1
"""How far the size of a file may be from a size that is only known roughly."""


@dataclass(frozen=True, slots=True)
class Version:
    """One genuine version of a file."""

    bytes: int
    sha256: str | None = None
    git_blob: str | None = None
    note: str = ""

    def __str__(self) -> str:
        facts = [f"{self.bytes:,} bytes"]
        if self.sha256:
            facts.append(f"sha256 {self.sha256}")
        elif self.git_blob:
            facts.append(f"git blob {self.git_blob}")
        else:
            facts.append("checksum not known")
        return ", ".join(facts) + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file of a data set, with all its genuine versions."""

    name: str
    option: str
    """The option of `errands catalog build` that takes this file."""
    versions: tuple[Version, ...] = ()
    about: int | None = None
    """The rough size in bytes, where no version is known exactly."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The exact sizes a genuine file can have; empty when none is known."""
        return tuple(version.bytes for version in self.versions)

    @property
    def limit(self) -> int:
        """More bytes than this cannot be this file."""
        return max(self.sizes, default=0) or round((self.about or 0) * (1 + _TOLERANCE))

    @property
    def has_checksum(self) -> bool:
        """Whether every version can be told by a checksum."""
        return bool(self.versions) and all(v.sha256 or v.git_blob for v in self.versions)

    def judge(self, found: Fingerprint) -> Check | None:
        """How `found` was recognised, or None when it is none of the known versions."""
        for version in self.versions:
            if version.bytes != found.bytes:
                continue
            if version.sha256 is None and version.git_blob is None:
                return "size"
            if version.sha256 == found.sha256:
                return "sha256"
            if version.git_blob == found.git_blob:
                return "git-blob"
        if self.versions:
            return None
        if self.about and abs(found.bytes - self.about) > _TOLERANCE * self.about:
            return None
        return "unknown"

    def describe(self) -> tuple[str, ...]:
        """What is known of the file, one line for each version."""
        if self.versions:
            return tuple(str(version) for version in self.versions)
        return (f"about {self.about or 0:,} bytes, exact size and checksum not known",)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: either named files, or (`tasks` > 0) a tree of task folders."""

    name: str
    summary: str
    files: tuple[KnownFile, ...] = ()
    tasks: int = 0
    """How many task folders the complete set has."""
    archives: tuple[str, ...] = ()
    """The names under which a server may hold the task folders, packed."""
    elsewhere: tuple[str, ...] = ()
    """Where people have found the files, one sentence each."""


_FULL_HUMAN = Version(
    5_137_548,
    git_blob="b2ab7479b9798e0b62ea394e065f3d506875f090",
    note="instructions for the full catalogue; serves both shops",
)
_DRIVE = (
    "princeton-nlp/WebShop on GitHub: its set-up script names Google Drive files, which users "
    "report as gone (issues 40 and 46 there, issue 59 of google/adk-samples)"
)

DATASETS: tuple[Dataset, ...] = (
    Dataset(
        name="webshop-1k",
        summary="WebShop's small shop: 1,000 products, 6,910 synthetic and 13 human goals",
        files=(
            KnownFile(
                "items_shuffle_1000.json",
                "--items",
                (
                    Version(
                        2_747_755,
                        "8598edc7bd2ca2871328c6f4e423619838cdbfa81b4071917cdee8be5c8e4d9f",
                        "10abd8abe6f6c2d3d3b832ef36884c11e0a7809e",
                        "recovered from the search index of webshop-minimal",
                    ),
                    Version(4_467_013, note="the authors' own file"),
                ),
            ),
            KnownFile(
                "items_ins_v2_1000.json",
                "--attributes",
                (
                    Version(
                        147_099,
                        "f88a36314a397b53b3d9c3fa5878e5f7b26d35019a51ec83fbedeca61a948f6f",
                        "22837ad99f3173712fc9cb1cce7de6b75fe90595",
                    ),
                ),
            ),
            KnownFile(
                "items_human_ins.json",
                "--human",
                (
                    Version(
                        4_731,
                        "68091da509e72e251d8afc33c665ae3ae79f7385db57df546d73a0eb53de2818",
                        "e4f0202590ba0b19706b835f63cf29b374a89638",
                        "the 13 instructions of the small shop",
                    ),
                    _FULL_HUMAN,
                ),
            ),
        ),
        elsewhere=(
            "ZihanWang314/webshop-minimal on GitHub: has items_ins_v2_1000.json as it is, and the "
            "products inside its Lucene index indexes_1k",
            _DRIVE,
        ),
    ),
    Dataset(
        name="webshop",
        summary="WebShop's full shop: 1.18 million products, 12,087 human goals",
        files=(
            KnownFile(
                "items_shuffle.json",
                "--items",
                (
                    Version(
                        5_479_720_229,
                        "2ef591d65df3af89e972ab72468eb82cbf124d876552d9f3678667edd620a6c8",
                    ),
                ),
            ),
            KnownFile("items_ins_v2.json", "--attributes", about=178_000_000),
            KnownFile("items_human_ins.json", "--human", (_FULL_HUMAN,)),
        ),
        elsewhere=(
            "axon-rl/webshop on Hugging Face: the products as a table, not in the original file "
            "form (the instructions are in axon-rl/webshop_instructions)",
            _DRIVE,
        ),
    ),
    Dataset(
        name="turkingbench",
        summary="TurkingBench's 159 tasks: a web form and workers' answers for each",
        tasks=159,
        archives=("turkingbench.tar.gz", "turkingbench.zip"),
        elsewhere=(
            "JHU-CLSP/turking-bench on GitHub: a clone, or its source archive as it is downloaded, "
            "will do for --from",
        ),
    ),
)


def find_dataset(name: str) -> Dataset:
    """The data set called `name`; an unknown name is answered with the nearest one."""
    names = [dataset.name for dataset in DATASETS]
    if name in names:
        return DATASETS[names.index(name)]
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise DataError(f"there is no data set {name!r}: {hint}There are {', '.join(names)}.")


def known_tasks() -> dict[str, str]:
    """SHA-256 by path (`tasks/NAME/batch.csv`) of the TurkingBench files that were measured.

    The list is in the form of `sha256sum`, so that `sha256sum -c` can check a folder with it.
    It covers 108 of the 159 tasks, as they are at commit f1a3854 of JHU-CLSP/turking-bench.
    """
    text = resources.files(__package__).joinpath("turkingbench.sha256").read_text("utf-8")
    return {line[66:]: line[:64] for line in text.splitlines()}
