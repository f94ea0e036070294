"""How often differences have the right sign if labels are missing, by three readings of the missing ones.

``nice python -m benchmarks.study.readings`` repeats it in twenty minutes and writes
``readings.json``. The runs are those of CLEF eHealth 2015 and 2018, without the documents that
nobody judged, so that the truth is known.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pt_multiaspect as ma

from .report import load, save
from .worlds import FILES_2015, FILES_2018, SCALES_2015, SCALES_2018, judged_runs

RESULTS = Path(__file__).with_name("readings.json")

READINGS = ("lowest", "condensed", "expected")

#: Masks of the labels that are lost, documents × aspects, and the run whose differences count, if
#: not all do.
Losses = Iterator[tuple[np.ndarray, str | None]]


def new_system(top: pd.DataFrame, qrels: pd.DataFrame) -> Losses:
    """Lose the documents that only one run has among its first 10, for each run."""
    alone = top[~top.duplicated(["qid", "docno"], keep=False)]
    pairs = pd.MultiIndex.from_frame(qrels[["qid", "docno"]])
    for name in top["name"].unique():
        own = alone[alone["name"] == name]
        yield pairs.isin(pd.MultiIndex.from_frame(own[["qid", "docno"]]))[:, None], name


def at_random(top: pd.DataFrame, qrels: pd.DataFrame) -> Losses:
    """Lose 30 % of the labels, five times."""
    for seed in range(5):
        yield np.random.default_rng(seed).random((len(qrels), len(qrels.columns) - 2)) < 0.3, None


def shallow_pool(top: pd.DataFrame, qrels: pd.DataFrame) -> Losses:
    """Lose the documents that no run has among its first 3."""
    first = top[top.groupby(["name", "qid"]).cumcount() < 3]
    pairs = pd.MultiIndex.from_frame(qrels[["qid", "docno"]])
    yield ~pairs.isin(pd.MultiIndex.from_frame(first[["qid", "docno"]]))[:, None], None


def only_relevant(top: pd.DataFrame, qrels: pd.DataFrame) -> Losses:
    """Lose the other labels of documents that are not relevant."""
    yield (qrels["relevance"] == 0).to_numpy()[:, None] & (qrels.columns[2:] != "relevance"), None


SETTINGS: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Losses]] = {
    "documents of a new system alone": new_system,
    "30 % of the labels, at random": at_random,
    "documents below rank 3 of all runs": shallow_pool,
    "other aspects of documents that are not relevant": only_relevant,
}


def right_signs(
    runs: dict[str, pd.DataFrame],
    qrels: pd.DataFrame,
    lost: np.ndarray,
    aspects: ma.Aspects,
    name: str | None = None,
) -> dict[str, float]:
    """Return for which fraction of the pairs, or of those with a run, each reading has the sign of the truth.

    Parameters
    ----------
    runs : dict of str to DataFrame
        The runs.
    qrels : DataFrame
        All labels.
    lost : ndarray of bool, shape (n_documents, n_aspects) or (n_documents, 1)
        The labels that are lost.
    aspects : Aspects
        The scales.
    name : str, optional
        The run whose differences count.
    """
    labels = list(aspects)
    judged = qrels.assign(
        **qrels[labels].astype(float).mask(np.broadcast_to(lost, (len(qrels), len(labels))))
    )
    cam, condensed = (
        ma.CAM(aspects=aspects, base=base) for base in ("nDCG@10", "nDCG(judged_only=True)@10")
    )
    try:
        result = ma.analysis.missing_labels(runs, judged, cam, baseline=name)
    except ma.MultiAspectError:  # no document that could donate labels
        result = ma.analysis.missing_labels(runs, judged, cam, baseline=name, n_samples=0)
    pairs = result.pairs

    def differences(measure: object, labels: pd.DataFrame) -> np.ndarray:
        means = ma.aggregate(
            ma.evaluate(runs, labels, {"value": measure}, progress=False)
        ).set_index("name")["value"]
        return means[pairs["a"]].to_numpy() - means[pairs["b"]].to_numpy()

    truth = differences(cam, qrels)
    estimates = (pairs["difference"], differences(condensed, judged), pairs["expected"])
    differs = np.abs(truth) > 1e-12
    return {
        reading: float((np.sign(estimate) == np.sign(truth))[differs].mean())
        if estimate.notna().all()
        else np.nan
        for reading, estimate in zip(READINGS, map(pd.Series, estimates), strict=True)
    }


def study(
    data: Path, folder: str, files: dict[str, str], aspects: ma.Aspects
) -> dict[str, dict[str, float]]:
    """Return the mean fractions of each setting on a collection."""
    table, qrels = judged_runs(data / folder, files)
    qrels = qrels[["qid", "docno", *aspects]]
    table = table.merge(qrels[["qid", "docno"]]).sort_values(
        ["name", "qid", "score"], ascending=[True, True, False]
    )
    runs = {str(name): run[["qid", "docno", "score"]] for name, run in table.groupby("name")}
    top = table.groupby(["name", "qid"]).head(10)
    return {
        setting: pd.DataFrame(
            [right_signs(runs, qrels, lost, aspects, name) for lost, name in losses(top, qrels)]
        )
        .mean()
        .round(4)
        .to_dict()
        for setting, losses in SETTINGS.items()
    }


def table(results: dict[str, Any]) -> list[str]:
    """Return the rows of the table of the page *Unjudged documents*."""
    collections = [results["2018"], results["2015"]]
    cells = {
        setting: [
            " / ".join(
                "–" if value != value else f"{value:.2f}".replace("0.", ".")
                for value in (by_setting[setting][reading] for by_setting in collections)
            )
            for reading in READINGS
        ]
        for setting in SETTINGS
    }
    return [f"| {' | '.join([setting, *row])} |" for setting, row in cells.items()]


def main() -> None:
    """Run the study, write its results and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    shared = Path(os.environ.get("PT_MULTIASPECT_SHARED", "../shared"))
    parser.add_argument(
        "--data", type=Path, default=shared / "data", help="the folder with clef2015 and clef2018"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    with ma.errors.silence_warnings():
        results = {
            "about": {
                "command": "python -m benchmarks.study.readings",
                "measure": "CAM(base='nDCG@10')",
            },
            "2015": study(given.data, "clef2015", FILES_2015, SCALES_2015),
            "2018": study(given.data, "clef2018", FILES_2018, SCALES_2018),
        }
    save(results, given.out)
    print("\n".join(table(load(given.out))))


if __name__ == "__main__":
    main()
