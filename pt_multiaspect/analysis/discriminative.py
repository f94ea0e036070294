"""Discriminative power of measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._validation import proportion
from ..collection.frames import as_pandas
from ..views import Block, Heading, Sentence, View, percent, records_table
from ._frames import matrix
from ._significance import corrector, paired_test


@dataclass(frozen=True, repr=False)
class DiscriminativePower(View):
    """Result of `discriminative_power`.

    It prints as text of at most 80 columns and is shown as HTML in notebooks.

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

    def _title(self) -> str:
        return "Discriminative power"

    def _blocks(self) -> list[Block]:
        correction = f", correction={self.correction!r}" if self.correction else ""
        settings = f"test={self.test!r}, alpha={self.alpha:g}{correction}"
        cells: dict[str, Any] = {
            "power": lambda row: percent(row["power"]),
            "pairs": lambda row: f"{row['n_discriminated']} of {row['n_pairs']}",
            "required difference": "required_difference",
        }
        return [
            Heading(self._title()),
            Sentence(f"Pairs of systems that differ significantly: {settings}."),
            records_table(self.table, ["measure"], cells),
            Sentence(
                "The required difference of means is in the units of the measure. It is found with probability one "
                "half: see detectable_difference."
            ),
        ]


def discriminative_power(
    perquery: Any,
    test: str = "bootstrap",
    *,
    n_resamples: int = 10_000,
    alpha: float = 0.05,
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
    alpha : float in (0, 1), default 0.05
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
        If `correction` is neither 'bonferroni' nor 'holm' and statsmodels is not installed.

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
    maximum over all pairs. Corrections do not affect it. It is found with probability one half; for the
    difference found with probability .8, see `detectable_difference`. It is in the units of the measure: compare
    it only between measures with similar ranges.

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
    0      AP  0.6667                2        3               0.1039
    >>> power.curve().round(4)
      measure  rank  a  b     asl
    0      AP     1  a  b  1.0000
    1      AP     2  a  c  0.0001
    2      AP     3  b  c  0.0000
    """
    alpha = proportion("alpha")(alpha)
    correct = corrector(test, correction, alpha)
    perquery = as_pandas(perquery)
    values, names, _, measures = matrix(perquery)
    levels = paired_test(values, test, n_resamples=n_resamples, alpha=alpha, seed=seed)
    first, second = np.triu_indices(len(names), 1)
    system = np.array(names, dtype=object)
    parts, table = [], []
    for index, measure in enumerate(measures):
        differences, level, needed = levels(index, first, second)
        p = correct(level)
        part = pd.DataFrame({"measure": measure, "a": system[first], "b": system[second]})
        part["difference"], part["asl"], part["p"] = differences.mean(axis=1), level, p
        part["discriminated"] = p < alpha
        n_discriminated = int(part["discriminated"].sum())
        parts.append(part)
        table.append((measure, n_discriminated / len(first), n_discriminated, len(first), needed))
    summary = pd.DataFrame(table, columns=["measure", "power", "n_discriminated", "n_pairs", "required_difference"])
    return DiscriminativePower(
        table=summary.sort_values("power", ascending=False, kind="stable", ignore_index=True),
        pairs=pd.concat(parts, ignore_index=True),
        alpha=alpha,
        test=test,
        correction=correction,
    )
