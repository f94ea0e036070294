"""Extremes of normalised sums over attainable gains, against enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pt_multiaspect.kernels import label_extremes
from pt_multiaspect.kernels.label_extremes import AttainableGains, highest_ratios, shared_ratios

Sets = Sequence[Sequence[float]]


def attainable(sets: Sets, discounts: Any) -> AttainableGains:
    levels = np.unique(np.concatenate([[0.0], *map(np.asarray, sets)]))
    return AttainableGains(
        levels, np.array([np.isin(levels, gains) for gains in sets]), np.asarray(discounts)
    )


def ratio(weights: Any, gain: Any, discounts: Any) -> float:
    ideal = np.sort(gain)[::-1] @ discounts
    return float(weights @ gain / ideal) if ideal > 0 else 0.0


def enumerate_ratios(weights: Any, sets: Sets, discounts: Any) -> float:
    return max(ratio(weights, np.array(gain), discounts) for gain in itertools.product(*sets))


def draw_sets(rng: np.random.Generator, n: int) -> list[list[float]]:
    """Gains of judged documents, of documents on one scale, and of ones whose gains have gaps."""
    scale = float(rng.choice([1.0, 1e-6, 2.0**52]))
    kind = int(rng.integers(4))
    sets: list[list[float]] = []
    for _ in range(n):
        if rng.random() < 0.4:
            sets.append([scale * int(rng.integers(0, 4))])
        elif kind == 0:
            sets.append([0.0, scale, 2 * scale])
        elif kind == 1:
            sets.append(np.unique(rng.integers(0, 5, 3) * scale).tolist())
        elif kind == 2:
            sets.append(np.unique(rng.random(3) * scale).tolist())
        else:
            sets.append(np.unique(rng.choice([0, 1, 2, 2.0**52], 2)).tolist())
    return sets


def draw_weights(rng: np.random.Generator, discounts: Any) -> Any:
    """The discounts of documents in two rankings, their negatives and differences."""
    rankings = np.zeros((2, len(discounts)))
    for row in rankings:
        documents = rng.permutation(len(discounts))[: rng.integers(0, len(discounts) + 1)]
        row[documents] = discounts[: len(documents)]
    a, b = rankings
    return np.array([a, -a, a - b, b - a])


@pytest.mark.parametrize("seed", range(8))
def test_maxima_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n = int(rng.integers(2, 7))
        discounts = [1 / np.log2(np.arange(n) + 2.0), 0.5 ** np.arange(n), np.ones(n)][
            rng.integers(3)
        ]
        discounts[rng.integers(1, n + 1) :] = 0.0
        sets, weights = draw_sets(rng, n), draw_weights(rng, discounts)
        gains = attainable(sets, discounts)
        result = highest_ratios(weights, gains)
        assert result.exact.all()
        for row, value in zip(weights, result.value, strict=True):
            assert value == pytest.approx(
                enumerate_ratios(row, sets, discounts), abs=1e-14, rel=1e-12
            )
        # The same if the documents without a weight, which come last, are left out of the weights.
        weighted = np.flatnonzero((weights != 0).any(axis=0))
        order = np.append(weighted, np.flatnonzero((weights == 0).all(axis=0)))
        shorter = highest_ratios(
            weights[:, weighted], attainable([sets[row] for row in order], discounts)
        )
        np.testing.assert_allclose(shorter.value, result.value, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_ratios_of_several_ideals_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(30):
        n = int(rng.integers(1, 4))
        discounts = 1 / np.log2(np.arange(n) + 2.0)
        scales = [np.unique(rng.integers(0, 4, 3)).astype(float).tolist() for _ in range(2)]
        sets = [
            [scale if rng.random() < 0.6 else [float(rng.choice(scale))] for _ in range(n)]
            for scale in scales
        ]
        values = []
        for gain in itertools.product(*sets[0], *sets[1]):
            parts = [np.array(part) for part in (gain[:n], gain[n:])]
            ideal = sum(np.sort(part)[::-1] @ discounts for part in parts)
            values.append(sum(part @ discounts for part in parts) / ideal if ideal > 0 else 0.0)
        found = shared_ratios(discounts, [attainable(part, discounts) for part in sets])
        np.testing.assert_allclose(found, [min(values), max(values)], atol=1e-14)


def test_gains_with_gaps_are_not_set_to_what_a_document_cannot_have() -> None:
    weights, discounts = np.array([[1.0, 0.5, 0.0]]), np.array([1.0, 1 / np.log2(3), 0.5])
    sets = [[0.0, 1.0], [0.0, 3.0], [1.0]]
    gains = attainable(sets, discounts)
    assert highest_ratios(weights, gains).value[0] == pytest.approx(
        enumerate_ratios(weights[0], sets, discounts)
    )
    assert (
        highest_ratios(weights, gains.without_gaps()).value[0]
        > highest_ratios(weights, gains).value[0]
    )


@pytest.mark.parametrize("factor", [1e-6, 1e-300, 2.0**52])
def test_the_unit_of_gains_makes_no_difference(factor: float) -> None:
    rng = np.random.default_rng(3)
    sets = [np.unique(rng.random(3)).tolist() for _ in range(12)]
    discounts = 1 / np.log2(np.arange(12) + 2.0)
    weights = draw_weights(rng, discounts)
    expected = highest_ratios(weights, attainable(sets, discounts)).value
    scaled = attainable([[factor * gain for gain in some] for some in sets], discounts)
    np.testing.assert_allclose(highest_ratios(weights, scaled).value, expected, rtol=1e-14)


def test_beyond_the_limit_of_nodes_values_are_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    sets = [np.unique(rng.random(2)).tolist() for _ in range(7)]
    discounts = 1 / np.log2(np.arange(7) + 2.0)
    weights = np.stack([draw_weights(rng, discounts)[0] for _ in range(20)])
    exact = highest_ratios(weights, attainable(sets, discounts))
    monkeypatch.setattr(label_extremes, "MOST_NODES", 2)
    bound = highest_ratios(weights, attainable(sets, discounts))
    assert exact.exact.all()
    assert not bound.exact.all()
    assert (bound.value >= exact.value - 1e-15).all()
    np.testing.assert_array_equal(bound.value[bound.exact], exact.value[bound.exact])


def test_without_problems_and_without_missing_labels() -> None:
    gains = attainable([[2.0], [0.0]], [1.0, 0.5])
    assert len(highest_ratios(np.zeros((0, 2)), gains).value) == 0
    np.testing.assert_array_equal(
        highest_ratios(np.array([[1.0, 0.0], [0.0, 0.0]]), gains).value, [1.0, 0.0]
    )
