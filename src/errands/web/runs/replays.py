"""Episodes played again for those who look at them, one at a time; a few are remembered.

Where only fingerprints of pages were kept, the pages come from doing the actions again in the
source of the run. The data may be absent or changed, and a page may be another: each is told.
"""

import logging
import threading
from collections import OrderedDict
from typing import Final, NamedTuple

from errands.errors import ErrandsError
from errands.reports.html.replay import PageView as Page
from errands.reports.html.replay import views
from errands.runs.episode import Episode, RunInfo
from errands.runs.episode_source import EpisodeSource
from errands.runs.replay import ReplayedPage, ReplayResult, prove, reopen_source, watch

__all__ = ["EpisodeReplay", "ReplayCache"]

_log = logging.getLogger(__name__)
_MOST_SOURCES: Final = 4
"""Episode sources that stay open."""
_MOST_EPISODES: Final = 64
_MOST_CHARACTERS: Final = 32_000_000
"""Of pages that are remembered, all together."""


class EpisodeReplay(NamedTuple):
    """An episode with its pages."""

    pages: tuple[Page, ...]
    """Before each action, and the last."""
    proof: ReplayResult | None
    """What playing it again found; None where that was not possible."""
    trouble: str
    """Why it was not."""

    @property
    def size(self) -> int:
        return sum(len(page.html) + len(page.text) for page in self.pages)


class ReplayCache:
    """Plays episodes again. Calls from several threads wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sources: OrderedDict[str, EpisodeSource] = OrderedDict()
        self._replays: OrderedDict[object, EpisodeReplay] = OrderedDict()
        self.played = 0

    def remembered(self, key: object) -> EpisodeReplay | None:
        """An episode that was played again lately."""
        return self._replays.get(key)

    def watch(self, key: object, info: RunInfo, episode: Episode) -> EpisodeReplay:
        """The pages of an episode; `key` names it."""
        with self._lock:
            kept = self._replays.get(key)
            if kept is None:
                kept = self._replay(info, episode)
                if not kept.trouble:  # What is missing may come back.
                    self._remember(key, kept)
            return kept

    def close(self) -> None:
        with self._lock:
            for source in self._sources.values():
                source.close()
            self._sources.clear()
            self._replays.clear()

    def _replay(self, info: RunInfo, episode: Episode) -> EpisodeReplay:
        seen: list[ReplayedPage] | None = None
        trouble = ""
        source = self._source(info)
        if isinstance(source, str):
            trouble = source
        else:
            try:
                seen = list(watch(source, episode))
                self.played += 1
            except ErrandsError as failure:
                trouble = str(failure)
            except Exception as failure:
                # A store may hold anything: numbers beyond the goals, actions of another time.
                _log.warning("an episode cannot be played again", exc_info=True)
                trouble = f"Playing it again failed ({type(failure).__name__})."
        shown = views(info, episode, lambda *_: seen)
        proof = prove(episode, seen) if seen is not None else None
        return EpisodeReplay(tuple(shown), proof, trouble)

    def _source(self, info: RunInfo) -> EpisodeSource | str:
        """The source of a run, or why it cannot be had."""
        key = f"{info.id} {info.checksum}"
        if key not in self._sources:
            while len(self._sources) >= _MOST_SOURCES:
                self._sources.popitem(last=False)[1].close()
            try:
                self._sources[key] = reopen_source(info)
            except ErrandsError as failure:
                return str(failure)
            except Exception as failure:
                _log.warning("the source of a run cannot be opened", exc_info=True)
                return f"Its protocol cannot be used ({type(failure).__name__})."
        self._sources.move_to_end(key)
        return self._sources[key]

    def _remember(self, key: object, replay: EpisodeReplay) -> None:
        self._replays[key] = replay
        while len(self._replays) > 1 and (
            len(self._replays) > _MOST_EPISODES
            or sum(one.size for one in self._replays.values()) > _MOST_CHARACTERS
        ):
            self._replays.popitem(last=False)
