"""CAM's gate: an aspect that is a precondition for the others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import CAM, MultiAspectError
from pt_multiaspect.integration.parsing import parse


def test_the_gate_of_cam_is_cam_on_gated_labels() -> None:
    rng = np.random.default_rng(0)
    aspects = ma.Aspects(
        {"relevance": ma.Aspect(2, threshold=2), "credibility": 3, "effort": ma.Aspect(2)}
    )
    rows = [(f"q{q}", f"d{d}", *rng.integers(0, (3, 4, 3))) for q in range(20) for d in range(9)]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", *aspects]).astype(
        dict.fromkeys(aspects, float)
    )
    qrels.loc[rng.random(len(qrels)) < 0.2, "credibility"] = np.nan
    run = qrels[["qid", "docno"]].assign(score=rng.random(len(qrels)))
    passed = qrels["relevance"] >= 2
    gated = qrels.assign(
        **{
            name: qrels[name].where(passed | qrels[name].isna(), 0.0)
            for name in ("credibility", "effort")
        }
    )
    for base in ("nDCG@5", "AP", "RBP(p=0.8,rel=1)", "Bpref"):
        for extra in ({}, {"weights": {"relevance": 0, "credibility": 2, "effort": 1}}):
            with_gate = CAM(base=base, gate="relevance", aspects=aspects, **extra).iter_calc(
                qrels, run
            )
            by_hand = CAM(base=base, aspects=aspects, **extra).iter_calc(gated, run)
            results, wanted = ([m.value for m in values] for values in (with_gate, by_hand))
            assert results == pytest.approx(wanted, abs=1e-12)
    assert results != [
        m.value for m in CAM(base=base, aspects=aspects, **extra).iter_calc(qrels, run)
    ]
    best = CAM(base="nDCG@5", gate="relevance", normalized=True, aspects=aspects)
    plain = CAM(base="nDCG@5", normalized=True, aspects=aspects)
    assert [m.value for m in best.iter_calc(qrels, run)] == pytest.approx(
        [m.value for m in plain.iter_calc(gated, run)]
    )
    assert parse(str(best)) == [best]


def test_an_unknown_gate_is_an_error() -> None:
    with pytest.raises(MultiAspectError, match="gate: expected one of the evaluated aspects"):
        CAM(gate="effort", aspects={"relevance": 1, "credibility": 1})
    with pytest.raises(MultiAspectError, match=r"gate: expected .*, got effort"):
        CAM(gate="effort").calc_aggregate(
            {"q": {"d": {"relevance": 1, "credibility": 1}}}, {"q": {"d": 1.0}}
        )
