"""The function `report` and its result: an experiment as one self-contained page."""

from __future__ import annotations

import datetime
import errno
import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd

from ..analysis.power import DiscriminativePower
from ..analysis.robustness import Robustness
from ..aspects import AspectSpec, parse_aspects
from ..collection import Judgments
from ..description import describe
from ..errors import MultiAspectError, choices
from ..evaluation import evaluate
from ..evaluation.long_frames import COLUMNS, is_long_frame
from ..evaluation.topic_clusters import ClusterSpec
from ..evaluation.topic_structure import TopicStructure
from ..evaluation.topics import check_all_topics
from ..io.pipelines import select_topics
from ..io.runs import NamedRuns, as_repeatable, read_if_file
from ..strings.identifiers import identifiers
from ..tables.content import decimals_by_label, means_table
from ..views import Block, Heading, Sentence, View
from .answers import answers_blocks, answers_payload, question_texts
from .page import page, vega
from .payload import payload, rankings_payload
from .results import (
    Results,
    check_baseline,
    check_interval_columns,
    drop_copy,
    main_measure,
    read_columns,
    results_of_values,
)
from .settings import DEPTH
from .summary import robustness_of_pair, summary


def report(
    runs: object,
    qrels: object = None,
    measures: ir_measures.Measure
    | str
    | Sequence[ir_measures.Measure | str]
    | Mapping[str, ir_measures.Measure | str]
    | None = None,
    *,
    topics: object = None,
    aspects: object = None,
    human: object = None,
    baseline: str | None = None,
    by: str | PathLike[str] | Mapping[str, object] | pd.Series[Any] | None = None,
    macro: bool = False,
    cluster: ClusterSpec = None,
    answers: object = None,
    title: str = "Multi-aspect evaluation",
    progress: bool = True,
    path: str | PathLike[str] | None = None,
) -> Report:
    """Evaluate runs, or take their values, and create a self-contained report page.

    Parameters
    ----------
    runs : mapping of str to run, sequence of runs, run, or frame of values
        As in `evaluate`; or values per topic, columns ``name qid measure value``, as `evaluate`,
        the functions of `answers` and `read_values` return them. All runs need values of all
        measures on all topics.
    qrels : DataFrame, dict, iterable or Judgments, optional
        Wide qrels with one numeric column per aspect; see `Judgments`. Omitted if `runs` are
        values, like `topics`.
    measures : measure, str, sequence of these or mapping, optional
        As in `evaluate`. By default TOMA (with the gate ``relevance``, if there is this aspect),
        CAM and MM at 10, or AP and RR if there is one aspect. Of values, the labels to show, by
        default all; a mapping ``{alias: measure}`` tells what they refer to, or whether 'higher' or
        'lower' is better. The summary is about the first measure of several aspects or criteria;
        without one, about the first measure.
    topics : DataFrame or dataset of PyTerrier, optional
        The topics that pipelines run on, as in `evaluate`; the page shows the texts in a column
        ``query``.
    aspects : Aspects, mapping, path, str or sequence of str, optional
        The aspects and their label scales, also for measures that declare none; by default all
        label columns, on inferred scales. Of values, the scales that the page lists.
    human : DataFrame, dict, iterable or Judgments, optional
        Human judgments of at least 4 topics, drawn at random, if `qrels` are those of a model; if
        `runs` are values by a model's judgments, the values by human judgments. Below each value,
        the page then shows the estimate and interval of `analysis.prediction_powered`. Everything
        else, including tests and marks, is based on `qrels`.
    baseline : str, optional
        The run that the others are tested against when the page opens. Readers can choose another.
        Tests are paired t-tests at the level .05, with Holm's correction for the comparisons of one
        measure with one baseline; discriminative power is not corrected. Intervals are at 95 %.
    by : str, path, mapping or Series, optional
        The group of each judged topic by query id, or a file of these, as for `aggregate`. Readers
        can choose the group whose topics are shown; the page opens with all topics.
    macro : bool, default False
        Whether readers can also choose the means in which groups count equally, as for `aggregate`.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, which all tests and
        intervals take into account, as for `aggregate`.
    answers : DataFrame, list of dicts, path, or list of paths, optional
        The answers, to show them for each topic: rows with a topic (``qid`` or ``query_id``), a run
        (``name`` or ``run_id``), a text (``text``, ``answer``, ``answer_text``, ``response`` or
        ``qanswer``), a list ``nuggets``, and further columns, which are shown as labels. Files are
        JSON Lines, CSV or TSV. Several rows of an answer, such as one per question, are shown as a
        list.
    title : str, default 'Multi-aspect evaluation'
        The title of the page.
    progress : bool, default True
        Whether to show a progress bar over the runs.
    path : str or path, optional
        The file to write the page to.

    Returns
    -------
    Report
        The report; its method ``to_html(path)`` writes the page.

    Raises
    ------
    MultiAspectError
        As for `evaluate` and `analysis.prediction_powered`, and if the baseline is not a run, a
        parameter is out of range, the measures are a suite over the topics with a positive
        document, a label is that of an interval of another measure, or groups or clusters are not
        given for the judged topics. If values are missing, not finite, or not of the runs and
        topics of `answers`.
    ImportError
        If the page is written and vl-convert-python is not installed.
    FileNotFoundError
        If the folder of `path` does not exist.

    Warns
    -----
    MultiAspectWarning
        As for `evaluate`. For values, if labels name no known measure and the frame has no record
        of them, so that higher is assumed to be better.

    See Also
    --------
    describe : A description of the judgments.
    explain : An explanation of a single topic.
    systems_table : A table of systems for a paper.

    Notes
    -----
    The page is one file of about 1 MB plus the data, which are embedded. It opens no connections.
    Each aspect is also evaluated on its own, by ``nDCG@10``. The page shows the first 10 ranks of
    each ranking; with many runs, topics and measures, it shows fewer, at least 5, and then only the
    topics on which the runs differ most; it says so.
    The date below the title is that of today, or of the environment variable ``SOURCE_DATE_EPOCH``.
    Tests against each run as the baseline are the same as those of
    `analysis.compare_with_baseline`; choosing the baseline after looking at the results invalidates
    them.

    Stability: provisional in `by`, `macro`, `cluster`, `answers`. How these are given may change.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> first = {"relevance": 1, "credibility": 0}
    >>> second = {"relevance": 0, "credibility": 1}
    >>> qrels = {qid: {"d1": first, "d2": second} for qid in ("q1", "q2")}
    >>> one = {qid: {"d1": 2.0, "d2": 1.0} for qid in qrels}
    >>> runs = {"one": one, "other": {qid: {"d2": 1.0} for qid in qrels}}
    >>> scales = {"relevance": 1, "credibility": 1}
    >>> found = ma.report(runs, qrels, "CAM@10", aspects=scales, baseline="one", progress=False)
    >>> found
    <Report: 2 systems, 2 topics, 3 measures>
    >>> found.systems[["name", "CAM@10"]].round(4)
        name  CAM@10
    0    one  0.8155
    1  other  0.5000
    """
    if path is not None:
        _check_page(path)
    date = _date()
    structure_options: dict[str, Any] = {"by": by, "macro": macro, "cluster": cluster}

    if is_long_frame(runs):  # values: nothing has to be evaluated
        _refuse_unused(qrels=qrels, topics=topics)
        results = results_of_values(
            runs, measures, human, baseline, structure_options, title, date, aspects
        )
        return _report_of_values(results, answers, path)
    _refuse_missing_qrels(qrels)
    # All arguments are read and checked before the runs are evaluated, which can take long.
    check_all_topics(measures, "a report compares them topic by topic")
    spec = parse_aspects(aspects)
    given_runs = NamedRuns.read(runs, topics, progress=progress)
    judgments = select_topics(Judgments.of(qrels), given_runs.topics)
    run_by_name = {name: as_repeatable(run) for name, run in given_runs}
    check_baseline(baseline, run_by_name)
    columns = read_columns(measures, spec, judgments)
    judged_topics = pd.DataFrame({"qid": judgments.qids})
    structure = TopicStructure.read(judged_topics, columns.measures, **structure_options)
    check_interval_columns(columns.measures)
    # The values by the judgments, and by human judgments if there are some.
    perquery = evaluate(run_by_name, judgments, columns.measures, progress=progress)
    perquery, label_by_aspect = drop_copy(perquery, columns)
    # What follows reads the runs again and again, so that files are read here, once.
    run_by_name = {name: read_if_file(run) for name, run in run_by_name.items()}
    description = describe(judgments, spec, runs=run_by_name)
    values_by_human = None
    if human is not None:
        values_by_human = evaluate(run_by_name, human, columns.measures, progress=progress)
    results = Results(
        title=title,
        description=description,
        perquery=perquery,
        main=main_measure(columns.given),
        aspects=label_by_aspect,
        baseline=baseline,
        structure=structure,
        human=values_by_human,
        date=date,
        texts=_topic_texts(given_runs.topics),
    )
    rankings = _rankings(results, run_by_name, judgments, spec)
    robustness = robustness_of_pair(results, run_by_name, judgments, spec)
    return _create_report(results, robustness, rankings, answers, path)


