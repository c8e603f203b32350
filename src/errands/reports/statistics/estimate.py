"""A mean with its 95 % interval, by clusters, quick enough for a million episodes.

Episodes of one product, task or goal depend on each other: what one of them shows, the next one
shows again. So what is sampled is the cluster, with all its episodes, and an interval says what
other clusters could have given. Which of four ways makes it is decided by the data, and is named
with every estimate:

- `cluster bootstrap`: clusters are drawn anew, with replacement, 10,000 times, each with all its
  episodes; the bounds are the percentiles 2.5 and 97.5 of the means. Where every cluster has one
  episode it is the plain bootstrap.
- `Wilson`: of a rate, where fewer than 10 clusters have a success, or fewer than 10 a failure, the
  score interval of Wilson (1927). Episodes of a cluster count as one outcome that is the same for
  all of them: of clusters of sizes m there are (sum m)^2 / sum m^2 such outcomes (Kish 1965), which
  is their number where all are of one size. That errs to the wide side.
- `no variation`: where all clusters have the same mean. Of n clusters of which none differs, a
  share of up to z^2 / (n + z^2) may differ all the same (the upper bound of Wilson for none of n),
  and those may be anywhere in the figure's range. For a rate of 0 or 1 it is Wilson's interval; n
  is counted as there.
- `normal`: of more than 2,000 clusters that are nearly all different: the bootstrap differs from it
  by less than what chance adds to its bounds. The variance is that of a ratio of sums by cluster.

Where all episodes are of one cluster, they are what is sampled, and nothing is said about others.

Rewards have few distinct values, so a resample need not draw every cluster: how often each distinct
kind of cluster comes up in it is one multinomial draw, which has exactly the distribution of the
plain bootstrap and costs a thousandth. The generator is private; its seed and the figure's name
decide every bound.
"""

import math
import zlib
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

__all__ = [
    "BOOTSTRAP",
    "FEW",
    "METHODS",
    "NORMAL",
    "NOTHING",
    "NO_VARIATION",
    "RESAMPLES",
    "WILSON",
    "Clusters",
    "Estimate",
    "WeightedValues",
    "estimate",
    "named_rng",
    "resampled_means",
    "wilson",
]

RESAMPLES: Final = 10_000
FEW: Final = 10
"""A rate with fewer clusters of either outcome is no matter for the bootstrap."""
MOST_DISTINCT: Final = 1000
MOST_DRAWN: Final = 2000
_CHUNK: Final = 1 << 20
_Z: Final = 1.959963984540054

BOOTSTRAP: Final = "cluster bootstrap"
WILSON: Final = "Wilson"
NO_VARIATION: Final = "no variation"
NORMAL: Final = "normal"

METHODS: Final = {
    BOOTSTRAP: "percentiles 2.5 and 97.5 of 10,000 resamples of clusters, each with all its"
    " episodes (seeded)",
    WILSON: "the score interval of a rate, where fewer than 10 clusters have a success or fewer"
    " than 10 a failure; the episodes of a cluster count as one outcome",
    NO_VARIATION: "where all clusters have the same mean: a share of up to z^2 / (n + z^2) of them"
    " may differ (Wilson's bound for none of n), and be anywhere in the figure's range",
    NORMAL: "of more than 2,000 clusters, nearly all different: the mean and 1.96 standard errors"
    " of a ratio of sums by cluster",
}
"""The ways to make an interval, for the reader."""

Floats = npt.NDArray[np.float64]


class Estimate(msgspec.Struct, frozen=True):
    """A mean and its 95 % interval; all None where nothing counted."""

    mean: float | None
    low: float | None
    high: float | None
    count: int
    """Episodes, or whatever was averaged."""
    clusters: int = 0
    """What was sampled: clusters of episodes, or episodes where all are of one cluster."""
    method: str = ""
    """How the interval was made."""

    def times(self, factor: float) -> "Estimate":
        """The same on another scale."""
        if self.mean is None or self.low is None or self.high is None:
            return self
        return msgspec.structs.replace(
            self, mean=self.mean * factor, low=self.low * factor, high=self.high * factor
        )


NOTHING: Final = Estimate(None, None, None, 0)


