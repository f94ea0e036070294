"""The function `evaluate`."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ..collection import AspectView, Judgments
from ..collection.overlap import warn_of_unlabelled_topics
from ..errors import Cause, reissue, warn_of_runs
from ..integration.parsing import Measures, parse_all, record_measures
from ..integration.provider import supports
from ..io.pipelines import select_topics
from ..io.runs import NamedRuns, run_title
from .answers_as_documents import warn_of_answers
from .plan import Outcome, Plan
from .topics import check_average_over


def evaluate(
    runs: object,
    qrels: object,
    measures: Measures,
    *,
    topics: object = None,
    average_over: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """Evaluate runs with measures of this package and of ir-measures.

    Parameters
    ----------
    runs : mapping of str to run, iterable of runs or (name, run) pairs, or run
        A run is a DataFrame with columns ``qid docno score``, the path of a TREC run file, a dict
        ``{qid: {docno: score}}``, or a pipeline of PyTerrier. A directory, or a pattern such as
        ``"runs/*.run"``, represents its files. Runs without a name are named after their file,
        pipelines as in ``pt.Experiment``, others "run 1", "run 2" etc. Each run is read, or
        pipeline run, once, when its turn comes, and is not kept: of a generator of (name, run)
        pairs, only a few runs are in memory at a time.
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels with one numeric column per aspect; see `Judgments`. Use `read_qrels` to read
        files.
    measures : measure, str, sequence of these or mapping
        Measure objects, ir-measures names such as ``"TOMA@10"``, or trec_eval names. Measures of
        ir-measures are computed on the aspect relevance; its diversity measures, such as
        ``alpha_nDCG@20``, on long qrels with the subtopics in a column ``iteration`` or
        ``subtopic`` (with the aspects as subtopics, use `Subtopics`). A mapping is ``{alias:
        measure}``; its labels appear in the column `measure`. A `suite` is such a mapping.
    topics : DataFrame or dataset of PyTerrier, optional
        The topics to evaluate, which pipelines run on, with columns ``qid query``. As in
        ``pt.Experiment``, only their judgments are used, also to infer scales.
    average_over : {'judged', 'positive'}, optional
        The topics that count for each measure: all judged topics, or only those in which some
        judged document is positive for the measure (has a positive gain on an aspect that it
        evaluates), so that a run can score above 0. The TREC Health Misinformation tracks average
        over the latter. By default the topics of the suite, or all judged topics.
    progress : bool, default True
        Whether to show a progress bar over the runs; that of pipelines appears in terminals and
        notebooks only.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value`` with one row per run, measure and query that counts.
        Queries missing from a run count as empty rankings. Use `aggregate` for mean values.
        ``attrs["measures"]`` contains the measures by label, for `aggregate`.

    Raises
    ------
    MultiAspectError
        If a run cannot be read or has no query in common with the qrels, or the input is invalid.
        Files that are missing are reported before the first run is evaluated. With
        ``average_over='positive'``, if no topic counts for a measure, or a measure does not tell
        which documents are positive.

    Warns
    -----
    MultiAspectWarning
        In one message for all runs, if runs lack judged topics, repeat documents or retrieve no
        judged ones; if the runs look like generated answers, with one document per topic that no
        other run has, and a measure compares them with each other, as nDCG does (see
        `pt_multiaspect.answers`); if an aspect has no label in a topic.

    See Also
    --------
    evaluator : A function that evaluates runs in the processes of joblib, Spark, Dask or Ray.
    read_values : Values per topic from files.

    Notes
    -----
    Documents are ranked as in trec_eval for all measures, with ties broken by docno, descending.
    Only functions of ``ir_measures.define`` and ``define_byquery`` get the scores of the run.

    Judged topics that runs lack are reported if at least five topics count.

    A table of the values describes itself if labels are followed by their measures. With
    ``definitions = values["measure"].map(values.attrs["measures"])``, the file that
    ``values.assign(definition=definitions).to_csv("values.csv")`` writes is read by `read_values`.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> runs = {"mine": {"q1": {"d1": 2.0, "d2": 1.0}}}
    >>> ma.evaluate(runs, qrels, ["map", ma.CAM(base="AP")], progress=False)
       name qid        measure  value
    0  mine  q1            map   1.00
    1  mine  q1  CAM(base='AP')   0.75
    """
    average_over = check_average_over(average_over, measures)
    labelled = parse_all(measures)
    named_runs = NamedRuns.read(runs, topics, progress=progress)
    named_runs.check_files()
    judgments = select_topics(Judgments.of(qrels), named_runs.topics)
    plan = Plan(judgments, labelled, average_over)
    warn_of_unlabelled_topics(_views_of_measures(plan), judgments)
    outcomes = _evaluate_runs(plan, named_runs)
    # With topics, pipelines have a bar of their own.
    has_bar = progress and topics is None
    if has_bar:
        outcomes = _show_progress(outcomes, named_runs.total)
    collected = _collect_outcomes(outcomes)
    warn_of_answers(plan, collected)
    names = [outcome.name for outcome in collected]
    values = [outcome.values for outcome in collected]
    result = plan.frame(names, values)
    record_measures(result, labelled)
    return result


def _views_of_measures(plan: Plan) -> Iterator[AspectView]:
    """Yield the labels on each aspect that a measure of this package evaluates."""
    for measure in filter(supports, plan.measures):
        yield from measure.views(plan.judgments)


def _evaluate_runs(plan: Plan, runs: NamedRuns) -> Iterator[Outcome]:
    """Yield the outcome of each run, without keeping the run in memory."""
    for name, run in runs:
        outcome = plan.evaluate(name, run)
        # The next run is read before the loop assigns it to this name.
        del run
        yield outcome


def _show_progress(outcomes: Iterator[Outcome], total: int | None) -> Iterator[Outcome]:
    """Yield outcomes, and show their number in a progress bar."""
    from tqdm.auto import tqdm  # warns in notebooks without widgets

    with tqdm(total=total, desc="evaluate", unit="run") as bar:
        for outcome in outcomes:
            yield outcome
            bar.update()


def _collect_outcomes(outcomes: Iterator[Outcome]) -> list[Outcome]:
    """Return the outcomes of all runs, and issue their warnings.

    Causes with a remedy are reported at the end, in one message for all runs, others at once.
    """
    collected: list[Outcome] = []
    causes_by_run: list[tuple[str, Cause]] = []
    try:
        for outcome in outcomes:
            title = run_title(outcome.name)
            for cause in outcome.causes:
                if cause.remedy is None:
                    reissue(cause)
                else:
                    causes_by_run.append((title, cause))
            collected.append(outcome)
    finally:
        # An error in a run may have one of these causes.
        warn_of_runs(causes_by_run)
    return collected
