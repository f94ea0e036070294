"""Explanations: the function `explain` and its result."""

from __future__ import annotations

import ir_measures
import pandas as pd

from .._cached import cached_property
from .._validation import count
from ..aspects.aspect import Aspect
from ..bases.base import is_measure
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..errors import MultiAspectError, choices, shown, silence_warnings, warn_once
from ..evaluation import evaluate
from ..integration.parsing import as_measure, parse_one
from ..io.pipelines import select_topics
from ..io.runs import NamedRuns, join
from ..measures import Measure
from ..views import Block, View
from .comparison import Comparison
from .contributions import split_value, tolerance
from .frames import aspects_frame, label_columns, ranks_frame, scale_positions, swaps_frame, values_by_rank
from .notes import notes
from .topic import Topic
from .view import blocks, gain_name

_check_depth = count("depth")


def explain(
    measure: ir_measures.Measure | str,
    run: object,
    qrels: object,
    qid: object,
    *,
    topics: object = None,
    depth: int = 100,
    label: str | None = None,
) -> Explanation:
    """Explain the value of any measure for one topic, rank by rank.

    Parameters
    ----------
    measure : measure or str
        A measure of this package or of ir-measures, or the name of one. Measures of ir-measures evaluate
        relevance.
    run : DataFrame, dict, iterable of namedtuples, path or pipeline
        One run, as in `evaluate`; ``{name: run}`` names it.
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, with one numeric column per aspect.
    qid : str
        The topic.
    topics : DataFrame or dataset of PyTerrier, optional
        The topics that a pipeline runs on, as in `evaluate`.
    depth : int, default 100
        Number of ranks with a separate row if contributions are marginal; see `Explanation`.
    label : str, optional
        The title; by default, the measure as given.

    Returns
    -------
    Explanation
        The contribution of each retrieved document. The contributions and the offset sum to the value that
        `evaluate` returns.

    Raises
    ------
    MultiAspectError
        If the measure is unknown, the topic is not in the qrels, or the input is invalid.

    Warns
    -----
    MultiAspectWarning
        If the value of the topic in ir-measures is different, as it rounds nDCG(dcg='exp-log2')@k.

    See Also
    --------
    largest_differences : The topics on which two runs differ most.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> print(ma.explain("nDCG@10", {"bm25": {"q1": {"new": 3.0, "d2": 2.0, "d1": 1.0}}}, qrels, "q1"))
    nDCG@10
    -------
    topic q1, bm25: 0.6199
    <BLANKLINE>
    rank  docno  relevance  gain  discount  contribution  running
       1  new            -     0    1.0000        0.0000   0.0000  unjudged
       2  d2             1     1    0.6309        0.2398   0.2398
       3  d1             2     2    0.5000        0.3801   0.6199
    <BLANKLINE>
    A best ranking has 1.0000 (0.3801 more). Largest shortfalls by rank
    -------------------------------------------------------------------
    rank  docno  contribution  in a best ranking  contribution  shortfall
       1  new          0.0000  d1                       0.7602     0.7602
    <BLANKLINE>
    1 of the first 3 documents is unjudged.
    contribution = gain x discount / 2.63093.
    """
    depth = _check_depth(depth)
    if not isinstance(measure, str) and not is_measure(measure):
        raise MultiAspectError(
            f"expected a measure or its name, got {shown(measure)}; give the measure first, as in explain(measure, "
            "run, qrels, qid)"
        )
    parsed = parse_one(measure)
    explained = as_measure(parsed)
    explained.validate_params()
    runs = NamedRuns.read(run, topics)
    judgments = select_topics(Judgments.of(qrels), runs.topics)
    named = dict(runs)
    if len(named) > 1:
        raise MultiAspectError(f"expected one run to explain, got {len(named)}: {choices(named)}")
    ((name, source),) = named.items()
    rankings = join(name, source, judgments)
    query = judgments.query_position(qid)
    docnos, scores = rankings.ranked_documents(query)
    title = "run" if name == "run 1" else name  # the default name
    among_all = Topic(explained, judgments, query, judgments.qids[query], title, docnos, scores, depth)
    value = among_all.value  # with the warnings of an evaluation
    with silence_warnings():
        alone = among_all.as_only_topic()
        # A measure may depend on other topics, contrary to the rules; then their judgments are kept.
        topic = alone if abs(alone.value - value) <= tolerance(value, 1e-12) else among_all
        explanation = Explanation(topic, value, str(measure) if label is None else label)
    if explained is not parsed:  # a measure of ir-measures
        _compare_with_evaluation(explanation, parsed, rankings)
    return explanation