def _report_of_values(
    results: Results, answers: object, path: str | PathLike[str] | None
) -> Report:
    """Create the report of values that the user gives, for which there are no rankings to show."""
    robustness = robustness_of_pair(results)
    no_rankings: dict[str, Any] = {}
    return _create_report(results, robustness, no_rankings, answers, path)


def _rankings(
    results: Results, runs: Mapping[str, Any], judgments: Judgments, spec: AspectSpec
) -> dict[str, Any]:
    """Return the first ranks of the runs as JSON, in the order of the systems of the results."""
    names, _, values = results.by_measure()
    ordered_runs = {name: runs[name] for name in names}
    return rankings_payload(ordered_runs, judgments, spec, results.measures, values, DEPTH)


def _topic_texts(topics: pd.DataFrame | None) -> dict[str, str]:
    """Return the text of each topic in a frame of PyTerrier, by query id."""
    if topics is None or "query" not in topics:
        return {}
    topics_with_text = topics.dropna(subset=["query"])
    qids = identifiers(topics_with_text["qid"], "topics").tolist()
    texts = topics_with_text["query"].map(str)
    return dict(zip(qids, texts, strict=True))


def _refuse_unused(**arguments: object) -> None:
    """Raise an error for arguments that a frame of values takes the place of."""
    for name, argument in arguments.items():
        if argument is not None:
            raise MultiAspectError(
                f"{name}: expected None, as runs is a frame of values; omit {name}, and give "
                "measures by name, as measures="
            )


