"""D1–D8 of Lioma et al. (2017) and the claims of Maistro et al. (2021), tried on all small collections.

The notebook reproductions/axioms.ipynb states the properties. There are two aspects, whose gains
are their labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, permutations, product
from math import inf
from typing import NamedTuple

import pandas as pd

import pt_multiaspect as ma

NAMES = ("D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "Eq. 1", "Eq. 4", "1 attainable", "swap")
STRICT = ("D1", "D2", "D3", "D4", "D7", "D8")  # Equal scores are ties.
MOST_RANKED, MOST_IN_CHAIN = 3, 5  # The largest collections, by the number of documents.
TOLERANCE = 1e-9  # Scores that differ by at most this are equal.

Document = tuple[int, int]  # The grades of relevance and credibility, from 0 for the lowest.
Documents = tuple[Document, ...]


class Ranking(NamedTuple):
    """Documents by rank, other judged ones, and what is doubled: all labels, or the weight of this aspect."""

    ranked: Documents
    unranked: Documents = ()
    doubled: str = ""


Measures = Mapping[str, ma.Measure]
Rankings = Sequence[Ranking]
Scores = dict[Ranking, float]
Trials = Iterator[tuple[str, Rankings]]  # The name of a property, and rankings that it compares.


def is_better(first: Document, second: Document) -> bool:
    """Return whether a document is better on one aspect and worse on none."""
    return first != second and first[0] >= second[0] and first[1] >= second[1]


def swap(ranked: Documents, i: int, j: int) -> Documents:
    swapped = list(ranked)
    swapped[i], swapped[j] = ranked[j], ranked[i]
    return tuple(swapped)


def alone(ranked: Documents, i: int) -> Ranking:
    return Ranking(ranked[i : i + 1], tuple(sorted(ranked[:i] + ranked[i + 1 :])))


def both_orders(ranked: Documents, i: int, j: int, doubled: str = "") -> tuple[Ranking, Ranking]:
    return Ranking(ranked, doubled=doubled), Ranking(swap(ranked, i, j), doubled=doubled)


def all_trials(aspects: ma.Aspects) -> Trials:
    documents = list(product(*(range(len(aspect.scale)) for aspect in aspects.values())))
    chains = []  # Rankings in which no document is worse on any aspect than the next one.
    for n in range(1, MOST_IN_CHAIN + 1):
        for ranked in product(documents, repeat=n):
            if n <= MOST_RANKED:
                yield from trials_of_ranking(ranked)
            if all(upper == lower or is_better(upper, lower) for upper, lower in pairwise(ranked)):
                chains.append(ranked)
    known = set(chains)
    for chain in chains:
        yield from trials_of_chain(chain)
        for i in range(len(chain) - 1):
            yield from trials_of_neighbours(chain, i, known, list(aspects))


def trials_of_ranking(ranked: Documents) -> Trials:
    yield "D6", (Ranking(ranked), Ranking(ranked, doubled="labels"))
    if ranked == tuple(sorted(ranked)):
        yield "1 attainable", [Ranking(order) for order in permutations(ranked)]
    for i, j in combinations(range(len(ranked)), 2):
        yield "Eq. 4", (*both_orders(ranked, i, j), alone(ranked, i), alone(ranked, j))
        if is_better(ranked[i], ranked[j]):
            yield "Eq. 1", (alone(ranked, i), alone(ranked, j))
            yield "swap", both_orders(ranked, i, j)
            if any(len(set(grades)) == 1 for grades in zip(*ranked, strict=True)):
                yield "D7", both_orders(ranked, i, j)


def trials_of_chain(chain: Documents) -> Trials:
    if len(set(chain)) == 1:
        yield (
            "D5",
            [Ranking(chain)] * 2,
        )  # The score is NaN outside the range of the measure, and so is the margin.
    for i, j, k in combinations(range(len(chain)), 3):
        if is_better(chain[i], chain[j]) and is_better(chain[j], chain[k]):
            yield "D1", (Ranking(swap(chain, i, j)), Ranking(swap(chain, i, k)))
    steps = [(upper[0] - lower[0], upper[1] - lower[1]) for upper, lower in pairwise(chain)]
    for i, j in combinations(range(len(steps)), 2):
        if steps[i] == steps[j] != (0, 0):
            yield "D2", (Ranking(swap(chain, j, j + 1)), Ranking(swap(chain, i, i + 1)))


def trials_of_neighbours(
    chain: Documents, i: int, chains: set[Documents], names: list[str]
) -> Trials:
    def replace(upper: Document, lower: Document) -> Documents:
        return (*chain[:i], upper, lower, *chain[i + 2 :])

    (r1, c1), (r2, c2) = chain[i : i + 2]
    wider = []
    if r1 > r2:
        wider += [replace((r1 + 1, c1), (r2, c2)), replace((r1, c1), (r2 - 1, c2))]
    if c1 > c2:
        wider += [replace((r1, c1 + 1), (r2, c2)), replace((r1, c1), (r2, c2 - 1))]
    for other in chains.intersection(wider):
        yield "D3", (Ranking(swap(chain, i, i + 1)), Ranking(swap(other, i, i + 1)))
    if r1 == r2 and c1 > c2:
        for other in chains.intersection(replace((lower, c1), (lower, c2)) for lower in range(r1)):
            yield "D4", both_orders(chain, i, i + 1) + both_orders(other, i, i + 1)
    if (r1 > r2) != (c1 > c2):
        raised = names[0] if r1 > r2 else names[1]
        for other in chains.intersection([replace((r2 + c1 - c2, c2 + r1 - r2), (r2, c2))]):
            plain = both_orders(chain, i, i + 1) + both_orders(other, i, i + 1)
            yield (
                "D8",
                plain + both_orders(chain, i, i + 1, raised) + both_orders(other, i, i + 1, raised),
            )


def margin(name: str, scores: Sequence[float]) -> float:
    """Return by how much scores satisfy a property; infinite if it says nothing about them."""
    if name == "D6":
        return -abs(scores[0] - scores[1])
    if name == "1 attainable":
        return max(scores) - 1 if max(scores) > TOLERANCE else inf
    losses = [first - second for first, second in zip(scores[::2], scores[1::2], strict=True)]
    if name == "Eq. 4" and losses[1] < -TOLERANCE:
        return inf
    if name == "D4":
        return losses[0] - losses[1]
    if name == "D8":
        return losses[2] * losses[1] - losses[0] * losses[3]
    return losses[0]


def double(measure: ma.Measure, doubled: str, aspects: ma.Aspects) -> ma.Measure:
    """Return a measure for doubled labels, or with the weight of an aspect doubled; as it is without weights."""
    if doubled == "labels":
        return measure(
            aspects={name: (2 * aspect.scale.grades).tolist() for name, aspect in aspects.items()}
        )
    if doubled and "weights" in measure.SUPPORTED_PARAMS:
        return measure(weights={name: 2 if name == doubled else 1 for name in aspects})
    if doubled and "mu" in measure.SUPPORTED_PARAMS:
        return measure(mu={name: 1.0 if name == doubled else 0.5 for name in aspects})
    return measure


def score(
    measures: Measures, aspects: ma.Aspects, rankings: Rankings, doubled: str
) -> dict[str, Scores]:
    """Return the scores of rankings by measure; higher is better, and NaN is outside the range of the measure."""
    judged, retrieved = [], []
    for topic, ranking in enumerate(rankings):
        for rank, grades in enumerate(ranking.ranked + ranking.unranked):
            judged.append((str(topic), f"d{rank}", *grades))
            if rank < len(ranking.ranked):
                retrieved.append((str(topic), f"d{rank}", -rank))
    qrels = pd.DataFrame(judged, columns=["qid", "docno", *aspects])
    for name, aspect in aspects.items():
        qrels[name] = aspect.scale.grades[qrels[name]] * (2 if doubled == "labels" else 1)
    run = pd.DataFrame(retrieved, columns=["qid", "docno", "score"])
    changed = {label: double(measure, doubled, aspects) for label, measure in measures.items()}
    scores = {}
    for label, rows in ma.evaluate({"run": run}, qrels, changed, progress=False).groupby("measure"):
        low, high = measures[label].range
        values = rows["value"].where(rows["value"].between(low - TOLERANCE, high + TOLERANCE))
        oriented = 1 - values if measures[label].lower_is_better else values
        scores[label] = {
            rankings[int(topic)]: value for topic, value in zip(rows["qid"], oriented, strict=True)
        }
    return scores


def check(measures: Measures, aspects: ma.Aspects, names: Sequence[str] = NAMES) -> pd.DataFrame:
    """Return the verdict by measure and property, and the scores of the smallest rankings that show it."""
    trials: dict[str, list[Rankings]] = {name: [] for name in NAMES}
    for name, rankings in all_trials(aspects):
        trials[name].append(rankings)
    asked = {ranking for name in names for rankings in trials[name] for ranking in rankings}
    scores: dict[str, Scores] = {label: {} for label in measures}
    for doubled in {ranking.doubled for ranking in asked}:
        some = [ranking for ranking in asked if ranking.doubled == doubled]
        for label, by_ranking in score(measures, aspects, some, doubled).items():
            scores[label] |= by_ranking
    rows = []
    for (label, measure), name in product(measures.items(), names):
        rows.append((label, name, *verdict(name, measure, trials[name], scores[label])))
    return pd.DataFrame(rows, columns=["measure", "property", "verdict", "example"])


def verdict(
    name: str, measure: ma.Measure, trials: Sequence[Rankings], scores: Scores
) -> tuple[str, Scores]:
    if name == "1 attainable" and measure.range != (0, 1):
        return "n/a", {}
    if name == "D8" and not {"weights", "mu"}.intersection(measure.SUPPORTED_PARAMS):
        return "fails", {}
    margins = [margin(name, [scores[ranking] for ranking in rankings]) for rankings in trials]
    violated = [
        rankings for by, rankings in zip(margins, trials, strict=True) if not by >= -TOLERANCE
    ]
    tied = [
        rankings
        for by, rankings in zip(margins, trials, strict=True)
        if by <= TOLERANCE and name in STRICT
    ]
    if not violated and not tied:
        return "holds", {}
    example = {ranking: scores[ranking] for ranking in (violated or tied)[0]}
    return "fails" if violated else "ties", example
