"""The time of variants as a multiple of one measure, and of weightings, on CLEF eHealth 2018 (36 runs, 50 topics).

Run with ``pytest benchmarks -s``. The folder with the data is that of the study:
``$PT_MULTIASPECT_SHARED``.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect.analysis import multiverse, weightings

from .measuring import ratio, seconds
from .study.worlds import FILES_2018

FOLDER = Path(os.environ.get("PT_MULTIASPECT_SHARED", "../shared")) / "data" / "clef2018"
SCALES = ma.Aspects({"relevance": 2, "understandability": 10, "trust": 10})
BINARY = {
    name: ma.Aspect(scale.grades, gains=[0] * 6 + [1] * 5)
    for name, scale in list(SCALES.items())[1:]
}

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=f"{FOLDER} does not exist")


@pytest.fixture(scope="module")
def clef() -> tuple[dict[str, pd.DataFrame], ma.Judgments]:
    columns = ["name", "qid", "rank", "docno"]
    table = pd.read_csv(FOLDER / "runs.top100.tsv.gz", sep="\t", names=columns, dtype={"qid": str})
    table["score"] = -table["rank"]
    runs = {str(name): run[["qid", "docno", "score"]] for name, run in table.groupby("name")}
    return runs, ma.Judgments(
        ma.read_qrels({name: FOLDER / file for name, file in FILES_2018.items()})
    )


def evaluate(clef: tuple[dict[str, pd.DataFrame], ma.Judgments], measures: object) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ma.MultiAspectWarning
        )  # a run without documents for one topic
        return ma.evaluate(*clef, measures, progress=False)


def test_variants(clef: tuple[dict[str, pd.DataFrame], ma.Judgments]) -> None:
    variants = ma.variants(
        ma.TOMA,
        distance=["euclidean", "manhattan", "chebyshev", 3],
        axes=["equal", "gains"],
        gate=[None, "relevance"],
        cutoff=[5, 10, 20],
        aspects={"graded": SCALES, "halves": {"relevance": 2, **BINARY}},
    )
    one = next(iter(variants.values()))
    times = ratio(lambda: evaluate(clef, variants), lambda: evaluate(clef, one))
    print(f"\n{len(variants)} variants of TOMA: {times:.1f} times as long as one (at most 6)")
    values = evaluate(clef, variants)
    taken = min(seconds(lambda: multiverse(values)) for _ in range(3))
    print(f"multiverse of 630 pairs: {taken:.2f} s (at most 2)")
    assert len(variants) == 96
    assert times < 6
    assert taken < 2


def test_weightings(clef: tuple[dict[str, pd.DataFrame], ma.Judgments]) -> None:
    values = evaluate(
        clef, [ma.On(aspect=aspect, base="nDCG@10", aspects=SCALES) for aspect in SCALES]
    )
    taken, with_intervals = (
        min(seconds(lambda n=n: weightings(values, n_resamples=n)) for _ in range(3))
        for n in (1, 1000)
    )
    print(
        f"\nweightings of 630 pairs: {taken:.2f} s (at most .5), with intervals "
        f"{with_intervals:.2f} s (at most 2)"
    )
    assert taken < 0.5
    assert with_intervals < 2
