"""Generated answers that are evaluated as documents.

Each run has one per topic, which no other run has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

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
    runs_per_document: Counter[str] = Counter()
    runs_per_topic: Counter[str] = Counter()
    for outcome in outcomes:
        runs_per_document.update(set(outcome.documents.values()))
        runs_per_topic.update(outcome.documents.keys())
    if max(runs_per_document.values()) > 1:
        return False
    n_shared = sum(n_runs > 1 for n_runs in runs_per_topic.values())
    return n_shared >= _MIN_SHARED and 2 * n_shared > len(runs_per_topic)


def _comparing_measures(plan: Plan, outcomes: Sequence[Outcome]) -> list[str]:
    """Return the measures whose value of an answer depends on judgments of other answers.

    The first answers are evaluated, each as the only judged document of a topic. Functions of users
    are not called, and diversity measures read the qrels by subtopic.
    """
    rows = []  # the positions of the measures that are evaluated
    for row, measure in enumerate(plan.measures):
        if function_of(measure) is None and not is_diversity_measure(measure):
            rows.append(row)
    if not rows:
        return []
    run_of_document: dict[str, int] = {}
    answers: dict[str, dict[str, float]] = {}
    for run, outcome in enumerate(outcomes):
        for qid, docno in outcome.documents.items():
            run_of_document[docno] = run
            answers.setdefault(qid, {})[docno] = 1.0
    hits = Rankings(answers, plan.judgments).hits
    pair = hits.row[:_MOST_ALONE]
    query = hits.query[:_MOST_ALONE]
    docnos = plan.judgments.docnos[pair].tolist()
    measures = {plan.labels[row]: plan.measures[row] for row in rows}
    values_alone = _evaluate_alone(plan.judgments, measures, pair, docnos)
    values = np.stack([outcome.values for outcome in outcomes])  # runs, measures, queries
    runs = [run_of_document[docno] for docno in docnos]
    values_together = values[runs, :, query].T  # measures, answers
    labels = []
    for row, row_alone in zip(rows, values_alone, strict=True):
        if not np.allclose(values_together[row], row_alone):
            labels.append(plan.labels[row])
    return labels


def _evaluate_alone(
    judgments: Judgments, measures: dict[str, Any], pair: Ints, docnos: list[str]
) -> Floats:
    """Return the values of judged pairs, each alone in a topic, shape (n_measures, n_pairs)."""
    qids = np.array(numbered_names(len(pair)), dtype=object)
    labels = {name: judgments.labels(name)[pair] for name in judgments.label_names}
    alone = judgments.with_copies(pair, np.arange(len(pair)), qids, labels)
    run = {qid: {docno: 1.0} for qid, docno in zip(qids, docnos, strict=True)}
    return Plan(alone, measures).values(Rankings(run, alone))
