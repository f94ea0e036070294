"""Explanations of the value of one topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from .._cached import cached_property
from ..views import Block, View
from .comparison import Comparison
from .explained_topic import ExplainedTopic
from .view import blocks


class Explanation(ExplainedTopic, View):
    """The value of a measure for one topic of a run, as a sum over ranks.

    Returned by ``measure.explain(run, qrels, qid)`` and by `pt_multiaspect.explain`. It prints as text of at most
    80 columns and is shown as HTML in notebooks.

    Parameters
    ----------
    best : callable
        Returns the explanation of a best ranking of all judged documents, or None if no best ranking is known.
    **values
        The attributes below, and the labels and scales of the documents.

    Attributes
    ----------
    measure : Measure
        The measure.
    label : str
        The measure as it was given.
    qid : str
        The topic.
    run : str
        The name of the run.
    value : float
        The value of the measure, as in `pt_multiaspect.evaluate`.
    offset : float
        The part of the value that does not depend on the retrieved documents. ``value`` is ``offset`` plus the
        sum of the contributions.
    ranks : DataFrame
        One row per retrieved document: ``rank docno``, the label on each aspect (NaN if unjudged), quantities
        computed from the labels (such as TOMA's ``class`` and ``distance``), ``gain``, ``discount``, the
        part of each aspect for measures that combine several values, ``contribution``, ``running`` (the offset
        and the contributions down to this rank), ``how`` and ``note``. Contributions that belong to no single
        rank have rows without a rank, described by ``note``.
    aspects : DataFrame
        ``aspect value weight part``: the value of the base on each aspect, its weight, and its part in the
        value of the measure. One row for measures that combine the labels of each document. The part is NaN if
        it is unknown.
    swaps : DataFrame or None
        For NLRE and NGRE, the adjacent documents in the wrong order: ``rank docno next_docno``, the error on each
        aspect, and ``cost``, the amount by which the value would be higher without this error; highest cost first.
    notes : list of str
        Remarks for reading the explanation.
    judged : DataFrame
        The labels of all judged documents of the topic, by docno, with one column per aspect.
    scales : dict of str to Aspect
        The declared or inferred scales, by the columns of `judged`.
    grade_positions : DataFrame
        The positions of the labels on their scales, from 0 for the lowest to 1 for the highest grade. One row per
        retrieved document and one column per aspect; NaN where a document is unjudged.
    retrieved : list of str
        All retrieved documents, in the order of their ranks.

    Notes
    -----
    - ``how`` is ``'stated'`` if contributions follow from the definition of the measure, such as gain × discount
      / norm for nDCG. It is ``'marginal'`` if they are differences between the values of the first k and the
      first k - 1 ranks. Then each of the first `depth` ranks has a row, and the others have one row together.
    - The gain is that of the base. For a measure that combines several linear values with equal discounts, it
      is the weighted sum of the normalised gains, so that gain × discount is the contribution.
    - CAM is a weighted sum of the values of its aspects. MM, WHAM and GAM are not: the part of an aspect is its
      value times the derivative of the mean; these parts sum to the mean (Euler's theorem). With equal weights, the
      *weaker* aspect has the larger part in MM, as the value depends most on it.

    Examples
    --------
    >>> from pt_multiaspect import MM
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> measure = MM(base="AP", aspects={"relevance": 1, "credibility": 1})
    >>> explanation = measure.explain({"q1": {"d1": 2.0, "d2": 1.0}}, qrels, "q1")
    >>> explanation
    <Explanation: MM(base='AP',aspects={'relevance': 1, 'credibility': 1}) is 0.6667 for topic q1>
    >>> explanation.aspects.round(3)
            aspect  value  weight   part
    0    relevance    1.0     0.5  0.222
    1  credibility    0.5     0.5  0.444
    """

    def __init__(self, best: Callable[[], Explanation | None], **values: Any) -> None:
        super().__init__(**values)
        self._best = best

    @cached_property
    def ideal(self) -> Explanation | None:
        """The explanation of a best ranking of all judged documents; None if no best ranking is known."""
        return self._best()

    @cached_property
    def shortfall(self) -> pd.DataFrame | None:
        """The shortfall of each rank from a best ranking; None if no best ranking is known.

        Columns ``rank docno contribution ideal_docno ideal_contribution shortfall note``. The shortfalls sum to the
        value of the best ranking minus this value.
        """
        if self.ideal is None:
            return None
        pairs = Comparison(self.ideal, self).ranks
        names = {"docno_b": "docno", "contribution_b": "contribution", "docno_a": "ideal_docno"}
        names |= {"contribution_a": "ideal_contribution", "difference": "shortfall"}
        return pairs.rename(columns=names)[["rank", *names.values(), "note"]]

    def compare(self, other: Explanation) -> Comparison:
        """Compare with the explanation of another run for the same topic.

        Parameters
        ----------
        other : Explanation
            An explanation of the same measure, topic and qrels.

        Returns
        -------
        Comparison
            The contributions of both runs, paired by document; the differences sum to the value of this run minus
            that of the other.

        Raises
        ------
        MultiAspectError
            If the measures, the topics, the labels of judged documents or the inferred scales differ.

        Examples
        --------
        >>> from pt_multiaspect import TOMA
        >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
        >>> measure = TOMA(aspects={"relevance": 1, "credibility": 1})
        >>> a = measure.explain({"a": {"q1": {"d2": 2.0, "d1": 1.0}}}, qrels, "q1")
        >>> b = measure.explain({"b": {"q1": {"d1": 2.0, "d2": 1.0}}}, qrels, "q1")
        >>> print(a.compare(b))
        TOMA(aspects={'relevance': 1, 'credibility': 1})
        ------------------------------------------------
        topic q1: a 1.0000, b 0.8597, a - b 0.1403
        <BLANKLINE>
        docno  rank in a  rank in b  contribution in a  contribution in b    a - b
        d2             1          2             0.7602             0.4796   0.2806
        d1             2          1             0.2398             0.3801  −0.1403
        """
        return Comparison(self, other)

    def _blocks(self) -> list[Block]:
        return blocks(self, self.ideal, self.shortfall)

    def _title(self) -> str:
        return f"{self.label}, topic {self.qid}"

    def __repr__(self) -> str:
        return f"<Explanation: {self.label} is {self.value:.4f} for topic {self.qid}>"
