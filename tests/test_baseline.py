"""Tests of systems against baselines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests
from test_correlation import frame

from pt_multiaspect.analysis import compare_with_baseline, discriminative_power
from pt_multiaspect.errors import MultiAspectError


@pytest.fixture
def perquery() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return frame(rng.normal(np.linspace(0, 0.5, 5)[:, None, None], 0.4, (5, 20, 2)))


def per_topic(perquery: pd.DataFrame, measure: str) -> pd.DataFrame:
    return perquery[perquery["measure"] == measure].pivot(index="qid", columns="name", values="value")


def test_equals_scipy_and_statsmodels(perquery):
    first, second, *_ = names = perquery["name"].unique().tolist()
    found = compare_with_baseline(perquery, [second, first])
    assert len(found) == 2 * 2 * 4
    for measure, rows in found.groupby("measure"):
        table = per_topic(perquery, measure)
        asl = [ttest_rel(table[row.name], table[row.baseline]).pvalue for row in rows.itertuples(index=False)]
        assert rows["asl"].tolist() == pytest.approx(asl)
        means = [(table[row.name] - table[row.baseline]).mean() for row in rows.itertuples(index=False)]
        assert rows["difference"].tolist() == pytest.approx(means)
        # The two baselines are compared once: seven tests, not eight.
        once = rows[~((rows["baseline"] == first) & (rows["name"] == second))]
        reject, p, *_ = multipletests(once["asl"], 0.05, "holm")
        assert once["p"].tolist() == pytest.approx(p.tolist())
        assert once["significant"].tolist() == reject.tolist()
        assert 0 < reject.sum() < 7
    assert found["baseline"].unique().tolist() == [second, first]
    assert [name for name in found["name"].unique().tolist() if name in names[2:]] == names[2:]


@pytest.mark.parametrize("test", ["bootstrap", "permutation", "t", "tukey"])
def test_levels_are_those_of_discriminative_power(perquery, test):
    baseline = perquery["name"].iloc[0]
    found = compare_with_baseline(perquery, baseline, test, alpha=0.05, n_resamples=300, seed=4)
    pairs = discriminative_power(perquery, test, n_resamples=300, alpha=0.05, seed=4).pairs
    of = {(row.measure, frozenset((row.a, row.b))): row.asl for row in pairs.itertuples()}
    expected = [of[row.measure, frozenset((row.baseline, row.name))] for row in found.itertuples(index=False)]
    assert found["asl"].tolist() == expected
    if test == "tukey":
        assert found["p"].tolist() == expected


def test_the_result_does_not_depend_on_the_order_of_rows(perquery):
    keys = ["measure", "baseline", "name"]
    baseline = perquery["name"].iloc[0]
    one, other = (
        compare_with_baseline(rows, baseline, "permutation", n_resamples=100).sort_values(keys, ignore_index=True)
        for rows in (perquery, perquery.sample(frac=1, random_state=1))
    )
    pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize(
    ("baseline", "options", "message"),
    [
        ("nobody", {}, "expected names of systems .*, got nobody"),
        ([], {}, "expected names of systems"),
        (["FIRST", "FIRST"], {}, "baseline: expected distinct names, got several"),
        ("FIRST", {"test": "z"}, "test: expected one of"),
        ("FIRST", {"alpha": 5}, "alpha"),
        ("FIRST", {"correction": "none"}, "correction"),
        ("FIRST", {"test": "tukey", "correction": "fdr_bh"}, "corrects for the number of pairs itself"),
        ("FIRST", {"test": "permutation", "n_resamples": 3}, "at least 20"),
    ],
)
def test_bad_input(perquery, baseline, options, message):
    first = perquery["name"].iloc[0]
    given = first if baseline == "FIRST" else [first if name == "FIRST" else name for name in baseline]
    with pytest.raises(MultiAspectError, match=message):
        compare_with_baseline(perquery, baseline if baseline == "nobody" else given, **options)