def _refuse_missing_qrels(qrels: object) -> None:
    """Raise an error for runs without judgments."""
    if qrels is None:
        raise MultiAspectError(
            "qrels: expected the judgments of the runs, got none; write report(runs, qrels), or "
            f"give values per topic instead of runs, a frame with the columns {choices(COLUMNS)}"
        )


def _create_report(
    results: Results,
    robustness: Robustness | None,
    rankings: dict[str, Any],
    answers: object,
    path: str | PathLike[str] | None,
) -> Report:
    """Return the report, and write its page to `path`, if given.

    Parameters
    ----------
    results : Results
        The results. The questions of the answers are added to the texts of their topics.
    robustness : Robustness or None
        What the difference depends on that the summary states.
    rankings : dict
        The result of `rankings_payload`; empty for values.
    answers, path
        As for `report`.
    """
    answers_data = None
    blocks_on_answers: list[Block] = []
    if answers is not None:
        names, qids, _ = results.by_measure()
        answers_data = answers_payload(answers, names, qids, results.notes)
        blocks_on_answers = answers_blocks(answers, results)
        # The texts of given topics precede questions.
        results.texts = {**question_texts(answers), **results.texts}
    data = payload(results, rankings, answers_data)
    created = Report(results, robustness, blocks_on_answers, data)
    if path is not None:
        created.to_html(path)
    return created


