"""Agreement of measures with simple ones: the concordance test, and unanimity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from ..collection.frames import as_pandas
from ..errors import MultiAspectError, choices, refuse_none, refuse_repeated, refuse_unknown
from ._frames import read_oriented
from ._significance import remove_rounding_errors


def intuitiveness(
    perquery: Any,
    gold: str | Sequence[str],
    measures: Sequence[ir_measures.Measure | str] | Mapping[str, ir_measures.Measure | str] | None = None,
) -> pd.DataFrame:
    """Compute how often measures that disagree about two rankings agree with simple gold measures.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and ``pt.Experiment(perquery=True)``
        return. Lower-is-better measures, such as ESL, are recognised by the record of `pt_multiaspect.evaluate`,
        or by their labels.
    gold : str or sequence of str
        The labels of one or several simple measures of the frame, each of which represents a property that the
        measures should capture, such as the precision of an aspect.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        The measures to compare; all others of the frame by default. A mapping ``{label: measure}`` says which
        measures the labels refer to, or whether 'higher' or 'lower' is better, also of gold measures.

    Returns
    -------
    DataFrame
        One row per pair of measures, in the order of the frame: ``a`` and ``b``; ``n_disagreements``, the number of
        topics and pairs of systems about which they disagree; ``intuitiveness_a`` and ``intuitiveness_b``, the
        fraction of these in which the measure is concordant with all gold measures; NaN without disagreements.

    Raises
    ------
    MultiAspectError
        If a measure is not in the frame, there are fewer than two measures besides the gold measures, two systems
        or two topics, systems have different topics, or a value is missing or not finite.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is assumed to be better.

    Notes
    -----
    For a topic and two systems X and Y, let Δ_M be the value of X minus that of Y by measure M, negated if lower
    is better. Two measures disagree if Δ_a · Δ_b < 0, and a is concordant with the gold measure G if
    Δ_a · Δ_G ≥ 0. The intuitiveness of a relative to b is the number of disagreements in which a is concordant with
    every gold measure, divided by the number of disagreements.

    If the gold measure ties X and Y, both are concordant, so that the two fractions sum to at least 1 for one gold
    measure. Differences of at most 1e-12 of the maximum of a measure are ties. The cases share topics and systems:
    a test that assumes independent cases is too optimistic. A measure that is part of another, such as the base of
    CAM on one aspect, favours that measure as gold.

    Stability: provisional. The gold measures of several aspects are our choice, and more may follow.

    References
    ----------
    Sakai: Evaluation with Informational and Navigational Intents. WWW 2012.
    Sakai: How Intuitive Are Diversified Search Metrics? Concordance Test Results for the Diversity U-Measures.
    AIRS 2013.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> scores = {"AP": [0.9, 0.5, 0.4, 0.2], "RR": [0.5, 1.0, 0.25, 0.1], "P@5": [0.6, 0.4, 0.4, 0.2]}
    >>> rows = [
    ...     (f"run {n % 2}", f"q{n // 2}", measure, value)
    ...     for measure, values in scores.items()
    ...     for n, value in enumerate(values)
    ... ]
    >>> perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    >>> ma.analysis.intuitiveness(perquery, gold="P@5")
        a   b  n_disagreements  intuitiveness_a  intuitiveness_b
    0  AP  RR                1              1.0              0.0
    """
    values, labels, golden, compared = _read(perquery, gold, measures, "intuitiveness", least=2)
    disagreements, correct = np.zeros((2, len(compared), len(compared)))
    for signs in _signs(values):
        up, down = ((sign * signs[:, compared] > 0).astype(np.float64) for sign in (1, -1))
        gold_signs = signs[:, golden]
        disagreements += up.T @ down + down.T @ up
        # Measures that disagree have no ties themselves.
        correct += (up * np.all(gold_signs >= 0, axis=1, keepdims=True)).T @ down
        correct += (down * np.all(gold_signs <= 0, axis=1, keepdims=True)).T @ up
    with np.errstate(invalid="ignore"):
        fractions = correct / disagreements
    table = [
        (labels[compared[a]], labels[compared[b]], int(disagreements[a, b]), fractions[a, b], fractions[b, a])
        for a, b in combinations(range(len(compared)), 2)
    ]
    return pd.DataFrame(table, columns=["a", "b", "n_disagreements", "intuitiveness_a", "intuitiveness_b"])


def unanimity(
    perquery: Any,
    gold: Sequence[str],
    measures: Sequence[ir_measures.Measure | str] | Mapping[str, ir_measures.Measure | str] | None = None,
) -> pd.DataFrame:
    """Compute how often measures agree with simple gold measures that are unanimous about two rankings.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as for `intuitiveness`.
    gold : sequence of str
        The labels of at least two measures of the frame, such as those of single aspects.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        The measures to examine, such as those that combine the aspects; all others of the frame by default. A
        mapping ``{label: measure}`` says which measures the labels refer to, or whether 'higher' or 'lower' is
        better, also of gold measures.

    Returns
    -------
    DataFrame
        One row per measure, in the order of the frame: ``measure``; ``n_unanimous``, the number of topics and pairs
        of systems about which the gold measures are unanimous; ``premise``, the fraction of all topics and pairs
        that these are; ``agreement``, the fraction of these in which the measure prefers the same system; and
        ``ties``, the fraction in which it prefers none. NaN if the gold measures are never unanimous.

    Raises
    ------
    MultiAspectError
        In the cases of `intuitiveness`; one measure besides the gold measures is enough.

    Warns
    -----
    MultiAspectWarning
        If labels name no known measure and the frame has no record of them, so that higher is assumed to be better.

    Notes
    -----
    Gold measures are unanimous about a topic and two systems if one system is at least as good by all of them, and
    better by one. Differences of at most 1e-12 of the maximum of a measure are ties. CAM with positive weights and
    without a gate always agrees with the values that it averages. ``premise`` says how much of the data the
    agreement is about.

    This is not the unanimity of Albahem et al. (2019), who examine other properties of measures; values cannot be
    compared with theirs.

    Stability: provisional. New, without a published method to follow.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> scores = {
    ...     "P": {"a": [0.6, 0.2], "b": [0.4, 0.4]},
    ...     "RR": {"a": [0.5, 1.0], "b": [0.5, 0.1]},
    ...     "AP": {"a": [0.3, 0.4], "b": [0.5, 0.2]},
    ... }
    >>> rows = [
    ...     (name, f"q{topic}", measure, value)
    ...     for measure, systems in scores.items()
    ...     for name, values in systems.items()
    ...     for topic, value in enumerate(values)
    ... ]
    >>> perquery = pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
    >>> ma.analysis.unanimity(perquery, gold=["P", "RR"])
      measure  n_unanimous  premise  agreement  ties
    0      AP            1      0.5        0.0   0.0
    """
    values, labels, golden, compared = _read(perquery, gold, measures, "unanimity", least=1)
    if len(golden) < 2:
        raise MultiAspectError(f"gold: expected at least two measures of the frame, got only {labels[golden[0]]}")
    n_all = n_unanimous = 0
    agreements, ties = np.zeros((2, len(compared)))
    for signs in _signs(values):
        direction = np.sign(signs[:, golden].sum(axis=1))
        unanimous = (signs[:, golden] * direction[:, None] >= 0).all(axis=1) & (direction != 0)
        own = signs[unanimous][:, compared] * direction[unanimous, None]
        n_all, n_unanimous = n_all + len(signs), n_unanimous + len(own)
        agreements, ties = agreements + (own > 0).sum(axis=0), ties + (own == 0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        agreement, tied = agreements / n_unanimous, ties / n_unanimous
    return pd.DataFrame(
        {
            "measure": [labels[column] for column in compared],
            "n_unanimous": n_unanimous,
            "premise": n_unanimous / n_all,
            "agreement": agreement,
            "ties": tied,
        }
    )


def _read(
    perquery: Any, gold: str | Sequence[str], measures: object, function: str, least: int
) -> tuple[Floats, list[str], list[int], list[int]]:
    """Return the values, systems × topics × measures, their labels, and the columns of gold and other measures."""
    perquery = as_pandas(perquery)
    several = isinstance(gold, Iterable) and not isinstance(gold, str)
    golden = list(map(str, gold if several else [gold]))
    refuse_repeated(golden, "measures", "gold")
    refuse_none(golden, "measure of the frame", "gold")
    if isinstance(measures, Sequence) and not isinstance(measures, str):
        measures = [*measures, *(label for label in golden if label not in map(str, measures))]
    read = read_oriented(perquery, measures, function)
    labels = list(map(str, read.labels))
    refuse_unknown(golden, labels, "measures of the frame", "gold")
    compared = [column for column, label in enumerate(labels) if label not in golden]
    if len(compared) < least:
        others = choices(labels[column] for column in compared) or "none"
        wanted = "two measures" if least > 1 else "one measure"
        raise MultiAspectError(f"expected at least {wanted} besides {choices(golden)}, got {others}")
    return read.values, labels, [labels.index(label) for label in golden], compared


def _signs(values: Floats) -> Iterator[Floats]:
    """Yield the signs of the differences of systems, comparisons × measures; near 0, they are 0."""
    for system in range(1, len(values)):
        differences = (values[:system] - values[system]).reshape(-1, values.shape[2])
        yield np.sign(remove_rounding_errors(differences, values))
