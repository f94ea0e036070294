"""Tests against a baseline, with wins and losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ..analysis import compare_with_baseline
from ..evaluation.aggregation import ALL, rows_by_group
from ..evaluation.long_frames import measures_by_label
from ..integration.aggregators import lower_is_better
from ..tables.content import test_name

#: The default significance level.
ALPHA = 0.05

CORRECTIONS = ("holm", "bonferroni", "fdr_bh", "none")

#: Tolerance for ties between values of a query, relative to the maximum of the measure.
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Significance:
    """The values of --test, --correction and --alpha."""

    test: str = "t"
    correction: str = "holm"
    alpha: float = ALPHA

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of functions that test against a baseline."""
        correction = None if self.correction == "none" else self.correction
        return {"test": self.test, "correction": correction, "alpha": self.alpha}

    @property
    def is_corrected(self) -> bool:
        """Return whether a correction is applied; 'tukey' itself corrects for the number of pairs."""
        return self.correction != "none" and self.test != "tukey"

    def __str__(self) -> str:
        return f"two-sided {test_name(self.test, None)}, p < {self.alpha:g}"


def tested(
    values: pd.DataFrame, baseline: str, significance: Significance, by: Mapping[str, str] | None
) -> pd.DataFrame:
    """Test runs against a baseline.

    Parameters
    ----------
    values : DataFrame
        The result of `pt_multiaspect.evaluate`.
    baseline : str
        The name of the run that the others are compared with.
    significance : Significance
        The test, its correction and the significance level.
    by : mapping of str to str or None
        The groups of topics.

    Returns
    -------
    DataFrame
        The result of `compare_with_baseline`, with the columns ``wins losses ties``, the numbers of queries on
        which the run is better than, worse than and equal to the baseline, and ``verdict``: 'better' or 'worse' if
        the difference is significant, else ''. 'better' means lower where lower is better.
    """
    tests = compare_with_baseline(values, baseline, by=by, **significance.options)
    known = measures_by_label(values)
    counts = []
    groups = [(ALL, values), *(() if by is None else rows_by_group(values, by))]
    for (group, topics), measure in product(groups, tests["measure"].unique()):
        table = topics[topics["measure"] == measure].pivot(index="qid", columns="name", values="value")
        if table.empty:
            continue
        gains = table.sub(table[baseline], axis=0) * (-1 if lower_is_better(known[str(measure)]) else 1)
        zero = _TOLERANCE * float(np.abs(table.to_numpy()).max())
        by_run = pd.DataFrame(
            {"wins": (gains > zero).sum(), "losses": (gains < -zero).sum(), "ties": (gains.abs() <= zero).sum()}
        )
        counts.append(by_run.rename_axis("name").reset_index().assign(measure=measure, group=group))
    keys = ["measure", "name"] if by is None else ["group", "measure", "name"]
    tests = tests.merge(pd.concat(counts)[[*keys, "wins", "losses", "ties"]], on=keys, how="left")
    lower = np.array([lower_is_better(known[str(measure)]) for measure in tests["measure"]], dtype=bool)
    is_better = (tests["difference"] > 0).to_numpy() != lower
    significant = tests["significant"].to_numpy(dtype=bool) & (tests["difference"] != 0).to_numpy()
    tests["verdict"] = np.where(significant, np.where(is_better, "better", "worse"), "")
    return tests
