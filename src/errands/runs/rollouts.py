"""Roll-outs for trainers: whole episodes from a Ray cluster as they are finished, kept nowhere."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from errands.agents.registry import make_factory
from errands.agents.views import chosen_observation
from errands.errors import SettingError
from errands.runs.episode import OBSERVATIONS, Episode
from errands.runs.episode_source import open_source
from errands.runs.play import PlayConfig
from errands.runs.protocol import Protocol, find_protocol
from errands.runs.workers.processes import Job
from errands.runs.workers.ray_cluster import joined
from errands.runs.workers.ray_pool import played_on_ray

__all__ = ["rollouts"]


def rollouts(
    protocol: str | Protocol,
    agent: str,
    *,
    ray: str = "",
    data: str | None = None,
    episodes: Sequence[int] | int | None = None,
    settings: Mapping[str, Any] | None = None,
    workers: int | None = None,
    observation: str | None = None,
    observations: str = "full",
    seconds: float | None = 900.0,
    seed: int | None = None,
    on_remark: Callable[[str], None] = warnings.warn,
) -> Iterator[Episode]:
    """Play an agent on a cluster; episodes come in the order in which they are finished.

    `episodes` are numbers of the protocol, or how many of its first ones; None for all. A trainer
    gives every round a `seed` of its own, or an agent of chance does the same again. Whoever stops
    listening (`close()`, or the end of the loop's function) ends the workers. The rest is as in
    `errands.runs.runner.run`.
    """
    if observations not in OBSERVATIONS:
        raise SettingError(f"observations={observations!r}: expected {', '.join(OBSERVATIONS)}.")
    used = find_protocol(protocol) if isinstance(protocol, str) else protocol
    if data is not None:
        used = msgspec.structs.replace(used, data=data)
    given = dict(settings or {})
    with contextlib.ExitStack() as stack:
        shown = str(chosen_observation(agent, used.domain, observation, used.observation))
        source = stack.enter_context(contextlib.closing(open_source(used, observation=shown)))
        count = len(source.keys)
        numbers = (
            range(count)[:episodes] if episodes is None or isinstance(episodes, int) else episodes
        )
        unknown = next((number for number in numbers if not 0 <= number < count), None)
        if unknown is not None:
            raise SettingError(
                f"episodes: there is no {unknown} in {used.id!r}; expected 0 to {count - 1}."
            )
        factory = make_factory(agent, used.domain, source.env(), given)
        stack.enter_context(contextlib.closing(factory))
        job = Job(
            protocol=used,
            agent=agent,
            settings=given,
            observation=shown,
            rules=PlayConfig(used.seed if seed is None else seed, seconds, observations),
            place="",
        )
        cluster = stack.enter_context(joined(ray, workers))
        played = played_on_ray(
            cluster,
            job,
            source,
            numbers,
            workers,
            on_remark=on_remark,
            waits=factory.mode == "model",
        )
        yield from stack.enter_context(contextlib.closing(played))
