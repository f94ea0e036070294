"""CAM's gate: an aspect that is a precondition for the others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import CAM, MultiAspectError
from pt_multiaspect.integration.parsing import parse

SCALES = ma.Aspects(
    {"relevance": ma.Aspect(2, threshold=2), "credibility": 3, "effort": ma.Aspect(2)}
)


@pytest.fixture(scope="module")
def world() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Qrels of nine documents for each of 20 topics, of which some lack credibility, and a run."""
    rng = np.random.default_rng(0)
    rows = []
    for topic in range(20):
        for document in range(9):
            rows.append((f"q{topic}", f"d{document}", *rng.integers(0, (3, 4, 3))))
    qrels = pd.DataFrame(rows, columns=["qid", "docno", *SCALES])
    qrels = qrels.astype(dict.fromkeys(SCALES, float))
    qrels.loc[rng.random(len(qrels)) < 0.2, "credibility"] = np.nan
    run = qrels[["qid", "docno"]].assign(score=rng.random(len(qrels)))
    return qrels, run


def close_gate(qrels: pd.DataFrame) -> pd.DataFrame:
    """The qrels in which documents that are not relevant have the label 0 on the other aspects, if any."""
    is_relevant = qrels["relevance"] >= 2
    gated = qrels.copy()
    for name in ("credibility", "effort"):
        is_gated = ~is_relevant & qrels[name].notna()
        gated[name] = qrels[name].mask(is_gated, 0.0)
    return gated


def values_of(measure: ma.Measure, qrels: pd.DataFrame, run: pd.DataFrame) -> list[float]:
    return [metric.value for metric in measure.iter_calc(qrels, run)]


@pytest.mark.parametrize("base", ["nDCG@5", "AP", "RBP(p=0.8,rel=1)", "Bpref"])
@pytest.mark.parametrize(
    "weights",
    [None, {"relevance": 0, "credibility": 2, "effort": 1}],
    ids=["equal weights", "gate without weight"],
)
def test_the_gate_of_cam_is_cam_on_gated_labels(
    world: tuple[pd.DataFrame, pd.DataFrame], base: str, weights: dict[str, float] | None
) -> None:
    """With the gate relevance, a document that is not relevant gains nothing from its other labels."""
    qrels, run = world
    plain = CAM(base=base, weights=weights, aspects=SCALES)
    values = values_of(plain(gate="relevance"), qrels, run)
    assert values == pytest.approx(values_of(plain, close_gate(qrels), run), abs=1e-12)
    assert values != values_of(plain, qrels, run)


def test_the_gate_of_normalised_cam_is_normalised_cam_on_gated_labels(
    world: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    qrels, run = world
    plain = CAM(base="nDCG@5", normalized=True, aspects=SCALES)
    gated = CAM(base="nDCG@5", gate="relevance", normalized=True, aspects=SCALES)
    expected = values_of(plain, close_gate(qrels), run)
    assert values_of(gated, qrels, run) == pytest.approx(expected)
    assert parse(str(gated)) == [gated]


def test_an_unknown_gate_is_an_error() -> None:
    with pytest.raises(MultiAspectError, match="gate: expected one of the evaluated aspects"):
        CAM(gate="effort", aspects={"relevance": 1, "credibility": 1})
    with pytest.raises(MultiAspectError, match=r"gate: expected .*, got effort"):
        CAM(gate="effort").calc_aggregate(
            {"q": {"d": {"relevance": 1, "credibility": 1}}}, {"q": {"d": 1.0}}
        )
