"""The fraction of topics on which 1 is attainable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from ir_measures import Measure

from ...collection.judgments import Judgments
from ...errors import MultiAspectError
from ...integration import parsing
from .upper_bound import TOLERANCE, upper_bound


def attainable(
    qrels: object,
    measures: Measure | str | Sequence[Measure | str] | Mapping[str, Measure | str],
    *,
    width: int = 1000,
    rounds: int = 20,
) -> pd.DataFrame:
    """Compute the fraction of topics with a ranking of value 1.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, with one numeric column per aspect.
    measures : measure, str, sequence of these or mapping
        As in `upper_bound`; a mapping is ``{label: measure}``.
    width, rounds : int
        As in `upper_bound`.

    Returns
    -------
    DataFrame
        One row per measure, with columns ``measure``; ``n_queries``, the number of judged queries; the
        fractions of queries, in [0, 1], on which 1 is ``attainable``, ``unattainable`` or ``undecided``
        (the search left a gap); and ``minimum``, the minimum over queries of the best value found.

    Raises
    ------
    MultiAspectError
        If the qrels are empty, no measure is given, or `upper_bound` raises an error.

    Notes
    -----
    Topics without positive labels on some aspect are included: their maximum CAM is below 1 and their
    maximum MM is 0, unless ``empty='drop'``.

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
    >>> table = ma.analysis.attainable(qrels, [ma.CAM(aspects=aspects), "nDCG"])
    >>> table[["n_queries", "attainable", "unattainable", "undecided", "minimum"]].round(3)
       n_queries  attainable  unattainable  undecided  minimum
    0          2         0.5           0.5        0.0    0.815
    1          2         1.0           0.0        0.0    1.000
    """
    judgments = Judgments.of(qrels)
    if not judgments.n_queries:
        raise MultiAspectError("expected qrels with at least one query, got none")
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
