"""On how many topics the value 1 can be attained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from ir_measures import Measure

from ...collection.judgments import Judgments
from ...errors import MultiAspectError
from ...integration import parsing
from .upper_bound import TOLERANCE, upper_bound

__all__ = ["attainable"]


def attainable(
    qrels: object,
    measures: Measure | str | Sequence[Measure | str] | Mapping[str, Measure | str],
    *,
    width: int = 1000,
    rounds: int = 20,
) -> pd.DataFrame:
    """Tell for which share of the topics some ranking scores 1.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, a numeric column per aspect.
    measures : measure, str, sequence of these or mapping
        As of `upper_bound`; a mapping is ``{label: measure}``.
    width, rounds : int
        As of `upper_bound`.

    Returns
    -------
    DataFrame
        A row per measure: ``measure``; ``n_queries``, how many are judged; the fractions of them in [0, 1]
        on which 1 is ``attainable``, ``unattainable``, and ``undecided`` as the search left a gap; and
        ``minimum``, the smallest of the best values found.

    Raises
    ------
    MultiAspectError
        If the qrels have no query, no measure is given, or `upper_bound` raises it.

    Notes
    -----
    A topic without a positive label on some aspect counts like any other: its best CAM is below 1 and
    its best MM 0, unless ``empty='drop'``.

    References
    ----------
    Maistro et al., CIKM 2021, §4.2.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {
    ...     "q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 0, "credibility": 1}},
    ...     "q2": {"d1": {"relevance": 1, "credibility": 1}},
    ... }
    >>> aspects = {"relevance": 1, "credibility": 1}
    >>> shares = ma.analysis.attainable(qrels, [ma.CAM(aspects=aspects), "nDCG"])
    >>> shares[["n_queries", "attainable", "unattainable", "undecided", "minimum"]].round(3)
       n_queries  attainable  unattainable  undecided  minimum
    0          2         0.5           0.5        0.0    0.815
    1          2         1.0           0.0        0.0    1.000
    """
    judgments = Judgments.of(qrels)
    if not judgments.n_queries:
        raise MultiAspectError("the qrels have no query")
    rows = []
    for label, measure in parsing.parse_all(measures).items():
        best = upper_bound(judgments, measure, width=width, rounds=rounds)
        reached, possible = best["value"] >= 1 - TOLERANCE, best["bound"] >= 1 - TOLERANCE
        rows.append(
            {
                "measure": label,
                "n_queries": len(best),
                "attainable": reached.mean(),
                "unattainable": (~possible).mean(),
                "undecided": (possible & ~reached).mean(),
                "minimum": best["value"].min(),
            }
        )
    return pd.DataFrame(rows)
