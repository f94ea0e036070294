"""Discriminative power of measures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..errors import MultiAspectError, renamed
from ._frames import Floats, check_between, check_choice, check_count, check_seed, matrix

__all__ = ["DiscriminativePower", "discriminative_power"]

TESTS = ("bootstrap", "permutation", "t", "tukey")

CORRECTIONS = (
    "bonferroni", "sidak", "holm", "holm-sidak", "simes-hochberg", "hommel",
    "fdr_bh", "fdr_by", "fdr_tsbh", "fdr_tsbky",
)  # fmt: skip

#: Statistics that differ by at most this, relative to the maximum, are tied (rounding errors).
_TOLERANCE = 1e-12

#: Maximum size of a temporary array (32 MB).
_CHUNK = 4_000_000


@dataclass(frozen=True, repr=False)
class DiscriminativePower:
    """Result of `discriminative_power`.

    Attributes
    ----------
    table : DataFrame
        One row per measure, most discriminative first: ``measure``; ``power``, the fraction of pairs of
        systems that differ significantly; ``n_discriminated`` and ``n_pairs``, the numbers of such pairs and
        of all pairs; ``required_difference``, the estimated difference of means required for significance.
    pairs : DataFrame
        One row per measure and pair of systems: ``measure``; ``a`` and ``b``, sorted by name; ``difference``,
        the mean of a minus the mean of b; ``asl``, the achieved significance level; ``p``, the same after
        the correction; ``discriminated``, whether p is below alpha.
    alpha : float
        The significance level.
    test, correction : str
        The test and the correction (None if not corrected).

    Examples
    --------
    See `discriminative_power`.
    """

    table: pd.DataFrame
    pairs: pd.DataFrame
    alpha: float
    test: str
    correction: str | None

    def curve(self) -> pd.DataFrame:
        """Return the curves of achieved significance levels.

        Returns
        -------
        DataFrame
            Columns ``measure rank a b asl``: the pairs of each measure by significance level, highest first.
            The closer a curve is to the axes, the more discriminative the measure.
        """
        order = self.pairs.sort_values("asl", ascending=False, kind="stable")
        parts = [order[order["measure"] == measure] for measure in self.pairs["measure"].unique()]
        curve: pd.DataFrame = pd.concat(parts, ignore_index=True)
        curve["rank"] = curve.groupby("measure", sort=False).cumcount() + 1
        return curve.loc[:, ["measure", "rank", "a", "b", "asl"]]

    def __repr__(self) -> str:
        correction = f", correction={self.correction!r}" if self.correction else ""
        asked = f"test={self.test!r}, alpha={self.alpha:g}{correction}"
        return f"DiscriminativePower({asked})\n{self.table.to_string()}"

    def _repr_html_(self) -> str:
        return str(self.table.to_html())


@renamed(B="n_resamples")
def discriminative_power(
    perquery: pd.DataFrame,
    test: str = "bootstrap",
    *,
    n_resamples: int = 10_000,
    alpha: float = 0.01,
    correction: str | None = None,
    seed: int = 0,
) -> DiscriminativePower:
    """Compute the fraction of pairs of systems that differ significantly under each measure.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return.
    test : {'bootstrap', 'permutation', 't', 'tukey'}, default 'bootstrap'
        The paired two-sided test of means over topics; see Notes.
    n_resamples : int, default 10_000
        Number of resamples, at least 1 / alpha. Not used by the test 't'.
    alpha : float in (0, 1), default 0.01
        The significance level: pairs with a level below it are discriminated.
    correction : str, optional
        Correction for multiple testing, a `method` of ``statsmodels.stats.multitest.multipletests``:
        'bonferroni', 'holm', 'fdr_bh', … The pairs of one measure form a family. Not available for 'tukey',
        which corrects for the number of pairs itself.
    seed : int, default 0
        Random seed. The same seed gives the same result, regardless of the order of rows.

    Returns
    -------
    DiscriminativePower
        ``table`` contains the power in [0, 1] and the required difference of each measure, ``pairs`` the
        level of every pair, and ``curve()`` returns the curves of achieved significance levels.

    Raises
    ------
    MultiAspectError
        If there are fewer than two systems or topics, a value is NaN, a measure is missing for some
        systems, systems have different topics, rows are duplicated, `n_resamples` is too small for `alpha`, or
        a parameter is out of range.
    ImportError
        If `correction` is given and statsmodels is not installed.

    Notes
    -----
    All pairs and all measures share the same resamples, so that measures are comparable. Let z be the
    per-topic differences of a pair of systems.

    - 'bootstrap': Sakai's paired test. The differences z are shifted to mean 0, and topics are drawn with
      replacement. The level is the fraction of samples whose studentised mean is at least as far from 0 as
      that of z. If all differences in a sample are equal, its studentised mean is 0 if they are 0, and
      infinite otherwise.
    - 'permutation': the signs of z are flipped at random. The level is (1 + number of samples whose mean is
      at least as far from 0) / (1 + n_resamples).
    - 't': Student's paired t-test.
    - 'tukey': randomised Tukey HSD. The scores of each topic are permuted among all systems. The level is
      (1 + number of samples whose range of means is at least the difference of the pair) / (1 + n_resamples).
      It controls the family-wise error rate over all pairs and is therefore much stricter than the other tests.

    Systems with equal scores on all topics are never discriminated (their level is 1). A pair with the same
    non-zero difference on all topics has no variance; 'bootstrap' and 't' discriminate it.

    The required difference of a pair is the smallest difference of means that would have been significant.
    For the bootstrap, it is the mean difference of the sample whose studentised mean is the
    ⌈n_resamples·alpha⌉-th farthest from 0. As in Sakai's papers, the required difference of a measure is the
    maximum over all pairs. Corrections do not affect it. It is in the units of the measure: compare it only
    between measures with similar ranges.

    High discriminative power does not imply validity: a measure may separate systems consistently by an
    irrelevant property.

    References
    ----------
    Sakai: Evaluating Evaluation Metrics based on the Bootstrap. SIGIR 2006.
    Sakai: Evaluating Information Retrieval Metrics Based on Bootstrap Hypothesis Tests.
    IPSJ Digital Courier 3 (2007).
    Carterette: Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval
    Experiments. TOIS 30 (2012).
    Phipson, Smyth: Permutation P-values Should Never Be Zero. SAGMB 9 (2010).

    Examples
    --------
    >>> import pandas as pd
    >>> scores = {"a": [0.7, 0.9, 0.6, 0.8, 0.7], "b": [0.7, 0.8, 0.7, 0.8, 0.7], "c": [0.1, 0.2, 0.1, 0.2, 0.0]}
    >>> perquery = pd.DataFrame(
    ...     [(name, f"q{n}", "AP", score) for name in scores for n, score in enumerate(scores[name])],
    ...     columns=["name", "qid", "measure", "value"],
    ... )
    >>> power = discriminative_power(perquery, n_resamples=1000, test="t")
    >>> power.table.round(4)
      measure   power  n_discriminated  n_pairs  required_difference
    0      AP  0.6667                2        3               0.1723
    >>> power.curve().round(4)
      measure  rank  a  b     asl
    0      AP     1  a  b  1.0000
    1      AP     2  a  c  0.0001
    2      AP     3  b  c  0.0000
    """
    check_choice("test", test, TESTS)
    n_resamples, seed = check_count("n_resamples", n_resamples), check_seed(seed)
    alpha = check_between("alpha", alpha)
    if test != "t" and n_resamples * alpha < 1 - 1e-9:
        raise MultiAspectError(
            f"n_resamples: expected at least {math.ceil((1 - 1e-9) / alpha)} (1 / alpha) for alpha={alpha:g}, got "
            f"{n_resamples}"
        )
    correct = _corrector(test, correction, alpha)
    values, names, _, measures = matrix(perquery)
    first, second = np.triu_indices(len(names), 1)
    judge = _judge(test, values, n_resamples, alpha, np.random.default_rng(seed))
    system = np.array(names, dtype=object)
    parts, table = [], []
    for index, measure in enumerate(measures):
        differences = values[first, :, index] - values[second, :, index]
        zero = float(_TOLERANCE * np.abs(values[:, :, index]).max())
        differences[np.abs(differences) <= zero] = 0.0
        level, needed = judge(index, differences, zero)
        p = correct(level.clip(0, 1))
        part = pd.DataFrame({"measure": measure, "a": system[first], "b": system[second]})
        part["difference"], part["asl"], part["p"] = differences.mean(axis=1), level.clip(0, 1), p
        part["discriminated"] = p < alpha
        found = int(part["discriminated"].sum())
        parts.append(part)
        table.append((measure, found / len(first), found, len(first), needed))
    summary = pd.DataFrame(table, columns=["measure", "power", "n_discriminated", "n_pairs", "required_difference"])
    return DiscriminativePower(
        table=summary.sort_values("power", ascending=False, kind="stable", ignore_index=True),
        pairs=pd.concat(parts, ignore_index=True),
        alpha=alpha,
        test=test,
        correction=correction,
    )


def _corrector(test: str, correction: str | None, alpha: float) -> Callable[[Floats], Floats]:
    """Return the function that corrects the levels of all pairs."""
    if correction is None:
        return lambda levels: levels
    if test == "tukey":
        raise MultiAspectError(
            f"test='tukey' corrects for the number of pairs itself: omit correction={correction!r}"
        )
    check_choice("correction", correction, CORRECTIONS)
    multitest = import_module("statsmodels.stats.multitest")

    def correct(levels: Floats) -> Floats:
        return np.asarray(multitest.multipletests(levels, alpha=alpha, method=correction)[1], dtype=np.float64)

    return correct


def _judge(
    test: str, values: Floats, n_resamples: int, alpha: float, rng: np.random.Generator
) -> Callable[[int, Floats, float], tuple[Floats, float]]:
    """Return the function that computes, for one measure, the levels of all pairs and the required difference.

    It takes the index of the measure, an array of differences (pairs × topics), and the maximum difference
    that counts as 0. Resamples are drawn only once.
    """
    n_topics = values.shape[1]
    if test == "t":
        return lambda _, differences, zero: _t(differences, zero, alpha)
    if test == "bootstrap":
        counts = resample_counts(n_topics, n_resamples, rng)
        return lambda _, differences, zero: _bootstrap(differences, zero, counts, alpha)
    if test == "permutation":
        signs = random_signs(n_topics, n_resamples, rng)
        return lambda _, differences, zero: _permutation(differences, signs, alpha)
    ranges = permuted_ranges(values, n_resamples, rng)
    return lambda measure, differences, zero: _tukey(differences, zero, ranges[measure], alpha)


def resample_counts(n_topics: int, n_resamples: int, rng: np.random.Generator) -> npt.NDArray[np.uint16]:
    """Draw topics with replacement, and return the count of each topic per sample, topics × n_resamples."""
    counts = np.empty((n_topics, n_resamples), dtype=np.uint16)
    for draws in _slices(n_resamples, n_topics):
        size = draws.stop - draws.start
        topics = rng.integers(n_topics, size=(size, n_topics))
        cells = topics + np.arange(size)[:, None] * n_topics
        counts[:, draws] = np.bincount(cells.ravel(), minlength=size * n_topics).reshape(size, n_topics).T
    return counts


def random_signs(n_topics: int, n_resamples: int, rng: np.random.Generator) -> npt.NDArray[np.int8]:
    """Draw a sign, −1 or 1, per topic and sample, topics × n_resamples."""
    return (2 * rng.integers(2, size=(n_resamples, n_topics), dtype=np.int8) - 1).T


def permuted_ranges(values: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Permute the systems on each topic, and return the range of their means, measures × n_resamples."""
    n_systems, n_topics, n_measures = values.shape
    ranges = np.empty((n_measures, n_resamples))
    scores = [np.ascontiguousarray(values[:, :, measure].T).ravel() for measure in range(n_measures)]
    first = np.arange(n_topics)[:, None] * n_systems
    for draws in _slices(n_resamples, 16 * n_topics * n_systems):
        shape = (draws.stop - draws.start, n_topics, n_systems)
        permuted = rng.permuted(np.broadcast_to(np.arange(n_systems), shape), axis=2) + first
        for measure in range(n_measures):
            means = scores[measure][permuted].mean(axis=1)
            ranges[measure, draws] = means.max(axis=1) - means.min(axis=1)
    return ranges


