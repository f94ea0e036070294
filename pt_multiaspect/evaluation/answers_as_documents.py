"""Generated answers that are evaluated as documents: each run has one per topic, and no other run has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..bases.delegated import function_of
from ..bases.standard import is_diversity_measure
from ..collection import Rankings
from ..collection.judgments import numbered_names
from ..errors import MultiAspectError, choices, silence_warnings, warn_once
from .plan import Outcome, Plan

#: Minimum number of topics that runs share to conclude that their documents are answers.
_MIN_SHARED = 2

#: Maximum number of answers that are evaluated alone.
_MOST_ALONE = 500


def warn_of_answers(plan: Plan, outcomes: Sequence[Outcome]) -> None:
    """Warn if the documents of all runs look like answers, and a measure compares them with each other.

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
    warn_once(
        f"each of the {len(outcomes)} runs has one document per topic, and no document is in two "
        f"runs, as if the documents were generated answers. Then values of {choices(labels)} do "
        "not tell how good an answer is: they are divided by an ideal or by the number of relevant "
        "documents, which contain the answers of other runs. Score answers with ma.answers, as in "
        "ma.answers.combine(ma.answers.from_criteria(judged, aspects=…), 'CAM'), or choose "
        "measures without this division, such as CG@1 and P@1"
    )


def _are_answers(outcomes: Sequence[Outcome]) -> bool:
    """Return whether all runs have one document per topic, which no other run has."""
    if len(outcomes) < 2 or not all(outcome.documents for outcome in outcomes):
        return False
    run_documents = [docno for outcome in outcomes for docno in set(outcome.documents.values())]
    if len(set(run_documents)) < len(run_documents):
        return False
    runs_per_topic = Counter(qid for outcome in outcomes for qid in outcome.documents)
    n_shared = sum(n_runs > 1 for n_runs in runs_per_topic.values())
    return n_shared >= _MIN_SHARED and 2 * n_shared > len(runs_per_topic)


def _comparing_measures(plan: Plan, outcomes: Sequence[Outcome]) -> list[str]:
    """Return the measures by which an answer has another value if no other answer is judged for its topic.

    The first answers are evaluated, each as the only judged document of a topic. Functions of users
    are not called, and diversity measures read the qrels by subtopic.
    """
    measures = {
        label: measure
        for label, measure in zip(plan.labels, plan.measures, strict=True)
        if function_of(measure) is None and not is_diversity_measure(measure)
    }
    if not measures:
        return []
    run_of_document: dict[str, int] = {}
    answers: dict[str, dict[str, float]] = {}
    for position, outcome in enumerate(outcomes):
        for qid, docno in outcome.documents.items():
            run_of_document[docno] = position
            answers.setdefault(qid, {})[docno] = 1.0
    judgments = plan.judgments
    hits = Rankings(answers, judgments).hits
    query, pair = hits.query[:_MOST_ALONE], hits.row[:_MOST_ALONE]
    docnos = judgments.docnos[pair].tolist()
    qids = np.array(numbered_names(len(pair)), dtype=object)
    labels = {name: judgments.labels(name)[pair] for name in judgments.label_names}
    alone = judgments.with_copies(pair, np.arange(len(pair)), qids, labels)
    run = {qid: {docno: 1.0} for qid, docno in zip(qids, docnos, strict=True)}
    values_alone = Plan(alone, measures).values(Rankings(run, alone))
    values = np.stack([outcome.values for outcome in outcomes])  # runs, measures, queries
    values_together = values[[run_of_document[docno] for docno in docnos], :, query].T
    row_of_label = {label: row for row, label in enumerate(plan.labels)}
    return [
        label
        for label, row_alone in zip(measures, values_alone, strict=True)
        if not np.allclose(values_together[row_of_label[label]], row_alone)
    ]
