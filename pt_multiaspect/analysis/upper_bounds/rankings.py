"""Rankings of all judged documents, and the paper's ideal ones."""

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
from ...kernels.hits import positions
from ...measures import Measure

__all__ = ["evaluate_at", "ideal_rankings", "judgments_of", "measure_of", "rankings_at", "sorted_by"]

#: Of the paper: sort documents by one number of their labels.
SCORES: dict[str, Callable[[Floats], Floats]] = {
    "sum": lambda values: values.sum(axis=0),
    "squares": lambda values: (values**2).sum(axis=0),
    "max": lambda values: values.max(axis=0),
}

#: With more aspects, the recursive strategy has too many orders of preference (720 of six).
MOST_ASPECTS = 6


def judgments_of(qrels: object) -> Judgments:
    """Judgments in an order of their own, so that of equally good rankings the same one is found."""
    return Judgments.of(qrels).in_order()


def measure_of(measure: ir_measures.Measure | str) -> Measure:
    """One measure of this package."""
    members = parsing.parse(measure)
    if len(members) != 1:
        raise MultiAspectError(f"{measure!r} stands for several measures: {choices(members)}; give one")
    one = parsing.as_measure(members[0])
    one.validate_params()
    if one.lower_is_better:
        raise MultiAspectError(f"small values of {one} are good, so there is no use in its upper bound")
    return one


def sorted_by(judgments: Judgments, keys: Floats) -> Ints:
    """The rank of each judged document when they are sorted by keys (rows), the first foremost, downwards."""
    query = judgments.pool_query
    order = np.lexsort((*-keys[::-1], query))
    rank = np.empty(len(query), dtype=np.intp)
    rank[order] = positions(query) + 1
    return rank


def rankings_at(judgments: Judgments, rank: Ints) -> Rankings:
    """The run that ranks judged documents so."""
    run = {"qid": judgments.qids[judgments.pool_query], "docno": judgments.docnos, "score": -rank}
    return Rankings(pd.DataFrame(run), judgments)


def evaluate_at(measure: Measure, judgments: Judgments, rank: Ints) -> Floats:
    """The values of a measure when judged documents are ranked so."""
    return measure.evaluate(rankings_at(judgments, rank))


def ideal_rankings(measure: Measure, judgments: Judgments) -> list[tuple[str, Ints]]:
    """The paper's strategies: names, and the rank each gives the judged documents."""
    views = measure.views(judgments)
    if len(views) > MOST_ASPECTS:
        raise MultiAspectError(
            f"the recursive strategy tries all orders of preference among aspects, which is done for up to "
            f"{MOST_ASPECTS}; {measure.NAME} has {len(views)}: {choices(view.name for view in views)}"
        )
    values = np.stack([view.scale.gains[view.grade] for view in views])
    rankings = [
        (" > ".join(views[place].name for place in order), sorted_by(judgments, values[list(order)]))
        for order in permutations(range(len(views)))
    ]
    for name, score in SCORES.items():
        rankings.append((name, sorted_by(judgments, np.concatenate([score(values)[None], values]))))
    return rankings