def _slices(length: int, width: int) -> list[slice]:
    """Split `length` rows of `width` numbers into parts of about `_CHUNK` numbers."""
    size = max(1, _CHUNK // max(width, 1))
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _product(rows: Floats, drawn: npt.NDArray[Any], out: Floats) -> None:
    """Compute a matrix product with an array of small integers, which is converted to floats in parts."""
    for draws in _slices(drawn.shape[1], drawn.shape[0]):
        out[:, draws] = rows @ drawn[:, draws].astype(np.float64)


def _bootstrap(
    differences: Floats, zero: float, drawn: npt.NDArray[np.uint16], alpha: float
) -> tuple[Floats, float]:
    """Return the levels by Sakai's test, and the required difference.

    For the sum X of n numbers and the sum Q of their squares, u = X² / (n Q) is in [0, 1] and
    t² = (n − 1) u / (1 − u). Thus u orders samples as |t| does, without a variance, which would be the
    difference of nearly equal numbers.
    """
    (n_rows, n_topics), n_resamples = differences.shape, drawn.shape[1]
    observed = _squared_cosine(differences.sum(axis=1), (differences**2).sum(axis=1), n_topics)
    shifted = differences - differences.mean(axis=1, keepdims=True)
    shifted[np.abs(shifted) <= zero] = 0.0
    observed[~shifted.any(axis=1) & differences.any(axis=1)] = np.inf  # the same difference everywhere
    place = n_resamples - math.ceil(n_resamples * alpha - 1e-9)  # of the critical sample, in ascending order
    level, needed = np.empty(n_rows), np.empty(n_rows)
    parts = _slices(n_rows, n_resamples)
    width = parts[0].stop
    sums, squares = np.empty((width, n_resamples)), np.empty((width, n_resamples))
    for part in parts:
        size = part.stop - part.start
        x, u = sums[:size], squares[:size]
        _product(shifted[part], drawn, x)
        _product(shifted[part] ** 2, drawn, u)
        _squared_cosine(x, u, n_topics, out=u)
        level[part] = (u >= observed[part, None] - _TOLERANCE).sum(axis=1) / n_resamples
        critical = np.argpartition(u, place, axis=1)[:, place]
        needed[part] = np.abs(x[np.arange(size), critical]) / n_topics
    return level, float(needed.max())


def _squared_cosine(sums: Floats, squares: Floats, n: int, out: Floats | None = None) -> Floats:
    """Return X² / (n Q), and 0 where Q is 0."""
    result = np.empty_like(squares) if out is None else out
    np.multiply(squares, n, out=result)
    np.maximum(result, np.finfo(np.float64).tiny, out=result)
    np.divide(sums, result, out=result)
    np.multiply(result, sums, out=result)
    return result


def _place(n_resamples: int, alpha: float) -> int:
    """Return the index, in ascending order, of the critical sample if the observed value counts as a sample."""
    return min(n_resamples - math.ceil((n_resamples + 1) * alpha - 1e-9) + 1, n_resamples - 1)


def _permutation(differences: Floats, drawn: npt.NDArray[np.int8], alpha: float) -> tuple[Floats, float]:
    (n_rows, n_topics), n_resamples = differences.shape, drawn.shape[1]
    observed = np.abs(differences.sum(axis=1)) - _TOLERANCE * np.abs(differences).sum(axis=1)
    place = _place(n_resamples, alpha)
    level, needed = np.empty(n_rows), np.empty(n_rows)
    parts = _slices(n_rows, n_resamples)
    sums = np.empty((parts[0].stop, n_resamples))
    for part in parts:
        x = sums[: part.stop - part.start]
        _product(differences[part], drawn, x)
        np.abs(x, out=x)
        level[part] = (1 + (x >= observed[part, None]).sum(axis=1)) / (1 + n_resamples)
        x.partition(place, axis=1)
        needed[part] = x[:, place] / n_topics
    return level, float(needed.max())


def _t(differences: Floats, zero: float, alpha: float) -> tuple[Floats, float]:
    from scipy.stats import t as student

    n = differences.shape[1]
    mean = differences.mean(axis=1)
    error = np.asarray(differences.std(axis=1, ddof=1) / math.sqrt(n))
    error[np.abs(differences - mean[:, None]).max(axis=1) <= zero] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.abs(mean) / error
    statistic[~differences.any(axis=1)] = 0.0
    level = 2 * student.sf(statistic, n - 1)
    return np.asarray(level), float(student.isf(alpha / 2, n - 1) * error.max())


def _tukey(differences: Floats, zero: float, ranges: Floats, alpha: float) -> tuple[Floats, float]:
    n_resamples = len(ranges)
    ordered = np.sort(ranges)
    observed = np.abs(differences.mean(axis=1)) - zero
    level = (1 + n_resamples - np.searchsorted(ordered, observed, side="left")) / (1 + n_resamples)
    return level, float(ordered[_place(n_resamples, alpha)])