def _compare_with_evaluation(explanation: Explanation, measure: ir_measures.Measure, rankings: Rankings) -> None:
    """Warn if the value of the topic in ir-measures differs from the explained one."""
    with silence_warnings():
        values = evaluate(
            {explanation.run: rankings.source}, rankings.judgments, measure, progress=False
        ).set_index("qid")["value"]
    value = float(values[explanation.qid])
    if abs(value - explanation.value) > tolerance(value):
        warn_once(
            f"{measure} of topic {explanation.qid} is {value:.9g} in ir-measures, which rounds it; the explained "
            f"value is {explanation.value:.9g}",
            key=f"{measure} {explanation.qid} {value}",
            group="explained values",
        )


class Explanation(View):
    """The value of a measure for one topic of a run, as a sum over ranks.

    Returned by ``measure.explain(run, qrels, qid)`` and by `pt_multiaspect.explain`. It prints as text of at most
    80 columns and is shown as HTML in notebooks.

    Parameters
    ----------
    topic : Topic
        The ranking and the judgments of the topic.
    value : float
        The value of the measure.
    label : str
        The measure as it was given.

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

    def __init__(self, topic: Topic, value: float, label: str) -> None:
        parts = split_value(topic.measure, topic, topic.values).topic_parts(topic.query, len(topic))
        self._topic = topic
        self.measure: Measure = topic.measure
        self.label = label
        self.qid = topic.qid
        self.run = topic.run
        self.value = value
        self.offset = float(sum(part.offset for part in parts))
        self.ranks = ranks_frame(topic, parts, self.offset)
        self.aspects = aspects_frame(topic, parts)
        self.swaps = swaps_frame(topic, parts)
        #: The columns of `ranks` with labels, one per aspect.
        self.labels = tuple(label_columns(self.measure.views(topic.judgments)))
        self.notes = notes(topic, parts, self.ranks, self.aspects, gain_name(self.ranks, self.details))

    @cached_property
    def ideal(self) -> Explanation | None:
        """The explanation of a best ranking of all judged documents; None if no best ranking is known."""
        with silence_warnings():
            best = self._topic.best()
            return None if best is None else Explanation(best, best.value, self.label)

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

    @property
    def details(self) -> list[str]:
        """The columns of `ranks` that the measure computes from the labels, such as TOMA's class."""
        columns = list(self.ranks.columns)
        return columns[2 + len(self.labels) : columns.index("gain")]

    @property
    def judged(self) -> pd.DataFrame:
        """The labels of all judged documents of the topic, by docno, with one column per aspect."""
        judgments = self._topic.judgments
        rows = judgments.pool_query == self._topic.query
        views = label_columns(self.measure.views(judgments))
        labels = {column: view.label[rows] for column, view in views.items()}
        return pd.DataFrame(labels, index=judgments.docnos[rows]).dropna(how="all")

    @property
    def scales(self) -> dict[str, Aspect]:
        """The declared or inferred scales, by the columns of `judged`."""
        views = label_columns(self.measure.views(self._topic.judgments))
        return {column: view.aspect for column, view in views.items()}

    @property
    def grade_positions(self) -> pd.DataFrame:
        """The positions of the labels on their scales, from 0 for the lowest to 1 for the highest grade.

        One row per retrieved document and one column per aspect; NaN where a document is unjudged.
        """
        views = label_columns(self.measure.views(self._topic.judgments))
        return pd.DataFrame(
            {column: values_by_rank(self._topic, scale_positions(view)) for column, view in views.items()}
        )

    @property
    def retrieved(self) -> list[str]:
        """All retrieved documents, in the order of their ranks."""
        docnos: list[str] = self._topic.docnos.tolist()
        return docnos

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
        return blocks(self)

    def _title(self) -> str:
        return f"{self.label}, topic {self.qid}"

    def __repr__(self) -> str:
        return f"<Explanation: {self.label} is {self.value:.4f} for topic {self.qid}>"
