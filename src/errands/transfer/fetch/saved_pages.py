"""Pages that somebody saved: a folder of them in place of a shop.

`index.toml` says which file is which address:

    [[page]]
    url = "https://www.amazon.com/s?k=red+shoes&page=1"
    file = "results.html"

Without it the files speak for themselves: a page of results stands for every search (the first by
name for page 1, the next for page 2, and so on), an item page for its own id. Nobody is asked.
"""

import tomllib
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from errands.errors import DataError
from errands.home import real
from errands.transfer.fetch.charset import decoded
from errands.transfer.fetch.fetcher import FetchedPage, MissingPage, PageRequest
from errands.transfer.sites.site import SiteReader

__all__ = ["SavedPages", "read_page"]

_LARGEST: Final = 40_000_000
_ENDINGS: Final = (".html", ".htm", ".mhtml", ".xhtml")


def read_page(path: Path) -> str:
    """A saved page's text, which is UTF-8, or else in the encoding that the page names."""
    try:
        if path.stat().st_size > _LARGEST:
            raise DataError(f"{path} is larger than {_LARGEST:,} bytes; that is no page.")
        data = path.read_bytes()
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        # Browsers save pages as UTF-8 and leave the name of what they were in.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return decoded(data)


class SavedPages:
    """A folder as a fetcher."""

    def __init__(self, folder: Path, site: SiteReader) -> None:
        if not folder.is_dir():
            raise DataError(f"{folder} is not a folder; --pages expects one with saved pages.")
        self.folder = folder
        self._site = site
        self._by_url: dict[str, Path] = {}
        self._results: list[Path] = []
        self._items: dict[str, Path] = {}
        self.unread: list[str] = []
        """Why files of the folder were left out."""
        index = folder / "index.toml"
        if index.is_file():
            self._read_index(index)
        else:
            self._sort()
        if not (self._by_url or self._results or self._items):
            raise DataError(
                f"{folder} has no page of {site.name}; expected saved .html files, or an"
                f" index.toml that names them. {' '.join(self.unread)}".rstrip()
            )

    def __call__(self, request: PageRequest) -> FetchedPage:
        path = self._by_url.get(_same(request.url))
        if path is None and request.kind == "item":
            path = self._items.get(self._id_in(request.url))
        elif path is None and not self._by_url:
            page = self._page_in(request.url)
            path = self._results[page - 1] if 1 <= page <= len(self._results) else None
            if path is None and self._results:
                return FetchedPage(request.url, 200, "")  # Beyond the last page there is nothing.
        if path is None:
            raise MissingPage(
                f"{self.folder} has no page for {request.url}; nobody was asked for it."
                f" {' '.join(self.unread)}".rstrip()
            )
        return FetchedPage(request.url, 200, read_page(path))

    def _read_index(self, index: Path) -> None:
        try:
            document: Any = tomllib.loads(index.read_text("utf-8"))
        except ValueError as failure:
            raise DataError(f"{index} is not TOML ({failure}).") from None
        except RecursionError:
            raise DataError(f"{index} nests too deeply; expected [[page]] tables.") from None
        except OSError as failure:
            raise DataError(f"{index} cannot be read ({failure.strerror}).") from None
        pages = document.get("page")
        if not isinstance(pages, list) or not pages:
            raise DataError(f"{index} names no pages; expected [[page]] with url and file.")
        for number, page in enumerate(pages, 1):
            url, file = (page.get("url"), page.get("file")) if isinstance(page, dict) else (0, 0)
            if not isinstance(url, str) or not isinstance(file, str):
                raise DataError(f"{index}: page {number} needs url and file, both texts.")
            path = real(self.folder / file)
            if not path.is_relative_to(real(self.folder)) or not path.is_file():
                raise DataError(f"{index}: page {number} names {file}, which is not in the folder.")
            self._by_url[_same(url)] = path

    def _sort(self) -> None:
        for path in sorted(self.folder.iterdir()):
            if path.suffix.lower() not in _ENDINGS or not path.is_file():
                continue
            try:
                html = read_page(path)
            except DataError as failure:  # The others are still of use.
                self.unread.append(str(failure))
                continue
            kind = self._site.kind(html)
            if kind == "search":
                self._results.append(path)
            elif kind == "item":
                product = self._site.read_item(html)
                for key in (product.id.lower(), _same(product.url)):
                    if key:
                        self._items.setdefault(key, path)

    def _id_in(self, url: str) -> str:
        """The key of an item by its address, whatever else is in that."""
        if _same(url) in self._items:
            return _same(url)
        parts = [part.lower() for part in urlsplit(url).path.split("/") if part]
        parts += [value.lower() for _, value in parse_qsl(urlsplit(url).query)]
        return next((part for part in parts if part in self._items), "")

    def _page_in(self, url: str) -> int:
        """The number of the page of results that an address asks for, by name or by place."""
        query = dict(parse_qsl(urlsplit(url).query))
        number = query.get("page") or query.get("_pgn") or urlsplit(url).path.rsplit("/", 1)[-1]
        return int(number) if number.isdecimal() and len(number) < 7 else 1


def _same(url: str) -> str:
    """An address as it is compared: without what stands after a #."""
    return url.partition("#")[0].strip()
