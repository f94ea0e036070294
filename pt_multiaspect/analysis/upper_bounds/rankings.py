"""Rankings of all judged documents, and the ideal rankings of Maistro et al."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import ir_measures
import numpy as np
import pandas as pd

from ..._typing import Floats, Ints
from ...collection.judgments import Judgments
from ...collection.rankings import Rankings
from ...errors import MultiAspectError, choices
from ...integration import parsing
from ...measures import Measure
from ...measures.best_rank import ranks_by_keys

#: Strategies of the paper that sort documents by a score of their gains.
SCORES: dict[str, Callable[[Floats], Floats]] = {
    "sum": lambda values: values.sum(axis=0),
    "squares": lambda values: (values**2).sum(axis=0),
    "max": lambda values: values.max(axis=0),
}

#: Maximum number of aspects for the recursive strategy: six have 720 orders of preference.
MOST_ASPECTS = 6


def sorted_judgments(qrels: object) -> Judgments:
    """Return sorted judgments, so that the choice among equally good rankings is independent of row order."""
    return Judgments.of(qrels).with_sorted_documents()


def read_measure(measure: ir_measures.Measure | str) -> Measure:
    """Return one measure of this package."""
    checked = parsing.as_measure(parsing.parse_one(measure))
    checked.validate_params()
    if checked.lower_is_better:
        raise MultiAspectError(f"upper_bound is undefined for lower-is-better measures such as {checked}")
    return checked


def rankings_at(judgments: Judgments, rank: Ints) -> Rankings:
    """Return the run with each judged document at the given rank."""
    run = {"qid": judgments.qids[judgments.pool_query], "docno": judgments.docnos, "score": -rank}
    return Rankings(pd.DataFrame(run), judgments)


def evaluate_at(measure: Measure, judgments: Judgments, rank: Ints) -> Floats:
    """Return the values of a measure for the given ranks of the judged documents."""
    return measure.evaluate(rankings_at(judgments, rank))


def ideal_rankings(measure: Measure, judgments: Judgments) -> list[tuple[str, Ints]]:
    """Return the names of the paper's strategies, with the ranks they assign to the judged documents."""
    views = measure.views(judgments)
    if len(views) > MOST_ASPECTS:
        raise MultiAspectError(
            f"strategy='recursive' tries all orders of the aspects: expected at most {MOST_ASPECTS} aspects, "
            f"got {len(views)} for {measure.NAME}: {choices(view.name for view in views)}"
        )
    values = np.stack([view.scale.gains[view.grade] for view in views])
    rankings = [
        (" > ".join(views[aspect].name for aspect in order), ranks_by_keys(judgments, values[list(order)]))
        for order in permutations(range(len(views)))
    ]
    for name, score in SCORES.items():
        rankings.append((name, ranks_by_keys(judgments, np.concatenate([score(values)[None], values]))))
    return rankings