def _date() -> str:
    """Return the day of SOURCE_DATE_EPOCH as text, by default today."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        return str(datetime.date.today())
    if not epoch.isdecimal():
        raise MultiAspectError(f"SOURCE_DATE_EPOCH: expected seconds since 1970, got {epoch!r}")
    seconds = int(epoch)
    time = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return str(time.date())


def _check_page(path: str | PathLike[str]) -> None:
    """Check that a page can be written to a path, before runs are evaluated."""
    vega()  # which raises an error if vl-convert-python is not installed
    folder = Path(path).expanduser().parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))


class Report(View):
    """Result of `report`: an experiment as one page.

    ``to_html(path)`` writes the page. In a notebook, the table of systems is shown.

    Parameters
    ----------
    results : Results
        The results of the evaluation.
    robustness : Robustness or None
        What the difference depends on that the summary states.
    answers : sequence of Block
        What the page says of answers and their judges.
    data : dict
        The data for the script of the page.

    Attributes
    ----------
    title, date : str
        The title of the page, and the date below it.
    summary : str
        What was found, in a few sentences: the best system on the first measure of several aspects
        (without one, on the first measure), compared with the baseline (without one, with the next
        best system; p is then corrected for all pairs), and the others on which it is significantly
        better or worse.
    robustness : Robustness or None
        What that difference depends on, as returned by `robustness`; None if it is no difference of
        means.
    description : Description or None
        The description of judgments and runs, as returned by `describe`; None for values.
    perquery : DataFrame
        The values, as returned by `evaluate`.
    systems : DataFrame
        The aggregates with intervals, as returned by `aggregate`; with `by`, those of groups before
        those of all topics, and macro means.
    aspects : dict of str to str
        The label of the measure of each aspect alone.
    baseline : str or None
        The first baseline.
    comparisons : DataFrame or None
        The tests against each system as the baseline, as returned by
        `analysis.compare_with_baseline` for one baseline, but without intervals, numbers of wins
        and, with `by`, groups of one topic or cluster. None if there are fewer than two systems or
        topics, as for the next two attributes.
    correlations : DataFrame or None
        Kendall's τ-b between the system rankings of the measures, as returned by
        `analysis.correlation`.
    power : DiscriminativePower or None
        The discriminative power of the measures.
    powered : PredictionPowered or None
        The estimates from human judgments and `qrels`, as returned by
        `analysis.prediction_powered`; None without human judgments.
    notes : list of str
        The omissions of the page, with reasons.

    Notes
    -----
    Stability: provisional in `results`, `robustness`, `answers`, `data`. They are made for the
    page, and change with it.

    Examples
    --------
    See `report`.
    """

    def __init__(
        self,
        results: Results,
        robustness: Robustness | None,
        answers: Sequence[Block],
        data: dict[str, Any],
    ) -> None:
        self._results = results
        self._answers = answers
        self._data = data
        self.title = results.title
        self.date = results.date
        self.summary = summary(results)
        self.robustness = robustness
        self.description = results.description
        self.perquery = results.perquery
        self.systems = results.systems
        self.aspects = dict(results.aspects)
        self.baseline = results.baseline
        self.powered = results.powered
        self.notes = results.notes
        # Tests require two systems and two topics.
        self.comparisons: pd.DataFrame | None = None
        self.correlations: pd.DataFrame | None = None
        self.power: DiscriminativePower | None = None
        if results.tests is not None:
            self.comparisons = results.tests.comparisons
            self.correlations = results.tests.correlations
            self.power = results.tests.power

    @property
    def labels(self) -> list[str]:
        """The labels of the measures."""
        return list(self._results.measures)

    def __repr__(self) -> str:
        return f"<Report: {choices(self._results.counts)}>"

    def _title(self) -> str:
        return self.title

    def _blocks(self) -> list[Block]:
        """Return the summary and the table of means: the content without the page."""
        results = self._results
        blocks: list[Block] = [Heading(self.title), Sentence(self.summary)]
        if self.robustness is not None:
            blocks.append(Sentence(f"How far it holds: {self.robustness.summary}"))
        # All rows are of the same group: all topics.
        means = results.overall.drop(columns="group", errors="ignore")
        decimals = decimals_by_label(4, results.heads, results.measures)
        table = means_table(means, self.perquery, results.heads, decimals, notes="full")
        blocks.append(table)
        for note in self.notes:
            blocks.append(Sentence(note))
        remark = "Write the page with to_html(path) to sort, test and explain these values."
        blocks.append(Sentence(remark))
        return blocks

    def _page(self) -> str:
        return page(self._results, self.robustness, self._answers, self._data, self.summary)
