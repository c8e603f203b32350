"""Getting a data set: look what is there, bring the rest, check it, give it its final name.

A file appears under its final name only after it was checked. Running the same fetch again is
always safe: what is good is left alone, what was interrupted is continued. One process at a
time fills a folder; a lock that dies with its owner sees to it.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from errands.data.download import RetryPolicy, check_base, discard, download, join
from errands.data.sets import (
    Action,
    Check,
    Dataset,
    FileReport,
    Fingerprint,
    KnownFile,
    find_dataset,
    fingerprint,
)
from errands.data.tasks import TREE, inspect_tasks, is_archive, stage_tasks, swap_in, sweep
from errands.errors import DataError
from errands.home import data_dir, real
from errands.progress import Progress, silent

__all__ = ["ENV_URL", "FetchReport", "FileReport", "fetch", "wanted"]

ENV_URL = "ERRANDS_DATA_URL"
"""The environment variable that names the server when no source is given."""

_ARCHIVE_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class FetchReport:
    """A data set that is now complete on this machine."""

    name: str
    folder: Path
    files: tuple[FileReport, ...]
    received: int = 0
    """Bytes that were transferred over the network."""

    @property
    def nothing_to_do(self) -> bool:
        """Whether all files were there and good already."""
        return all(file.status == "present" for file in self.files)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {**asdict(self), "folder": str(self.folder)}


def fetch(
    dataset: Dataset | str,
    *,
    url: str | None = None,
    folder: Path | None = None,
    out: Path | None = None,
    force: bool = False,
    verify: bool = True,
    progress: Progress = silent,
    retries: RetryPolicy | None = None,
) -> FetchReport:
    """Bring the files of `dataset` into `out` (default: its folder in the Errands home).

    They come from `folder`, or from the server at `url` (default: `ERRANDS_DATA_URL`), which has
    them at URL/DATASET/FILE or URL/FILE. With `force` files are brought again although they are
    there; without `verify` a file that is none of the known versions is taken all the same.
    """
    if isinstance(dataset, str):
        dataset = find_dataset(dataset)
    if url is not None and folder is not None:
        raise DataError("name one source: either a URL or a folder")
    if folder is None:
        url = url or os.environ.get(ENV_URL) or None
    job = _Fetch(dataset, out or data_dir(dataset.name), force, verify, progress, retries)
    try:
        return job.run(check_base(url) if url else None, folder)
    except OSError as error:
        raise DataError(f"cannot bring {dataset.name} into {job.target}: {error}") from None


def wanted(dataset: Dataset) -> str:
    """Which files make up `dataset`, where they may be found and how to hand them over."""
    lines = [f"Errands ships no copy of {dataset.name}, and no source was named. Wanted:"]
    for file in dataset.files:
        first, *others = file.describe()
        lines += [f"  {file.name}: {first}", *(f"    or {other}" for other in others)]
    if dataset.tasks:
        lines += [
            f"  tasks/NAME/template.html and tasks/NAME/batch.csv for {dataset.tasks} tasks, as a "
            "folder or as a .zip or .tar.gz",
            "    (sha256 of both files known for 108 tasks, not for the others)",
        ]
    lines += ["Where to look:", *(f"  {place}" for place in dataset.elsewhere)]
    lines += [
        "Then run one of:",
        f"  errands data {dataset.name} --from FOLDER",
        f"  errands data {dataset.name} --url https://SERVER/PATH   (or set {ENV_URL})",
    ]
    return "\n".join(lines)


@dataclass(slots=True)
class _Fetch:
    """One fetch into one folder."""

    dataset: Dataset
    target: Path
    force: bool
    verify: bool
    progress: Progress
    retries: RetryPolicy | None
    received: int = 0

    def run(self, url: str | None, folder: Path | None) -> FetchReport:
        files = self._run_tasks(url, folder) if self.dataset.tasks else self._run_files(url, folder)
        return FetchReport(self.dataset.name, self.target, files, self.received)

    # Named files

    def _run_files(self, url: str | None, folder: Path | None) -> tuple[FileReport, ...]:
        reports = {file.name: self._present(file) for file in self.dataset.files}
        missing = [file for file in self.dataset.files if reports[file.name] is None]
        if missing and folder is not None:
            sources = self._sources(missing, folder)
            with _sole_owner(self.target):
                for file in missing:
                    reports[file.name] = self._copy(file, sources[file.name])
        elif missing and url is not None:
            with _sole_owner(self.target):
                for file in missing:
                    reports[file.name] = self._download(file, url)
        elif missing:
            raise DataError(wanted(self.dataset))
        return tuple(report for report in reports.values() if report is not None)

    def _present(self, file: KnownFile) -> FileReport | None:
        """The report of a good file that is already there; None when it has to be brought."""
        path = self.target / file.name
        if self.force or not path.exists():
            return None
        measured = fingerprint(path, progress=self.progress)
        try:
            return self._accept(file, path, measured, "present")
        except DataError as error:
            raise DataError(f"{error} It was there before; --force replaces it.") from None

    def _sources(self, missing: list[KnownFile], folder: Path) -> dict[str, Path]:
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder")
        places = {}
        for file in missing:
            for path in (folder / self.dataset.name / file.name, folder / file.name):
                if path.is_file():
                    places[file.name] = path
                    break
        if absent := [file.name for file in missing if file.name not in places]:
            raise DataError(f"{folder} lacks {', '.join(absent)}")
        return places

    def _copy(self, file: KnownFile, source: Path) -> FileReport:
        path = self.target / file.name
        if path.exists() and path.samefile(source):
            raise DataError(f"{source} is the file that --force would replace: name another folder")
        size = source.stat().st_size
        if self.verify and file.sizes and size not in file.sizes:
            raise self._unlike(file, source, f"{size:,} bytes")
        copy = self.target / f".{file.name}.copy"
        try:
            self.progress(f"copying {file.name}", 0, size)
            shutil.copyfile(source, copy)
            measured = fingerprint(copy, progress=self.progress, what=file.name)
            report = self._accept(file, copy, measured, "copied", shown=source)
            _settle(copy, path)
        finally:
            copy.unlink(missing_ok=True)
        return report

    def _download(self, file: KnownFile, url: str) -> FileReport:
        part = self.target / f"{file.name}.part"
        urls = [join(url, self.dataset.name, file.name), join(url, file.name)]
        for once_more in (True, False):
            transfer = download(
                urls,
                part,
                sizes=file.sizes if self.verify else (),
                limit=file.limit if self.verify else max(file.limit * 2, _ARCHIVE_LIMIT),
                checked=file.has_checksum and self.verify,
                retries=self.retries,
                progress=self.progress,
            )
            self.received += transfer.received
            measured = fingerprint(part, progress=self.progress, what=file.name)
            try:
                report = self._accept(file, part, measured, "downloaded", shown=transfer.url)
            except DataError:
                discard(part)
                # The older half may be to blame: once more from the start, in one piece.
                if transfer.resumed and once_more:
                    continue
                raise
            break
        _settle(part, self.target / file.name)
        discard(part)
        return report

    def _accept(
        self,
        file: KnownFile,
        path: Path,
        measured: Fingerprint,
        action: Action,
        shown: Path | str | None = None,
    ) -> FileReport:
        check = file.judge(measured)
        # Without a checksum, an error page sent in place of the file would pass.
        if check in ("size", "unknown") and not _opens_json(path):
            raise DataError(f"{shown or path} is not JSON.")
        if check is None and self.verify:
            raise self._unlike(file, shown or path, str(measured))
        accepted: Check = check or "differs"
        return FileReport(file.name, measured.bytes, measured.sha256, action, accepted)

    def _unlike(self, file: KnownFile, shown: Path | str, got: str) -> DataError:
        expected = "; or ".join(file.describe())
        return DataError(
            f"{shown} is not the {file.name} that is known: expected {expected}; got {got}. "
            "Pass --no-verify to take it all the same."
        )

    # Task folders

    def _run_tasks(self, url: str | None, folder: Path | None) -> tuple[FileReport, ...]:
        tree = self.target / TREE
        if not self.force:
            try:
                there = inspect_tasks(tree, "present", verify=self.verify, progress=self.progress)
            except DataError as error:
                raise DataError(f"{error} They were there before; --force replaces them.") from None
            if there:
                return there
        if url is None and folder is None:
            raise DataError(wanted(self.dataset))
        if folder is not None:
            folder = self._pack(folder)
            if tree.exists() and folder.exists() and real(folder) in _lineage(tree):
                raise DataError(f"{folder} is what --force would replace: name another folder")
        with _sole_owner(self.target):
            sweep(self.target)
            fetched = None if url is None else self._download_archive(url)
            source = fetched or folder
            assert source is not None
            action: Action = "downloaded" if fetched else "copied"
            try:
                stage = stage_tasks(source, self.target, progress=self.progress)
                reports = inspect_tasks(stage, action, verify=self.verify, progress=self.progress)
                swap_in(stage, self.target)
            finally:
                sweep(self.target)
                if fetched:
                    discard(fetched)
        return reports

    def _pack(self, source: Path) -> Path:
        """`source`, or the archive in it that a server would have offered."""
        if not source.exists():
            raise DataError(f"{source} does not exist")
        if source.is_dir() and not (source / TREE).is_dir():
            for name in self.dataset.archives:
                if (source / name).is_file():
                    return source / name
        return source

    def _download_archive(self, url: str) -> Path:
        names = self.dataset.archives
        urls = [join(url, *path) for name in names for path in ((self.dataset.name, name), (name,))]
        if is_archive(url):
            urls = [url]
        part = self.target / f"{self.dataset.name}.part"
        transfer = download(
            urls, part, limit=_ARCHIVE_LIMIT, retries=self.retries, progress=self.progress
        )
        self.received += transfer.received
        return part


def _opens_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"[", b"{")


def _settle(source: Path, final: Path) -> None:
    """Give a checked file its final name, so that even a power cut leaves it whole or absent."""
    with source.open("rb") as file:
        os.fsync(file.fileno())
    source.replace(final)


def _lineage(path: Path) -> tuple[Path, ...]:
    whole = real(path)
    return (whole, *whole.parents)[:2]


@contextmanager
def _sole_owner(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"another process is filling {folder}: wait until it is done") from None
        yield
