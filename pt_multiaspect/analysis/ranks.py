"""Runs by several measures: their ranks, and a consensus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np
import numpy.typing as npt
import pandas as pd

from .._typing import Floats, Ints
from .._validation import count, proportion, random_seed
from ..evaluation.long_frames import read_long_frame
from ..evaluation.topic_clusters import (
    ClusterSpec,
    check_clusters,
    check_drawn_clusters,
    clusters_of_topics,
    read_clusters,
    topics_in_words,
)
from ..kernels.intervals import percentile_interval
from ..kernels.mean_errors import Clusters
from ..views import Block, Cell, Cells, Column, Sentence, Table, View
from ._pairs import Pairs
from ._significance import (
    clusters_note,
    corrector,
    mean_differences,
    mean_over_topics,
    resample_weights,
    signs_of_means,
    slices,
    t_test_levels,
)
from ._value_matrices import OrientedValues, read_oriented


@dataclass(frozen=True, repr=False)
class Ranks(View):
    """Result of `ranks`.

    Attributes
    ----------
    table : DataFrame
        One row per measure and run: ``measure name``; ``mean``; ``rank``, 1 for the best, ties
        share the best rank; and ``low high``, the interval of the rank.
    consensus : DataFrame
        One row per run: ``name``; ``borda``, its mean rank over the measures (ties share the mean
        rank), with its interval ``borda_low borda_high``; ``copeland``, the number of runs that it
        beats by more measures than it is beaten by, minus those that beat it, with ``copeland_low
        copeland_high``.
    alpha, ci : float
        As given.

    Examples
    --------
    See `ranks`.
    """

    table: pd.DataFrame
    consensus: pd.DataFrame
    alpha: float
    ci: float
    #: The number of topics and clusters, and a note on the clusters; empty without clusters.
    _topics: str = ""
    _clusters: str = ""

    def _title(self) -> str:
        return "Ranks"

    def _content(self) -> list[Block]:
        """Return the table of the ranks, and sentences on its columns and on the clusters."""
        level = f"{100 * self.ci:g} %"
        note = (
            f"Ranks with intervals from paired tests (α = {self.alpha:g}, corrected for the number "
            f"of runs{self._topics}). Borda: mean rank; Copeland: runs beaten by more measures "
            f"than not, minus runs that beat it; both with {level} bootstrap intervals."
        )
        blocks: list[Block] = [self._ranks_table(), Sentence(note)]
        if self._clusters:
            blocks.append(Sentence(f"{self._clusters}."))
        return blocks

    def _ranks_table(self) -> Table:
        """Return one row per run, with its rank by each measure and by their consensus."""
        measures = self.table["measure"].unique().tolist()
        columns = [Column("name", left=True, shorten=12)]
        columns += [Column(str(measure)) for measure in measures]
        columns += [Column("Borda"), Column("Copeland")]
        rank_cells = self._rank_cells()
        rows: list[Cells] = []
        for row in self.consensus.to_dict("records"):
            run = row["name"]
            cells: list[Cell | str] = [str(run)]
            for measure in measures:
                cells.append(rank_cells[run, measure])
            cells.append(_consensus_cell(row["borda"], row["borda_low"], row["borda_high"]))
            cells.append(
                _consensus_cell(row["copeland"], row["copeland_low"], row["copeland_high"])
            )
            rows.append(cells)
        return Table(columns, rows)

    def _rank_cells(self) -> dict[tuple[Any, Any], Cell]:
        """Return the cells with the rank and its interval, by run and measure."""
        cells = {}
        for row in self.table.to_dict("records"):
            low = row["low"]
            high = row["high"]
            rank = str(row["rank"])
            cells[row["name"], row["measure"]] = Cell(rank, after=f"[{low}, {high}]")
        return cells


def _consensus_cell(value: float, low: float, high: float) -> Cell:
    """Return the cell of a consensus value and its interval, with one decimal."""
    return Cell(f"{value:.1f}", after=f"[{low:.1f}, {high:.1f}]")


def ranks(
    perquery: Any,
    measures: Sequence[ir_measures.Measure | str]
    | Mapping[str, ir_measures.Measure | str]
    | None = None,
    *,
    alpha: float = 0.05,
    ci: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
    cluster: ClusterSpec = None,
) -> Ranks:
    """Rank runs by each of several measures, with intervals, and by their consensus.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return. Lower-is-better measures are recognised by the
        record of `pt_multiaspect.evaluate`, or by their labels.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        Measures of the frame, such as the aspects, or criteria of answers; all by default. A
        mapping ``{alias: measure}`` says which measures the names refer to, or whether 'higher' or
        'lower' is better.
    alpha : float in (0, 1), default 0.05
        The error level of the intervals of ranks.
    ci : float in (0, 1), default 0.95
        Confidence level of the bootstrap percentile intervals of the consensus. Topics are
        resampled.
    n_resamples : int, default 1000
        Number of bootstrap samples.
    seed : int, default 0
        Random seed. The same seed gives the same result, regardless of the order of rows.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`.
        Then clusters are resampled.

    Returns
    -------
    Ranks
        ``table`` has one row per measure and run, ``consensus`` one per run.

    Raises
    ------
    MultiAspectError
        If a measure is not in the frame, there are fewer than two runs or topics, systems have
        different topics, a value is missing or not finite, or a parameter is out of range. With
        `cluster`, if a topic has no cluster or several, or all topics are in one.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is
        assumed to be better. If clusters leave fewer than 5 degrees of freedom, or are fewer than
        30, too few for the percentile intervals; if none are given, but query ids look like those
        of groups (``106_1``, ``106_2``).

    Notes
    -----
    Of n runs, the interval of a rank is from 1 + the number of runs that are significantly better
    to n − the number of runs that are significantly worse, by paired t-tests at the level alpha /
    (n − 1). In simulations it contains the true rank of a run in .998 of all cases, and in .979 if
    runs are nearly equal; the bootstrap of ranks contains it in .72 for the first and last of ten
    runs that are nearly equal, so that it is not used.

    The interval of the consensus is such a bootstrap: it describes how much the consensus depends
    on the topics, and covers the consensus over all topics only if runs differ clearly. In
    simulations of ten runs, three measures and 50 topics, 95 % intervals contained Borda's value in
    .98 of all cases for clearly different runs, .94 for different and .60 for nearly equal ones
    (.16 for the first and last of these); Copeland's in 1.00, .99 and .87.

    Measures count equally in the consensus: near copies of a measure count several times.

    Stability: provisional. Other consensus methods may follow.

    References
    ----------
    Dwork, Kumar, Naor, Sivakumar: Rank Aggregation Methods for the Web. WWW 2001.
    Mogstad, Romano, Shaikh, Wilhelm: Inference for Ranks with Applications to Mobility across
    Neighbourhoods and Academic Achievement across Countries. Review of Economic Studies 91 (2024).

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> scores = {"a": [0.9, 0.7, 0.8], "b": [0.5, 0.6, 0.4], "c": [0.5, 0.4, 0.6]}
    >>> rows = [
    ...     (name, f"q{topic}", measure, value if measure == "AP" else value**2)
    ...     for name, values in scores.items()
    ...     for topic, value in enumerate(values)
    ...     for measure in ("AP", "nDCG")
    ... ]
    >>> perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    >>> result = ma.analysis.ranks(perquery)
    >>> result.table[result.table["measure"] == "AP"][["name", "rank", "low", "high"]]
      name  rank  low  high
    0    a     1    1     3
    1    b     2    1     3
    2    c     2    1     3
    >>> result.consensus[["name", "borda", "copeland"]]
      name  borda  copeland
    0    a    1.0       2.0
    1    b    2.5      -1.0
    2    c    2.5      -1.0
    """
    alpha = proportion("alpha")(alpha)
    ci = proportion("ci")(ci)
    n_resamples = count("n_resamples")(n_resamples)
    seed = random_seed(seed)
    frame = read_long_frame(perquery)
    cluster_of_topic = read_clusters(cluster, frame)
    read = read_oriented(frame, measures, "ranks")
    clusters = check_clusters(clusters_of_topics(cluster_of_topic, read.qids))
    check_drawn_clusters(clusters)

    values = read.values  # (n_runs, n_topics, n_measures)
    means = mean_over_topics(values)
    pairs = _all_pairs(read.names)
    low, high = _rank_intervals(values, pairs, alpha, clusters)
    statistics = {
        "mean": means * read.signs,  # as given: lower may be better
        "rank": _ranks_of_means(means, values),
        "low": low,
        "high": high,
    }
    consensus = _consensus(values, means, clusters, ci, n_resamples, seed)

    topics = ""
    if not clusters.are_single_topics:
        topics = f", {topics_in_words(clusters)}"
    runs_in_order = list(frame["name"].unique())
    return Ranks(
        table=_ranks_frame(read, statistics, runs_in_order),
        consensus=_consensus_frame(read.names, consensus, runs_in_order),
        alpha=alpha,
        ci=ci,
        _topics=topics,
        _clusters=clusters_note(values, pairs, clusters),
    )


def _ranks_frame(
    read: OrientedValues, statistics: Mapping[str, npt.NDArray[Any]], runs_in_order: list[Any]
) -> pd.DataFrame:
    """Return one row per measure and run, with the statistics, shape (n_runs, n_measures)."""
    rows = [read.names.index(name) for name in runs_in_order]
    tables = []
    for column, label in enumerate(read.labels):
        table = pd.DataFrame({"measure": label, "name": runs_in_order})
        for name, statistic in statistics.items():
            table[name] = statistic[rows, column]
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _consensus_frame(
    names: list[Any], consensus: Mapping[str, Floats], runs_in_order: list[Any]
) -> pd.DataFrame:
    """Return one row per run, with its values of the consensus, given in the order of `names`."""
    rows = [names.index(name) for name in runs_in_order]
    table = pd.DataFrame({"name": runs_in_order})
    for column, value_of_runs in consensus.items():
        table[column] = value_of_runs[rows]
    return table


def _all_pairs(names: list[Any]) -> Pairs:
    """Return all pairs of runs, each once."""
    first, second = np.triu_indices(len(names), 1)
    return Pairs(names, first, second)


def _ranks_of_means(means: Floats, values: Floats) -> Ints:
    """Return the rank of each run by its mean, from 1, shape (n_runs, n_measures).

    Runs whose means differ by rounding errors only, relative to `values`, share the best rank.
    """
    signs = signs_of_means(means, values)  # of run minus other run, (n_runs, n_runs, n_measures)
    n_better_runs = (signs < 0).sum(axis=1)
    return np.asarray(1 + n_better_runs)


def _rank_intervals(
    values: Floats, pairs: Pairs, alpha: float, clusters: Clusters
) -> tuple[Ints, Ints]:
    """Return the first and last rank of each run that tests do not exclude.

    Parameters
    ----------
    values : ndarray of float, shape (n_runs, n_topics, n_measures)
        The per-topic values.
    pairs : Pairs
        All pairs of runs, each once.
    alpha : float
        The error level of an interval.
    clusters : Clusters
        The clusters of the topics.

    Returns
    -------
    first, last : ndarray of int, shape (n_runs, n_measures)
    """
    n_runs, _, n_measures = values.shape
    uncorrected = corrector("t", None)
    p = t_test_levels(values, pairs, uncorrected, clusters)
    # Each run is compared with n - 1 others: Bonferroni's correction.
    is_significant = p < alpha / (n_runs - 1)
    difference = mean_differences(values, pairs)
    is_positive = difference > 0
    is_negative = difference < 0
    is_first_better = is_significant & is_positive
    is_first_worse = is_significant & is_negative

    # Whether a run (row) is significantly better than another (column).
    is_better = np.zeros((n_runs, n_runs, n_measures), dtype=np.bool_)
    is_better[pairs.first, pairs.second] = is_first_better
    is_better[pairs.second, pairs.first] = is_first_worse
    n_worse_runs = is_better.sum(axis=1)  # in the row of a run
    n_better_runs = is_better.sum(axis=0)  # in its column
    return 1 + n_better_runs, n_runs - n_worse_runs


def _consensus(
    values: Floats, means: Floats, clusters: Clusters, ci: float, n_resamples: int, seed: int
) -> dict[str, Floats]:
    """Return Borda's and Copeland's value of each run, with bootstrap intervals.

    Parameters
    ----------
    values : ndarray of float, shape (n_runs, n_topics, n_measures)
        The per-topic values.
    means : ndarray of float, shape (n_runs, n_measures)
        Their means.
    clusters, ci, n_resamples, seed
        The clusters of the topics, and the parameters of `ranks`.

    Returns
    -------
    dict of str to ndarray of float, shape (n_runs,)
    """
    n_runs, _, n_measures = values.shape
    signs = signs_of_means(means, values)
    borda = _borda(signs)
    copeland = _copeland(signs)

    rng = np.random.default_rng(seed)
    weights = resample_weights(clusters, n_resamples, rng)  # topics × resamples
    sampled_borda = np.empty((n_resamples, n_runs))
    sampled_copeland = np.empty((n_resamples, n_runs))
    # The signs of all samples together would need too much memory.
    for part in slices(n_resamples, n_runs * n_runs * n_measures):
        # The weighted sums over topics t, by resample r, run s and measure m.
        sampled_means = np.einsum("stm,tr->rsm", values, weights[:, part], optimize=True)
        sampled_signs = signs_of_means(sampled_means, values)
        sampled_borda[part] = _borda(sampled_signs)
        sampled_copeland[part] = _copeland(sampled_signs)
    borda_low, borda_high = percentile_interval(sampled_borda, ci, borda)
    copeland_low, copeland_high = percentile_interval(sampled_copeland, ci, copeland)
    return {
        "borda": borda,
        "borda_low": borda_low,
        "borda_high": borda_high,
        "copeland": copeland,
        "copeland_low": copeland_low,
        "copeland_high": copeland_high,
    }


def _borda(signs: Floats) -> Floats:
    """Return Borda's value of each run, its mean rank over the measures, shape (…, n_runs).

    `signs` are … × runs × other runs × measures: 1 where a run is better than another one, -1 where
    it is worse, 0 where they tie.
    """
    n_runs = signs.shape[-2]
    wins_minus_losses = signs.sum(axis=-2)  # … × runs × measures
    mean_surplus = wins_minus_losses.mean(axis=-1)
    # A run with as many wins as losses has the middle rank. One rank up is a win more and a loss
    # less, so that their difference grows by 2.
    middle_rank = (n_runs + 1) / 2
    return np.asarray(middle_rank - mean_surplus / 2)


def _copeland(signs: Floats) -> Floats:
    """Return Copeland's value of each run, its wins minus its losses, shape (…, n_runs).

    A win is to be better than another run by more measures than not. `signs` are those of `_borda`.
    """
    majorities = np.sign(signs.sum(axis=-1))  # … × runs × other runs
    return np.asarray(majorities.sum(axis=-1))
