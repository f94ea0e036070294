"""Run the study: ``nice python -m benchmarks.study``, about seven minutes on one core.

The page docs/reproductions/training_targets.ipynb describes the collections; without them all
worlds are synthetic.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pt_multiaspect as ma

from . import worlds
from .learning import BY_LABEL, BY_MEASURE, COMPARED, LEARNERS, MEASURES, PARAMS, WEIGHTED, evaluate
from .report import RESULTS, save

PACKAGES = ("numpy", "pandas", "scikit-learn", "lightgbm")


def of_synthetic(setting: dict[str, Any], n_draws: int) -> dict[str, Any]:
    """Study worlds that are drawn independently: one training and one test set each."""
    scores: dict[str, Any] = {}
    drawn = [worlds.synthetic(**setting, seed=worlds.FIRST_SEED + draw) for draw in range(n_draws)]
    for world in drawn:
        for learner, values in scores_of(world, worlds.first_and_rest(world)).items():
            for name, by_measure in values.items():
                for measure, (value,) in by_measure.items():
                    scores.setdefault(learner, {}).setdefault(name, {}).setdefault(
                        measure, []
                    ).append(value)
    tables = [pd.DataFrame(world.prevalence) for world in drawn]
    prevalence = sum(tables[1:], tables[0]) / n_draws
    return {**drawn[0].size, "prevalence": prevalence.to_dict(), "n_folds": None, "scores": scores}


def of_collection(world: worlds.World, n_splits: int, n_repeats: int) -> dict[str, Any]:
    """Study a collection by repeated cross-validation, and by the same folds with other row orders."""
    cv = ma.RepeatedQueryKFold(n_splits, n_repeats, random_state=0)
    orders = [
        evaluate(world, splits, ["relevance", "scaled sum", "linear form", "TOMA classes"])
        for splits in worlds.row_orders(world, n_repeats, n_splits, seed=0)
    ]
    means = {
        name: {
            measure: [float(np.mean(each[name][measure])) for each in orders]
            for measure in by_measure
        }
        for name, by_measure in orders[0].items()
    }
    return {
        **world.size,
        "prevalence": world.prevalence,
        "n_folds": n_splits,
        "scores": scores_of(world, cv),
        "row orders": means,
    }


def scores_of(world: worlds.World, cv: Any) -> dict[str, Any]:
    """Evaluate both learners on all targets, and LightGBM on single aspects and a random order."""
    single = [aspect for aspect in world.aspects if aspect not in COMPARED]
    also = {"LightGBM": [*single, WEIGHTED, BY_MEASURE, BY_LABEL, "random order"]}
    return {
        learner: evaluate(world, cv, [*COMPARED, *also.get(learner, [])], learner=learner)
        for learner in LEARNERS
    }


def rounded(value: Any) -> Any:
    """Round all numbers to five decimals."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 5) if isinstance(value, float) else value


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    shared = Path(os.environ.get("PT_MULTIASPECT_SHARED", "../shared"))
    parser.add_argument(
        "--data", type=Path, default=shared / "data", help="the folder with clef2015 and clef2018"
    )
    parser.add_argument(
        "--draws", type=int, default=20, help="number of synthetic worlds per setting"
    )
    parser.add_argument("--splits", type=int, default=5, help="number of folds")
    parser.add_argument(
        "--repeats", type=int, default=2, help="number of repeats, and of row orders"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    start = time.process_time()
    found: dict[str, Any] = {}
    for name, setting in worlds.SETTINGS.items():
        found[name] = of_synthetic(setting, given.draws)
        print(f"{name}: {time.process_time() - start:.0f} s", flush=True)
    for name, read in worlds.COLLECTIONS.items():
        if not given.data.is_dir():
            print(f"{name} left out: {given.data} does not exist")
            continue
        found[name] = of_collection(read(given.data), given.splits, given.repeats)
        print(f"{name}: {time.process_time() - start:.0f} s", flush=True)
    about = {
        "command": "python -m benchmarks.study",
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
        "cpu_seconds": round(time.process_time() - start),
        "measures": list(MEASURES),
        "synthetic": {
            "seeds": given.draws,
            "training_queries": worlds.N_TRAIN,
            "test_queries": worlds.N_TEST,
            "documents_per_query": worlds.N_DOCUMENTS,
            "feature_noise": list(worlds.NOISE),
            "settings": worlds.SETTINGS,
        },
        "collections": {"folds": given.splits, "repeats": given.repeats, "random_state": 0},
        "lightgbm": PARAMS,
    }
    scales = (
        {"directions of CLEF eHealth 2018": worlds.directions(given.data)}
        if given.data.is_dir()
        else {}
    )
    save(rounded({"about": about, **scales, "worlds": found}), given.out)


if __name__ == "__main__":
    main()
