"""The file of results, and the differences that it shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import pt_multiaspect as ma

RESULTS = Path(__file__).with_name("results.json")


def load(path: Path = RESULTS) -> dict[str, Any]:
    """Read the results of a study."""
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results


def save(results: dict[str, Any], path: Path) -> None:
    """Write the results of a study, with the scores of the splits on one line."""

    def text(value: Any, indent: int) -> str:
        if not isinstance(value, dict):
            return json.dumps(value, ensure_ascii=False)
        gap = "\n" + " " * (indent + 1)
        items = [
            f"{json.dumps(key, ensure_ascii=False)}: {text(item, indent + 1)}"
            for key, item in value.items()
        ]
        return "{" + gap + f",{gap}".join(items) + "\n" + " " * indent + "}"

    path.write_text(text(results, 0) + "\n", encoding="utf-8")


def interval(scores: Any, baseline: Any, n_folds: int | None) -> pd.Series[float]:
    """Estimate a mean paired difference, with its 95 % interval.

    Parameters
    ----------
    scores, baseline : array-like of float, shape (n,)
        Values of the same splits, or of the same synthetic worlds.
    n_folds : int or None
        The number of folds of each repeat; None for worlds that were drawn independently.
    """
    if n_folds is not None:
        return ma.paired_interval(scores, baseline, n_folds=n_folds)
    test = stats.ttest_1samp(np.asarray(scores) - np.asarray(baseline), 0)
    low, high = test.confidence_interval()
    mean = float(np.mean(scores) - np.mean(baseline))
    return pd.Series({"difference": mean, "low": low, "high": high, "p_value": test.pvalue})


def differences(
    results: dict[str, Any], world: str, name: str, baseline: str, learner: str
) -> pd.DataFrame:
    """Return the differences between two targets, one row per measure.

    Parameters
    ----------
    results : dict
        The results of a study.
    world, learner : str
        What was learnt from, and by which learner.
    name, baseline : str
        The targets.

    Returns
    -------
    DataFrame
        Columns ``difference low high p_value``.
    """
    of_world = results["worlds"][world]
    scores = of_world["scores"][learner]
    rows = {
        measure: interval(scores[name][measure], scores[baseline][measure], of_world["n_folds"])
        for measure in scores[name]
    }
    return pd.DataFrame(rows).T