class WeightedValues:
    """Distinct values, ascending, and how often each came."""

    __slots__ = ("counts", "size", "values")

    def __init__(self, values: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> None:
        numbers = np.asarray(values, dtype=np.float64)
        if counts is None:
            self.values, self.counts = np.unique(numbers, return_counts=True)
        else:
            weights = np.asarray(counts, dtype=np.int64)
            self.values, where = np.unique(numbers, return_inverse=True)
            self.counts = np.zeros(len(self.values), dtype=np.int64)
            np.add.at(self.counts, where, weights)
            present = self.counts > 0
            self.values, self.counts = self.values[present], self.counts[present]
        self.size = int(self.counts.sum())


class Clusters:
    """Clusters of values as their sums and sizes; alike ones are one entry, with their number."""

    __slots__ = ("alike", "episodes", "sizes", "sums", "total")

    def __init__(
        self,
        values: npt.ArrayLike,
        labels: npt.ArrayLike | None = None,
        *,
        sizes: npt.ArrayLike | None = None,
        weights: str = "episode",
    ) -> None:
        """`labels` are whole numbers, equal for values of one cluster (None: each is one of its
        own); `sizes` are given where a value is the sum of several. With the weights `cluster`,
        every cluster counts as much as any other, by its mean."""
        sums = np.asarray(values, dtype=np.float64)
        counts = np.ones(len(sums)) if sizes is None else np.asarray(sizes, dtype=np.float64)
        self.episodes = int(counts.sum())
        if labels is not None and len(sums):
            _, codes = np.unique(np.asarray(labels), return_inverse=True)
            if codes.max() > 0:
                sums = np.asarray(np.bincount(codes, sums), np.float64)
                counts = np.bincount(codes, counts).astype(np.float64)
        if weights == "cluster":
            sums, counts = sums[counts > 0] / counts[counts > 0], np.ones(int((counts > 0).sum()))
        # Sums are rounded, since the order of adding up is no difference.
        kinds, self.alike = np.unique(np.round(sums, 12) + 1j * counts, return_counts=True)
        self.sums, self.sizes = np.ascontiguousarray(kinds.real), np.ascontiguousarray(kinds.imag)
        self.total = int(self.alike.sum())

    @property
    def mean(self) -> float:
        if self.is_constant:
            return float(self.sums[0] / self.sizes[0])
        return float(self.sums @ self.alike) / float(self.sizes @ self.alike)

    @property
    def is_constant(self) -> bool:
        """Whether all clusters have the same mean."""
        means = self.sums / self.sizes
        return bool(np.ptp(means) <= 1e-12)

    @property
    def outcomes(self) -> float:
        """So many outcomes there are, if all of a cluster are the same."""
        return float((self.sizes @ self.alike) ** 2 / (self.sizes**2 @ self.alike))

    @property
    def has_few(self) -> bool:
        """Whether few clusters have a success, or few a failure."""
        won, lost = self.sums > 1e-12, self.sums < self.sizes - 1e-12
        return bool(min(self.alike[won].sum(), self.alike[lost].sum()) < FEW)

    @property
    def error(self) -> float:
        """The standard error of the mean, as a ratio of sums by cluster."""
        spread = float((self.sums - self.mean * self.sizes) ** 2 @ self.alike)
        correction = self.total / (self.total - 1) if self.total > 1 else 1.0
        return math.sqrt(spread * correction) / float(self.sizes @ self.alike)


def named_rng(seed: int, name: str) -> np.random.Generator:
    """A generator of one figure's own."""
    return np.random.default_rng([seed, zlib.crc32(name.encode("utf-8", "surrogatepass"))])


def wilson(mean: float, outcomes: float) -> tuple[float, float]:
    """The score interval of a rate over so many independent outcomes."""
    square = _Z**2
    centre = (mean + square / (2 * outcomes)) / (1 + square / outcomes)
    half = (
        _Z
        / (1 + square / outcomes)
        * math.sqrt(mean * (1 - mean) / outcomes + square / (4 * outcomes**2))
    )
    return max(0.0, centre - half), min(1.0, centre + half)


def resampled_means(
    clusters: Clusters, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Floats | None:
    """The mean of each resample; None where there are too many kinds of clusters to draw."""
    size, width = clusters.total, len(clusters.sums)
    if width <= MOST_DISTINCT:
        shares = clusters.alike / size

        def draw(count: int) -> Floats:
            counts = rng.multinomial(size, shares, size=count)
            return np.asarray(counts @ clusters.sums / (counts @ clusters.sizes))
    elif size <= MOST_DRAWN:
        width = size
        sums, sizes = (np.repeat(each, clusters.alike) for each in (clusters.sums, clusters.sizes))

        def draw(count: int) -> Floats:
            drawn = rng.integers(size, size=(count, size))
            return np.asarray(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    else:
        return None
    step = max(1, _CHUNK // width)
    starts = range(0, resamples, step)
    return np.concatenate([draw(min(step, resamples - start)) for start in starts])


def estimate(
    values: "Clusters | npt.ArrayLike",
    name: str,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    is_rate: bool = False,
    span: tuple[float, float] = (0.0, 1.0),
) -> Estimate:
    """The mean of values with its interval; `span` is between what values can be. Of a rate, values
    are 0 and 1, and few of either make the interval that of Wilson."""
    clusters = values if isinstance(values, Clusters) else Clusters(values)
    if not clusters.total:
        return NOTHING
    mean = clusters.mean
    if clusters.is_constant:
        method = NO_VARIATION
        other = _Z**2 / (clusters.outcomes + _Z**2)
        low, high = (mean + other * (end - mean) for end in span)
    elif is_rate and clusters.has_few:
        method = WILSON
        low, high = wilson(mean, clusters.outcomes)
    else:
        means = resampled_means(clusters, named_rng(seed, name), resamples)
        if means is None:
            method = NORMAL
            low, high = mean - _Z * clusters.error, mean + _Z * clusters.error
        else:
            method = BOOTSTRAP
            low, high = np.percentile(means, [2.5, 97.5]).tolist()
    return Estimate(
        mean, min(low, mean), max(high, mean), clusters.episodes, clusters.total, method
    )
