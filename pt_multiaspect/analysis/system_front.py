"""The Pareto front of systems on several measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from .._validation import count, random_seed
from ..collection.frames import as_pandas
from ..errors import refuse_single, refuse_taken
from ..kernels.pareto import is_on_front, names_of_dominating
from ._frames import directions, matrix, select_measures

#: Columns of the result that are not measures.
_COLUMNS = ("name", "on_front", "probability", "dominated_by")

#: Maximum number of means (samples × systems × measures) that are computed at once.
_MOST_MEANS = 1_000_000


def system_front(
    perquery: Any,
    measures: Sequence[ir_measures.Measure | str] | Mapping[str, ir_measures.Measure | str] | None = None,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compute which systems are on the Pareto front of several measures, and with what probability.

    A system is dominated if another has a mean at least as good on all measures, and a better one on at least one.
    Means that differ by rounding errors are equal.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and ``pt.Experiment(perquery=True)``
        return. Lower-is-better measures, such as ESL, are recognised by the record of `pt_multiaspect.evaluate`,
        or by their labels.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        Two or more measures of the frame; all by default. A mapping ``{label: measure}`` says which measures the
        labels refer to, for frames without the record, such as those read from files. For values that are not those
        of a measure, give 'higher' or 'lower', whichever is better.
    n_resamples : int, default 1000
        Number of bootstrap samples of the topics.
    seed : int, default 0
        Seed of the bootstrap. The same seed gives the same result, regardless of the order of rows.

    Returns
    -------
    DataFrame
        One row per system, in the order of the frame, with the columns ``name``; the mean of each measure over
        topics; ``on_front``; ``probability``: the fraction of the bootstrap samples of topics in which the
        system is on the front; and ``dominated_by``: the names of the systems that dominate it.

    Raises
    ------
    MultiAspectError
        If a measure is not in the frame, there are fewer than two measures, systems or topics, a value is missing
        or not finite, or values of a lower-is-better measure have been negated.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is assumed to be better.

    Notes
    -----
    Topics are resampled for all systems together, so that a system that is slightly but always worse than
    another has probability 0. A probability near 1 does not mean that a system is the best: each system that is
    best on one measure is on the front. Means are arithmetic means of the values; for GMAP, whose values are ln AP,
    these are in the order of GMAP.

    Stability: provisional. New, without a published method to follow.

    References
    ----------
    Efron, Tibshirani: An Introduction to the Bootstrap. Chapman & Hall 1993.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> scores = {"a": [(0.9, 0.1), (0.7, 0.3)], "b": [(0.4, 0.8), (0.6, 0.6)], "c": [(0.5, 0.1), (0.8, 0.2)]}
    >>> rows = [
    ...     (name, f"q{topic}", measure, value)
    ...     for name, topics in scores.items()
    ...     for topic, values in enumerate(topics)
    ...     for measure, value in zip(("AP", "nDCG"), values)
    ... ]
    >>> ma.analysis.system_front(pd.DataFrame(rows, columns=["name", "qid", "measure", "value"]), seed=1)
      name    AP  nDCG  on_front  probability dominated_by
    0    a  0.80  0.20      True        1.000           ()
    1    b  0.50  0.70      True        1.000           ()
    2    c  0.65  0.15     False        0.239         (a,)
    """
    n_resamples, seed = count("n_resamples")(n_resamples), random_seed(seed)
    perquery = as_pandas(perquery)
    rows, by_label = select_measures(perquery, measures)
    values, names, _, labels = matrix(rows)
    refuse_single(labels, "measures")
    refuse_taken(map(str, labels), _COLUMNS, "a column of the result")
    signs = directions(rows, values, labels, by_label, "system_front")
    means = values.mean(axis=1)
    table = pd.DataFrame({"name": names})
    for column, label in enumerate(labels):
        table[str(label)] = means[:, column]
    scores = means * signs
    table["on_front"] = is_on_front(scores)
    table["probability"] = _probability(values * signs, n_resamples, seed)
    table["dominated_by"] = pd.Series(names_of_dominating(scores, names), dtype=object)
    row = {name: index for index, name in enumerate(names)}
    return table.iloc[[row[name] for name in perquery["name"].unique()]].reset_index(drop=True)


def _probability(values: Floats, n_resamples: int, seed: int) -> Floats:
    """Return the fraction of samples of topics in which each system is on the front."""
    n_systems, n_topics, n_measures = values.shape
    rng = np.random.default_rng(seed)
    by_topic = values.transpose(1, 0, 2).reshape(n_topics, -1)
    times = np.zeros(n_systems)
    at_once = max(1, _MOST_MEANS // by_topic.shape[1])
    for start in range(0, n_resamples, at_once):
        some = min(at_once, n_resamples - start)
        drawn = rng.multinomial(n_topics, np.full(n_topics, 1 / n_topics), size=some)
        means = (drawn @ by_topic / n_topics).reshape(some, n_systems, n_measures)
        times += is_on_front(means).sum(axis=0)
    return times / n_resamples
