"""The values of the rankings that Maistro et al. consider ideal."""

from __future__ import annotations

import numpy as np
import pandas as pd
from ir_measures import Measure

from .rankings import evaluate_at, ideal_rankings, read_measure, sorted_judgments


def ideal_values(qrels: object, measure: Measure | str) -> pd.DataFrame:
    """Evaluate the rankings that Maistro et al. consider ideal.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, with one numeric column per aspect.
    measure : measure or str
        A measure of this package, with at most six aspects. ir-measures measures evaluate relevance.

    Returns
    -------
    DataFrame
        Columns ``qid strategy value``. For each judged query, there is one row for each order of
        preference of the aspects, such as ``relevance > credibility``, and one row each for 'sum',
        'squares' and 'max' (see `upper_bound`).

    Raises
    ------
    MultiAspectError
        If there are more than six aspects.

    References
    ----------
    Maistro et al., CIKM 2021, §4.2 and Fig. 2.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels = {"d1": (1, 2), "d2": (3, 1), "d3": (3, 0)}
    >>> qrels = {"q1": {d: {"relevance": r, "correctness": c} for d, (r, c) in labels.items()}}
    >>> measure = ma.CAM(base="nDCG", aspects={"relevance": 3, "correctness": 2})
    >>> ma.analysis.ideal_values(qrels, measure).round(4)
      qid                 strategy   value
    0       q1  relevance > correctness  0.8801
    1       q1  correctness > relevance  0.9073
    2       q1                      sum  0.8801
    3       q1                  squares  0.8801
    4       q1                      max  0.8801
    """
    judgments, checked = sorted_judgments(qrels), read_measure(measure)
    rankings = ideal_rankings(checked, judgments)
    values = np.stack([evaluate_at(checked, judgments, rank) for _, rank in rankings])
    return pd.DataFrame(
        {
            "qid": np.repeat(judgments.qids, len(rankings)),
            "strategy": [name for name, _ in rankings] * judgments.n_queries,
            "value": values.T.ravel(),
        }
    )
