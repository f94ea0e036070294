"""The function `describe` and its result: tables, also as text and HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import pandas as pd

from .._cached import cached_property
from ..aspects import Aspect, Aspects, AspectSpec, parse_aspects
from ..aspects.aspect import _KEYS
from ..collection import AspectView, Judgments
from ..collection.judged_answers import is_judged_answers
from ..collection.other_libraries import is_frame
from ..errors import MultiAspectError, choices, number_of, silence_warnings
from ..integration.parsing import Measures, parse_all
from ..io.pipelines import read_topics, select_topics
from ..io.runs import NamedRuns
from ..orders.registered import exponent_of
from ..orders.tuple_order import weights_of
from ..views import Block, View
from .between import contingency, gap_shares
from .findings import apply_rules, findings_table, propose_scales
from .scales import Judged, read_answers_judged, read_judged, scale_to_declare
from .statistics import Finding, Statistics, dependences, has_distance, run_statistics
from .view import blocks, judged_counts


def describe(
    qrels: object,
    aspects: object = None,
    runs: object = None,
    measures: Measures | None = None,
    *,
    topics: object = None,
) -> Description:
    """Describe judgments, runs and measures, and list oddities.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable, Judgments or path
        Wide qrels, with one numeric column per aspect; see `pt_multiaspect.Judgments`. Or judged
        answers, with a column of runs and none of documents, also in files, as for
        `pt_multiaspect.answers.from_criteria`.
    aspects : Aspects, mapping, path, str or sequence of str, optional
        The aspects and their scales, as in every measure; by default all label columns, on inferred
        scales. Labels that are not declared grades are counted; measures reject them.
    runs : mapping of str to run, sequence of runs, or run, optional
        As in `pt_multiaspect.evaluate`.
    measures : measure, str, sequence or mapping of these, optional
        As in `pt_multiaspect.evaluate`: the description tells which of them depend on which scale
        or threshold.
    topics : DataFrame or dataset of PyTerrier, optional
        The topics that pipelines among the runs run on, as in `pt_multiaspect.evaluate`. Only their
        judgments are described.

    Returns
    -------
    Description
        The result prints as a report of at most 80 columns, is shown as HTML in notebooks, and
        contains all statistics as data frames.

    Raises
    ------
    MultiAspectError
        If the qrels or a run cannot be read.

    Notes
    -----
    Nothing is changed automatically: `Description.findings` lists what to check, each with a remedy
    as code to paste. All remedies that declare scales are combined in one declaration,
    `Description.proposed`. The warnings of an evaluation are not issued. Topics whose ids look like
    those of groups (``106_1``, ``106_2``) are a finding: tests and intervals treat them as
    independent without ``cluster=``.

    A judged answer counts once for each judge and repetition, and its run takes the place of the
    document. The findings also tell which answers are missing, on which criteria judges disagree
    (Krippendorff's α below .667), and on which nearly all answers have the best label. Remedies
    call the rows ``judged``.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 2, "effort": 9}, "d2": {"relevance": 0, "effort": 9}}}
    >>> description = ma.describe(qrels)
    >>> description.per_aspect[["aspect", "judged", "grades", "positive"]]
          aspect  judged                                grades  positive
    0  relevance       2                               0, 1, 2       0.5
    1     effort       2  0, 1, 2, 3, 4, 5, 6, 7, 8, 9         1.0
    >>> description.findings[["severity", "aspects", "finding"]].values.tolist()
    [['warning', 'effort', 'every judged document has the label 9']]
    >>> description.aspects
    Aspects({'relevance': Aspect(grades=[0, 1, 2]), 'effort': Aspect(grades=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])})
    """
    if _is_answers(qrels):
        _refuse_beside_answers(runs=runs, measures=measures, topics=topics)
        return _describe_answers(qrels, aspects)
    if topics is not None:
        topics = read_topics(topics)
        qrels = select_topics(Judgments.of(qrels), topics)
    named_runs = {}
    if runs is not None:
        named_runs = dict(NamedRuns.read(runs, topics))
    with silence_warnings():
        return _describe_qrels(qrels, aspects, named_runs, measures)


def _describe_answers(source: object, aspects: object) -> Description:
    """Return the description of judged answers, given as a frame, rows or a file."""
    spec = parse_aspects(aspects)
    judged = read_answers_judged(source, spec)
    with silence_warnings():
        no_runs = run_statistics({}, judged)
        statistics = Statistics.of(judged, no_runs)
        return _description(statistics, spec)


def _describe_qrels(
    qrels: object, aspects: object, runs: Mapping[str, object], measures: Measures | None
) -> Description:
    """Return the description of qrels, runs by name, and measures."""
    _refuse_runs(aspects)
    spec = parse_aspects(aspects)
    judged = read_judged(qrels, spec)
    measures_by_label = {}
    if measures is not None:
        measures_by_label = parse_all(measures)
    dependence_table, refused = dependences(measures_by_label, judged)
    statistics = Statistics.of(
        judged,
        run_statistics(runs, judged),
        measures=measures_by_label,
        dependences=dependence_table,
        refused=refused,
    )
    return _description(statistics, spec)


def _description(statistics: Statistics, spec: AspectSpec) -> Description:
    """Return the description of statistics, with findings and the scales they propose."""
    name = None
    if isinstance(spec, Aspects):
        name = spec.name
    findings = apply_rules(statistics)
    scales = propose_scales(statistics, findings)
    return Description(statistics, findings, scales, _shares(statistics), name)


def _is_answers(qrels: object) -> bool:
    """Return whether judgments are those of answers: files of them, dicts, or a frame of runs."""
    is_path = isinstance(qrels, str | PathLike)
    if is_path:
        return True
    if isinstance(qrels, list | tuple):
        # Files or rows of answers; qrels are sequences of other objects.
        return bool(qrels) and isinstance(qrels[0], str | PathLike | Mapping)
    if not is_frame(qrels):
        return False
    columns = getattr(qrels, "columns", None)
    # In PyArrow, `columns` are the data, and `column_names` the names.
    columns = getattr(qrels, "column_names", columns)
    return columns is not None and is_judged_answers(columns)


def _refuse_beside_answers(**arguments: object) -> None:
    """Raise an error if an argument is given that does not apply to answers."""
    for name, value in arguments.items():
        if value is not None:
            raise MultiAspectError(
                f"{name}: expected none beside judged answers, which are not ranked"
            )


def _refuse_runs(aspects: object) -> None:
    """Raise an error if runs are given in place of aspects, alone or in a container."""
    possible_runs = [aspects]
    if isinstance(aspects, Mapping):
        possible_runs = list(aspects.values())
    elif isinstance(aspects, list | tuple):
        possible_runs += aspects
    for value in possible_runs:
        if is_frame(value) or _is_ranking(value):
            raise MultiAspectError(
                "aspects: expected names or scales of aspects, got runs; pass runs by keyword, as "
                "in ma.describe(qrels, runs=runs)"
            )


def _is_ranking(scores: object) -> bool:
    """Return whether a value is a run: ``{docno: score}`` or ``{qid: {docno: score}}``.

    A dict of the parameters of an aspect, such as ``{"grades": 2}``, is none.
    """
    if not isinstance(scores, Mapping) or not scores:
        return False
    has_parameters_of_aspect = not set(scores).isdisjoint(_KEYS)
    if has_parameters_of_aspect:
        return False
    for value in scores.values():
        is_score = isinstance(value, int | float)
        # Any other value must be the dict of the documents of a topic.
        if not is_score and not _is_ranking(value):
            return False
    return True


class Description(View):
    """Result of `describe`.

    It prints as a report of at most 80 columns, which notebooks show as HTML, beginning with the
    findings.

    Parameters
    ----------
    statistics : Statistics
        The statistics.
    found : list of Finding
        The findings, most serious first.
    scales : mapping of str to Aspect
        The scales that the findings propose.
    shares : DataFrame
        The fraction that each aspect contributes to TOMA's distance.
    name : str or None
        The name of the aspects, if they have one.

    Attributes
    ----------
    findings : DataFrame
        Columns ``severity aspects finding remedy``, most serious first. Severity is 'error' (values
        are rejected or meaningless), 'warning' (likely not as intended) or 'note'. A remedy is code
        to paste, with ``import pt_multiaspect as ma`` and names such as ``qrels`` and ``runs`` for
        the arguments.
    aspects : Aspects
        The scales, declared or inferred, ready for ``aspects=`` and `Aspects.to_file`.
    proposed : Aspects
        The scales that the errors and warnings among the findings propose: their changes are
        applied one after another until none of these findings is left. Check them before use.
    per_aspect : DataFrame
        One row per aspect: ``aspect``, ``scale`` ('declared' or 'inferred'), ``grades``,
        ``threshold``, ``judged`` and ``missing`` pairs, labels ``below_scale`` (junk) and
        ``out_of_scale``, ``distinct`` labels, ``topics`` with any judgment, ``positive`` (the
        fraction of judged documents that reach the threshold) and ``topics_without_positive``.
    labels : DataFrame
        ``aspect label kind count share``: the number of judged documents with each label, and their
        fraction.
    between : DataFrame
        One row per pair of aspects: documents judged on ``both``, ``only_first``, ``only_second``;
        the mean over ``topics`` of Kendall's τ-b within the topic (``tau``), with its standard
        error (``tau_error``); whether labels are the ``same`` ('equal', 'recoded' or '').
    distance_shares : DataFrame
        ``order aspect share documents``: the fraction that each aspect contributes to TOMA's
        distance, the mean over judged documents of gap_a^p / Σ gap^p. Documents at distance 0 are
        left out. There are rows for the Euclidean distance with ``axes='equal'`` and
        ``axes='gains'``, and for each TOMA in `measures`.
    runs : DataFrame
        One row per run: ``topics`` in common with the qrels, topics ``missed``, ``unjudged_topics``
        (not in the qrels), ``documents``, those ``repeated`` for a topic, and the fraction with
        ``tied`` scores.
    judged_at : DataFrame
        ``name aspect judged@5 judged@10 judged@20``: the fraction of the first k ranks that is
        judged on the aspect, over the topics of the run.
    alike : DataFrame
        ``where what first second count``: identifiers that look alike but differ.
    top_labels : DataFrame
        The documents with the highest label of each aspect, compared on the others, in standard
        errors.
    measures : DataFrame
        ``measure aspect inferred scale threshold gains probabilities``: whether the values of a
        measure change with each of these, found by changing them on small random rankings; None for
        unknown.
    refused : dict of str to str
        The error of each measure that cannot be computed on these judgments.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> description = ma.describe({"q1": {"d1": {"relevance": 1}, "d2": {"relevance": 0}}})
    >>> description
    <Description: 2 judged documents, 1 topic, 1 aspect, 0 findings>
    >>> print(description)
    2 judged documents, 1 topic, 1 aspect
    <BLANKLINE>
    Findings
    --------
    none
    <BLANKLINE>
    relevance
    ---------
    inferred scale 0, 1, positive from 1
    judged 2 of 2; topics 1 of 1; positive 50.0 %; 0 topics without a positive
      document
    <BLANKLINE>
    label                            documents  fraction
        0  ########################          1    50.0 %
        1  ########################          1    50.0 %
    """

    def __init__(
        self,
        statistics: Statistics,
        found: Sequence[Finding],
        scales: Mapping[str, Aspect],
        shares: pd.DataFrame,
        name: str | None,
    ) -> None:
        self._statistics = statistics
        self._name = name
        # A named set of scales keeps its name if no finding changes a scale.
        has_changes = scales != dict(self.aspects)
        if has_changes:
            self.proposed = Aspects(scales)
        else:
            self.proposed = self.aspects
        self.findings = findings_table(found, self.proposed)
        self.distance_shares = shares
        # The tables of the statistics.
        self.per_aspect = statistics.per_aspect
        self.labels = statistics.labels
        self.between = statistics.between
        self.top_labels = statistics.top_labels
        self.runs = statistics.retrieved.runs
        self.judged_at = statistics.retrieved.judged_at
        self.alike = statistics.retrieved.alike
        self.measures = statistics.dependences
        self.refused = dict(statistics.refused)
        self.n_topics = statistics.n_topics
        self.n_documents = statistics.n_documents

    @cached_property
    def aspects(self) -> Aspects:
        """The scales, declared or inferred."""
        judged = self._statistics.judged
        is_about_answers = judged.answers is not None
        scales = {}
        for view in judged.views:
            if is_about_answers:
                # Scores of answers in [0, 1] are values, which have no grades.
                scales[view.name] = scale_to_declare(view)
            else:
                scales[view.name] = view.aspect
        return Aspects(scales, name=self._name)

    def contingency(self, first: str, second: str) -> pd.DataFrame:
        """Count the documents of each pair of labels of two aspects.

        Parameters
        ----------
        first, second : str
            The aspects of the rows and of the columns.

        Returns
        -------
        DataFrame
            Counts; the label NaN is that of documents that are not judged on the aspect.

        Raises
        ------
        MultiAspectError
            If an aspect is unknown.

        Examples
        --------
        >>> import pt_multiaspect as ma
        >>> first = {"relevance": 1, "credibility": 0}
        >>> second = {"relevance": 1, "credibility": 2}
        >>> qrels = {"q1": {"d1": first, "d2": second}}
        >>> ma.describe(qrels).contingency("relevance", "credibility")
        credibility  0.0  2.0
        relevance
        1.0            1    1
        """
        return contingency(self._view(first), self._view(second))

    def _view(self, name: str) -> AspectView:
        """Return the labels of an aspect; raise an error for an unknown one."""
        aspect = name
        if name == "label":  # PyTerrier's column of relevance
            aspect = "relevance"
        judged = self._statistics.judged
        view = judged.view(aspect)
        if view is None:
            known = choices(judged.names)
            raise MultiAspectError(f"expected one of the aspects described ({known}), got {name!r}")
        return view

    def _counts(self) -> str:
        """Return the numbers of documents or answers, topics, aspects and findings, in words."""
        counts = [
            *judged_counts(self._statistics),
            number_of(self.n_topics, "topic"),
            number_of(len(self.per_aspect), "aspect"),
            number_of(len(self.findings), "finding"),
        ]
        return choices(counts)

    def __repr__(self) -> str:
        return f"<Description: {self._counts()}>"

    def _blocks(self) -> list[Block]:
        return blocks(self._statistics, self.findings, self.proposed, self.distance_shares)

    def _title(self) -> str:
        return "Judgments"


def _shares(statistics: Statistics) -> pd.DataFrame:
    """Return the contribution of each aspect to TOMA's distance.

    There are rows for both kinds of axes, and for each given TOMA.
    """
    judged: Judged = statistics.judged
    rows: list[dict[str, object]] = []
    has_several_aspects = len(judged.views) > 1
    if has_several_aspects and judged.answers is None:
        for axes in ("equal", "gains"):
            rows += _share_rows(f"axes={axes!r}", judged.views, axes=axes)
    for label, measure in statistics.measures.items():
        is_refused = label in statistics.refused
        if is_refused or not has_distance(measure):
            continue
        views = measure.views(judged.judgments)
        names = [view.name for view in views]
        rows += _share_rows(
            label,
            views,
            axes=measure["axes"],
            exponent=exponent_of(measure["distance"]),
            weights=weights_of(measure["weights"], names),
            gate=measure["gate"],
        )
    return pd.DataFrame(rows, columns=["order", "aspect", "share", "documents"])


def _share_rows(order: str, views: Sequence[AspectView], **options: Any) -> list[dict[str, object]]:
    """Return one row per aspect with its share in the distance of an order.

    `options` are those of `gap_shares`.
    """
    shares, n_documents = gap_shares(views, **options)
    rows: list[dict[str, object]] = []
    for view, share in zip(views, shares, strict=True):
        row: dict[str, object] = {
            "order": order,
            "aspect": view.name,
            "share": float(share),
            "documents": n_documents,
        }
        rows.append(row)
    return rows
