"""Generated answers that are evaluated as documents.

Each run has one per topic, which no other run has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._typing import Floats, Ints
from ..bases.delegated import function_of
from ..bases.standard import is_diversity_measure
from ..collection import Judgments, Rankings
from ..collection.judgments import numbered_names
from ..errors import MultiAspectError, choices, silence_warnings, warn_once
from .plan import Outcome, Plan

#: Minimum number of topics that runs share to conclude that their documents are answers.
_MIN_SHARED = 2

#: Maximum number of answers that are evaluated alone.
_MOST_ALONE = 500


class _JudgedAnswers(NamedTuple):
    """Judged answers of runs, one item of each array per answer."""

    #: Positions of the answers among the judged pairs.
    pairs: Ints
    #: Positions of their topics.
    queries: Ints
    docnos: list[str]
    #: Positions of their runs.
    runs: list[int]


def warn_of_answers(plan: Plan, outcomes: Sequence[Outcome]) -> None:
    """Warn if documents look like answers, and a measure compares them with each other.

    Parameters
    ----------
    plan : Plan
        The judgments and measures.
    outcomes : sequence of Outcome
        The values and documents of all runs.
    """
    if not _are_answers(outcomes):
        return
    try:
        with silence_warnings():
            labels = _comparing_measures(plan, outcomes)
    except MultiAspectError:  # a measure may not do without the other documents
        return
    if not labels:
        return
    n_runs = len(outcomes)
    comparing = choices(labels)
    warn_once(
        f"each of the {n_runs} runs has one document per topic, and no document is in two "
        f"runs, as if the documents were generated answers. Then values of {comparing} do "
        "not tell how good an answer is: they are divided by an ideal or by the number of relevant "
        "documents, which contain the answers of other runs. Score answers with ma.answers, as in "
        "ma.answers.combine(ma.answers.from_criteria(judged, aspects=…), 'CAM'), or choose "
        "measures without this division, such as CG@1 and P@1"
    )


def _are_answers(outcomes: Sequence[Outcome]) -> bool:
    """Return whether all runs have one document per topic, which no other run has.

    Most topics must be those of several runs.
    """
    have_single_documents = all(outcome.documents for outcome in outcomes)
    if len(outcomes) < 2 or not have_single_documents:
        return False
    runs_per_document: Counter[str] = Counter()
    runs_per_topic: Counter[str] = Counter()
    for outcome in outcomes:
        documents = set(outcome.documents.values())
        runs_per_document.update(documents)
        runs_per_topic.update(outcome.documents.keys())
    is_document_shared = max(runs_per_document.values()) > 1
    if is_document_shared:
        return False
    shared_topics = [qid for qid, n_runs in runs_per_topic.items() if n_runs > 1]
    n_shared = len(shared_topics)
    n_topics = len(runs_per_topic)
    return n_shared >= _MIN_SHARED and n_shared > n_topics / 2


def _comparing_measures(plan: Plan, outcomes: Sequence[Outcome]) -> list[str]:
    """Return the labels of measures by which an answer's value depends on judgments of others.

    The first answers are evaluated again, each as the only judged document of a topic.
    """
    measures = _measures_to_test(plan)
    if not measures:
        return []
    answers = _first_judged_answers(plan, outcomes)
    values_alone = _evaluate_alone(plan.judgments, measures, answers)
    values_of_runs = np.stack([outcome.values.T for outcome in outcomes])  # run × query × measure
    # An answer's value is that of its run on its query; shape (n_answers, n_measures).
    values_together = values_of_runs[answers.runs, answers.queries]

    comparing: list[str] = []
    for label, measure_alone in zip(measures, values_alone, strict=True):
        measure_together = values_together[:, plan.labels.index(label)]
        if not np.allclose(measure_together, measure_alone):
            comparing.append(label)
    return comparing


def _measures_to_test(plan: Plan) -> dict[str, Any]:
    """Return the measures by label that can be evaluated on other judgments than those given.

    Functions of users may be slow, and diversity measures read the qrels by subtopic.
    """
    measures: dict[str, Any] = {}
    for label, measure in zip(plan.labels, plan.measures, strict=True):
        is_function = function_of(measure) is not None
        if not is_function and not is_diversity_measure(measure):
            measures[label] = measure
    return measures


def _first_judged_answers(plan: Plan, outcomes: Sequence[Outcome]) -> _JudgedAnswers:
    """Return the first answers of all runs that are judged, in the order of their topics.

    There are at most `_MOST_ALONE`. Each run has one answer per topic, which no other run has.
    """
    run_of_docno: dict[str, int] = {}
    for run, outcome in enumerate(outcomes):
        for docno in outcome.documents.values():
            run_of_docno[docno] = run
    # The hits of a run are its judged documents: the row of each in the judgments, and its query.
    union = Rankings(_run_of_all_answers(outcomes), plan.judgments)
    rows = union.hits.row[:_MOST_ALONE]
    queries = union.hits.query[:_MOST_ALONE]
    docnos = plan.judgments.docnos[rows].tolist()
    runs = [run_of_docno[docno] for docno in docnos]
    return _JudgedAnswers(rows, queries, docnos, runs)


def _run_of_all_answers(outcomes: Sequence[Outcome]) -> dict[str, dict[str, float]]:
    """Return one run that retrieves the answers of all runs, by topic, with equal scores."""
    run: dict[str, dict[str, float]] = {}
    for outcome in outcomes:
        for qid, docno in outcome.documents.items():
            answers_of_topic = run.setdefault(qid, {})
            answers_of_topic[docno] = 1.0
    return run


def _evaluate_alone(
    judgments: Judgments, measures: dict[str, Any], answers: _JudgedAnswers
) -> Floats:
    """Return the values of answers, each as the only judged document of a topic of its own.

    Returns
    -------
    ndarray of float, shape (n_measures, n_answers)
    """
    n_answers = len(answers.pairs)
    topic_of_answer = np.arange(n_answers)
    qids = np.array(numbered_names(n_answers), dtype=object)
    labels: dict[str, Floats] = {}
    for name in judgments.label_names:
        labels[name] = judgments.labels(name)[answers.pairs]
    separate_judgments = judgments.with_copies(answers.pairs, topic_of_answer, qids, labels)
    run: dict[str, dict[str, float]] = {}
    for qid, docno in zip(qids, answers.docnos, strict=True):
        run[qid] = {docno: 1.0}
    rankings = Rankings(run, separate_judgments)
    return Plan(separate_judgments, measures).values(rankings)
