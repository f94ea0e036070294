"""The Pareto front of the values that rankings of the judged documents attain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ir_measures
import numpy as np

from ..._validation import choice, count
from ...errors import MultiAspectError, refuse_taken
from ..upper_bounds.rankings import judgments_of
from .enumeration import all_points
from .hull import Hull
from .linear import linear_topics
from .points import Points
from .reading import measures_of
from .result import RESERVED, AttainableFront, Line
from .supported import supported_points

#: Default of `limit` by kind.
_LIMITS = {"supported": 300, "all": 50_000}


def attainable_front(
    qrels: object,
    measures: (
        ir_measures.Measure | str | Sequence[ir_measures.Measure | str] | Mapping[str, ir_measures.Measure | str]
    ),
    *,
    aspects: object = None,
    kind: str = "supported",
    limit: int | None = None,
) -> AttainableFront:
    """Compute the best combinations of values of two or three measures that rankings attain.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, with one numeric column per aspect.
    measures : measure, str, sequence of these or mapping
        Two or three measures; a mapping is ``{label: measure}``. Or one single-aspect measure, such as
        ``"nDCG@10"``, to be evaluated on each of the `aspects`; the aspects are the labels then.
    aspects : Aspects, mapping, str or sequence of str, optional
        Two or three aspects for a single measure. With several measures, the scales of those that declare none.
    kind : {'supported', 'all'}, default 'supported'
        ``'supported'``: the corners of the hull of the values that mixtures of rankings attain, which are best
        for some weighted mean of the measures. ``'all'``: all values that no other ranking dominates, for small
        topics.
    limit : int, optional
        For ``'supported'``, except for two measures with equal discounts: the number of points per topic, 300 by
        default, at which refinement of the hull stops; `gap` bounds the error. For ``'all'``: the
        maximum number of (partial) rankings per topic, 50 000 by default.

    Returns
    -------
    AttainableFront
        With the data frames `points`, per topic, and `mean`, and the methods `systems` and `reference`.

    Raises
    ------
    MultiAspectError
        If there are fewer than two or more than three measures, a measure is not a weighted sum of sums over
        ranks (``'supported'``), or a topic has more rankings than `limit` (``'all'``).

    Notes
    -----
    The attainable values are those of the rankings of all judged documents of a topic. For measures that never
    decrease if documents are appended (nDCG, AP, TOMA, MM), no run exceeds them. For measures that unjudged or
    missing documents can improve, such as AWRF or ESL, runs can; `AttainableFront.systems` warns about this.

    ``'supported'`` requires weighted sums of bases that are sums over ranks: nDCG, DCG, RBP, P, R, CRP, and On,
    CAM, TOMA and others over these. With two measures of equal discounts, the order of documents by weighted gains
    changes only at the weights where two documents' gains are equal; one ranking between each two neighbouring
    weights gives all corners exactly. Otherwise (also for two measures and thousands of distinct documents), the
    hull is refined until no weighted sum gains anything, or it has `limit` points. `gap` is the maximum by which
    a weighted mean, with weights that sum to 1, exceeds that of the points; 0 if they are exact. Most
    non-dominated rankings are not supported: of those of four to seven documents, 19 to 77 % are below the hull,
    by up to .16.

    ``'all'`` finds every point: by dynamic programming with bounds for measures that are computed rank by rank
    (those of `upper_bound`), otherwise by evaluating every ranking of distinct documents. `gap` is 0 for topics.

    The *front of means* is the front of the means over topics, with a separate ranking for each topic: the
    attainable means are the Minkowski average of the topics' attainable values. Its supported points are the
    means of the topics' supported points at the same weights. For ``'all'``, every point of each topic is
    combined with every point of the others; if there are 10 000 non-dominated means or more (2000 for three
    measures), one of nearly equal ones is kept, and `gap` is the maximum by which the others are higher in some
    measure. As in means of systems, topics without a relevant document are included, with the value 0.

    Stability: provisional. New, without a published method to follow.

    References
    ----------
    Rampisela, Ruotsalo, Maistro, Lioma: Joint Evaluation of Fairness and Relevance in Recommender Systems with
    Pareto Frontier. WWW 2025. The distance there is ``dpfr`` of the mean, with ``kind='all'``. The published
    program cannot return the first point of the front as reference; this one can.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels = {"d1": (2, 0), "d2": (0, 2), "d3": (1, 1), "d4": (2, 1), "d5": (0, 0)}
    >>> qrels = {"q1": {d: {"relevance": r, "credibility": c} for d, (r, c) in labels.items()}}
    >>> front = ma.analysis.attainable_front(qrels, "nDCG", aspects={"relevance": 2, "credibility": 2})
    >>> front.points.round(3)
      qid  relevance  credibility  gap
    0  q1      1.000        0.754  0.0
    1  q1      0.894        0.882  0.0
    2  q1      0.697        1.000  0.0
    >>> run = {"q1": {"d1": 5.0, "d5": 4.0, "d2": 3.0, "d3": 2.0, "d4": 1.0}}
    >>> systems = front.systems({"mine": run})
    >>> systems[["name", "relevance", "credibility", "dpfr", "nearest", "relevance room"]].round(3)
       name  relevance  credibility   dpfr  nearest  relevance room
    0  mine      0.852        0.581  0.318    0.228           0.148
    >>> every = ma.analysis.attainable_front(qrels, "nDCG", aspects="relevance,credibility", kind="all")
    >>> every.points.head(3).round(3)
      qid  relevance  credibility  supported  gap
    0  q1      1.000        0.754       True  0.0
    1  q1      0.982        0.776      False  0.0
    2  q1      0.965        0.796      False  0.0
    """
    choice("kind", *_LIMITS)(kind)
    most = _LIMITS[kind] if limit is None else count("limit")(limit)
    judgments, labelled = judgments_of(qrels), measures_of(measures, aspects)
    if not judgments.n_queries:
        raise MultiAspectError("expected qrels with at least one query, got none")
    for measure in labelled.values():
        for term in measure.terms(judgments):
            term.check_gains(f"the front of {measure}")
    refuse_taken(labelled, {*RESERVED, *(f"{label} room" for label in labelled)}, "a column of the result")
    lines = []
    if kind == "supported":
        for topic in linear_topics(labelled, judgments):
            points, gap = supported_points(topic, most)
            lines.append(Line(Hull.of(points), gap))
    else:
        signs = np.array([-1.0 if measure.lower_is_better else 1.0 for measure in labelled.values()])
        topics = all_points(list(labelled.values()), signs, judgments, most)
        lines = [Line(Points(points), 0.0) for points in topics]
    return AttainableFront(kind, labelled, judgments, lines, most)
