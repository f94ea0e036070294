"""Groups of topics: `by=` of aggregates, of tests against a baseline and of reports, and `--by`."""

from __future__ import annotations

import io
import math
import random
import re
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frame_world import long_frame
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import holm
from report_world import MEASURES, NASTY, SCALES, Page, world
from scipy import stats

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.reporting import Report

GROUPS = {"q0": "short", "q1": "short", "q2": "long", "q3": "long", "q4": "long", "q5": "odd one"}
SCORES = {
    "a": [0.2, 0.4, 0.1, 0.35, 0.3, 0.9],
    "b": [0.5, 0.6, 0.1, 0.25, 0.35, 0.8],
    "c": [0.1, 0.1, 0.6, 0.7, 0.9, 0.1],
}


def members(group: str) -> list[int]:
    return [int(qid[1:]) for qid, name in GROUPS.items() if group in (name, "all")]


def test_an_unknown_topic_is_an_error_beside_many_known_ones() -> None:
    """32 topics are nearly more than an error lists."""
    frame = long_frame({"a": [0.5] * 32})
    groups = dict.fromkeys(frame["qid"], "all of them")
    unknown = {**groups, "something else": "other"}
    message = r"by: expected topics that have values .* got something else"
    with pytest.raises(MultiAspectError, match=message):
        ma.aggregate(frame, by=unknown)


def test_one_row_per_group_and_run_and_one_of_all() -> None:
    table = ma.aggregate(long_frame(SCORES), by=GROUPS)
    assert list(table.columns) == ["group", "name", "AP"]
    expected = [
        (group, name, statistics.fmean(SCORES[name][n] for n in members(group)))
        for group in ("short", "long", "odd one", "all")
        for name in SCORES
    ]
    assert table[["group", "name"]].to_records(index=False).tolist() == [
        row[:2] for row in expected
    ]
    assert table["AP"].tolist() == pytest.approx([row[2] for row in expected], abs=1e-12)
    whole = table[table["group"] == "all"].drop(columns="group").reset_index(drop=True)
    pd.testing.assert_frame_equal(whole, ma.aggregate(long_frame(SCORES)))


def test_a_column_a_mapping_a_series_and_a_file_are_the_same(tmp_path: Path) -> None:
    frame, file = long_frame(SCORES), tmp_path / "groups.txt"
    file.write_text(
        "".join(f"{qid}\t{group}  \n" for qid, group in GROUPS.items()) + "\n", encoding="utf-8"
    )
    expected = ma.aggregate(frame, by=GROUPS)
    with_column = frame.assign(kind=frame["qid"].map(GROUPS))
    categories = with_column.assign(kind=with_column["kind"].astype("category"))
    numbered = frame.assign(qid=frame["qid"].str[1:].astype(int))
    for result in (
        ma.aggregate(with_column, by="kind"),
        ma.aggregate(categories, by="kind"),
        ma.aggregate(frame, by=pd.Series(GROUPS)),
        ma.aggregate(frame, by=file),
        ma.aggregate(frame, by=str(file)),
        ma.aggregate(numbered, by={int(qid[1:]): group for qid, group in GROUPS.items()}),
    ):
        pd.testing.assert_frame_equal(result, expected)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({**GROUPS, "q5": "all"}, "the group 'all'"),
        ({**GROUPS, "q9": "short"}, "expected topics that have values .*, got q9"),
        ({"9": "short"}, "expected topics that have values .*, got 9"),
        ({"q0": "short"}, r"none for q1, q2, q3, q4, q5 \(5 such topics in all\)"),
        ({**GROUPS, "q5": None}, r"none for q5 \(1 such topic in all\)"),
        ({**GROUPS, "q5": math.nan}, "none for q5"),
        ({**GROUPS, "q5": " "}, "none for q5"),
        (
            pd.Series([*GROUPS.values(), "long"], [*GROUPS, "q0"]),
            "one group per topic, got short and long for q0",
        ),
        (
            {"short": ["q0", "q1"]},
            r"a mapping \{qid: group\} of names, got \['q0', 'q1'\] for short",
        ),
        (
            "kind",
            r"expected a column of groups, .*, got 'kind' \(columns: name, qid, measure, value\)",
        ),
        ("qid", "expected a column of groups"),
        (["short", "long"], "expected a column of groups"),
        (Path("no such file"), "by: no such file: no such file"),
    ],
)
def test_bad_groups_are_answered_in_one_line(by, message) -> None:
    for function in (
        ma.aggregate,
        lambda frame, by: ma.analysis.compare_with_baseline(frame, "a", by=by),
    ):
        with pytest.raises(
            MultiAspectError, match=f"^by: .*{message.removeprefix('by: ')}"
        ) as caught:
            function(long_frame(SCORES), by=by)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        ([2, 2.0, np.int64(2), np.float32(2), 3, 3], ["2", "3", "all"]),
        ([2.0, 2.0, 2.0, 2.5, 2.5, 2.5], ["2", "2.5", "all"]),
        ([1, 1, 1, "one", "one", "one"], ["1", "one", "all"]),
        (["1", "1", "1", "1.0", "1.0", "1.0"], ["1", "1.0", "all"]),
        ([True, True, False, False, "x", "x"], ["True", "False", "x", "all"]),
    ],
)
def test_equal_numbers_are_one_group(groups, names) -> None:
    """2 and 2.0 were two groups, with means of their own."""
    qids = list(GROUPS)
    frame = long_frame({"a": SCORES["a"]}).assign(kind=pd.Series(groups, dtype=object))
    for by in (
        dict(zip(qids, groups, strict=True)),
        pd.Series(groups, index=qids, dtype=object),
        "kind",
    ):
        assert ma.aggregate(frame, by=by)["group"].tolist() == names


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1"), (1.0, "1"), (1, "1.0"), (np.int64(1), " 1 "), (0.5, ".5"), (True, "True")],
)
def test_numbers_and_text_that_reads_alike_are_not_one_group(number, text) -> None:
    groups = dict.fromkeys(GROUPS, number) | {"q5": text}
    with pytest.raises(
        MultiAspectError,
        match=rf"^by: expected names of groups of one type, got .* text '{text}'; ",
    ):
        ma.aggregate(long_frame(SCORES), by=groups)


def test_a_topic_in_two_groups_of_a_column() -> None:
    frame = long_frame(SCORES)
    frame["kind"] = np.where(frame["name"] == "a", "one", "other")
    with pytest.raises(MultiAspectError, match=r"one group.*got one and other for q0"):
        ma.aggregate(frame, by="kind")


def test_bad_lines_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "groups.txt"
    for content, message in {
        "q0 a\nq1\n": "groups.txt:2: expected a query id, a blank and the name of its group, got 'q1'",
        "q0,a\n": "groups.txt:1: expected a query id, .*, got 'q0,a'",
        "q0 a\nq0 b\n": "one group per topic, got a and b for q0",
        "": "expected a group for each topic, got none for q0",
    }.items():
        file.write_text(content, encoding="utf-8")
        with pytest.raises(MultiAspectError, match=message):
            ma.aggregate(long_frame(SCORES), by=file)


def test_the_label_of_a_measure_is_not_group() -> None:
    with pytest.raises(MultiAspectError, match=r"'group'.*name of the column"):
        ma.aggregate(long_frame(SCORES, "group"), by=GROUPS)
    assert "group" in ma.aggregate(long_frame(SCORES, "group"))


#: Topics with a value and a group.
GROUPED_VALUES = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from("xyz")), min_size=2, max_size=9
)


@given(GROUPED_VALUES)
@pytest.mark.filterwarnings("ignore:each of the")
def test_parts_agree_with_the_whole(topics) -> None:
    """Means of groups, weighted by their sizes, are the mean of all; sums of groups add up."""
    values = [value for value, _ in topics]
    groups = [group for _, group in topics]
    frame = pd.concat([long_frame({"a": values}), long_frame({"a": values}, "NumRet")])
    by = {f"q{n}": group for n, group in enumerate(groups)}

    table = ma.aggregate(frame, by=by).set_index("group")

    means = table["AP"]  # NumRet is a sum
    sums_of_groups = [means[group] * groups.count(group) for group in set(groups)]
    assert sum(sums_of_groups) / len(values) == pytest.approx(means["all"], abs=1e-12)
    counts = table["NumRet"]
    assert counts.drop("all").sum() == pytest.approx(counts["all"], abs=1e-12)


@given(GROUPED_VALUES, st.data())
@pytest.mark.filterwarnings("ignore:each of the")
def test_weighted_parts_agree_with_the_whole(topics, data) -> None:
    """Means of groups, weighted by the weights of their topics, are the mean of all."""
    frame = long_frame({"a": [value for value, _ in topics]})
    by = {f"q{n}": group for n, (_, group) in enumerate(topics)}
    weights = {qid: data.draw(st.integers(0, 5)) for qid in by}
    weight_of_group = dict.fromkeys(by.values(), 0)
    for qid, group in by.items():
        weight_of_group[group] += weights[qid]
    assume(all(weight_of_group.values()))

    means = ma.aggregate(frame, weights=weights, by=by).set_index("group")["AP"]

    weighted = [means[group] * weight for group, weight in weight_of_group.items()]
    mean = sum(weighted) / sum(weight_of_group.values())
    assert mean == pytest.approx(means["all"], abs=1e-12)


def found_and_missed() -> tuple[pd.DataFrame, dict[str, str]]:
    """Values of three topics with one relevant document: at rank 1, at rank 2, not retrieved; groups."""
    qrels = {qid: {"d": {"relevance": 1}} for qid in ("q0", "q1", "q2")}
    run = {"q0": {"d": 1.0}, "q1": {"x": 2.0, "d": 1.0}}
    frame = ma.evaluate({"run": run}, qrels, ["NumRet", "AP"], progress=False)
    return frame, {"q0": "found", "q1": "found", "q2": "missed"}


def test_measures_keep_their_aggregates_within_groups() -> None:
    frame, by = found_and_missed()
    table = ma.aggregate(frame, by=by).set_index("group")
    assert table["NumRet"][["found", "missed"]].tolist() == [1 + 2, 0]  # sums
    assert table["AP"][["found", "missed"]].tolist() == [(1 + 1 / 2) / 2, 0]  # means


@pytest.mark.parametrize(
    ("mean", "of_found"), [("geometric", math.sqrt(1 * 1 / 2)), ("harmonic", 2 / (1 + 2))]
)
def test_other_means_within_groups(mean, of_found) -> None:
    frame, by = found_and_missed()
    precision = frame[frame["measure"] == "AP"]
    means = ma.aggregate(precision, mean=mean, by=by).set_index("group")["AP"]
    assert means["found"] == pytest.approx(of_found)
    assert means["missed"] == pytest.approx(1e-5)  # by which values of 0 are replaced


@pytest.mark.parametrize("group", ["short", "long"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ci": 0.9},
        {"ci": 0.9, "ci_method": "bootstrap"},
        {"mean": "geometric", "ci": 0.9},
        {"mean": "harmonic", "ci": 0.9},
    ],
    ids=str,
)
def test_a_group_equals_a_frame_of_its_topics(options, group) -> None:
    frame = long_frame(SCORES)
    table = ma.aggregate(frame, by=GROUPS, **options)
    of_group = table[table["group"] == group].drop(columns="group").reset_index(drop=True)
    rows = frame[frame["qid"].map(GROUPS) == group]
    pd.testing.assert_frame_equal(of_group, ma.aggregate(rows, **options))


@pytest.mark.parametrize("group", ["short", "long"])
def test_a_group_with_weights_equals_a_frame_of_its_topics(group) -> None:
    frame = long_frame(SCORES)
    table = ma.aggregate(frame, by=GROUPS, weights=dict.fromkeys(GROUPS, 2))
    of_group = table[table["group"] == group].drop(columns="group").reset_index(drop=True)
    rows = frame[frame["qid"].map(GROUPS) == group]
    weights = dict.fromkeys(rows["qid"].unique(), 2)
    pd.testing.assert_frame_equal(of_group, ma.aggregate(rows, weights=weights))


def test_a_group_of_one_topic_has_no_interval() -> None:
    for method in ("t", "bootstrap"):
        table = ma.aggregate(long_frame(SCORES), ci=0.9, ci_method=method, by=GROUPS).set_index(
            ["group", "name"]
        )
        assert table.loc["odd one", "AP"].tolist() == pytest.approx([0.9, 0.8, 0.1])
        assert table.loc["odd one", ["AP 90% low", "AP 90% high"]].isna().all(axis=None)
        assert table.loc[["short", "long", "all"]].notna().all(axis=None)
    with pytest.raises(MultiAspectError, match="at least two topics"):
        ma.aggregate(long_frame({"a": [0.5]}), ci=0.9, by={"q0": "one"})


def test_without_macro_means_a_group_may_have_their_name() -> None:
    """A group of one topic has no interval, whatever its name."""
    groups = {"q0": "macro", "q1": "other", "q2": "other"}
    values = ma.aggregate(long_frame({"a": [0.5, 0.25, 0.75]}), ci=0.95, by=groups, cluster="qid")
    table = values.set_index("group")
    assert table.loc["macro", "AP"] == 0.5
    assert math.isnan(table.loc["macro", "AP 95% low"])


def test_topics_that_a_run_lacks_are_told() -> None:
    groups = {"q0": "short", "q1": "long", "q2": "long", "q3": "odd one"}
    frame = long_frame({"a": [0.2, 0.4, 0.1, 0.3], "b": [0.5, 0.6, 0.1, 0.2]})
    is_lacking = (frame["name"] == "b") & frame["qid"].isin(["q2", "q3"])
    with pytest.warns(MultiAspectWarning, match=r"a and b.*different topics"):
        table = ma.aggregate(frame[~is_lacking], by=groups)
    means = table.set_index(["group", "name"])["AP"]
    assert means["long", "b"] == pytest.approx(0.6)  # of q1
    assert math.isnan(means["odd one", "b"])


def test_topics_without_values_are_told() -> None:
    groups = {"q0": "long", "q1": "long", "q2": "odd one"}
    frame = long_frame({"a": [0.2, 0.4, math.nan], "b": [0.5, 0.6, math.nan]})
    with pytest.warns(MultiAspectWarning, match=r"2 values.*topic q2"):
        table = ma.aggregate(frame, by=groups)
    means = table.set_index(["group", "name"])["AP"]
    assert means["odd one"].isna().all()
    assert means["all", "a"] == pytest.approx((0.2 + 0.4) / 2)


def test_a_measure_without_topics_of_a_group() -> None:
    """As with `average_over='positive'`, where measures have topics of their own."""
    frame = pd.concat(
        [
            long_frame(SCORES),
            long_frame({name: values[:2] for name, values in SCORES.items()}, "P@5"),
        ]
    )
    table = ma.aggregate(frame, by=GROUPS).set_index(["group", "name"])["P@5"]
    assert table["long"].isna().all()
    assert table["short"].tolist() == table["all"].tolist()
    compared = ma.analysis.compare_with_baseline(frame, "a", by=GROUPS)
    precision = compared[compared["measure"] == "P@5"]
    assert precision["group"].unique().tolist() == ["short", "all"]


def test_seeds_within_groups() -> None:
    """The mean and standard deviation of a group are over seeds, of which each has all its topics."""
    groups = {"q0": "short", "q1": "short", "q2": "long"}
    seeds = pd.concat(
        [
            long_frame({"a": [0.2, 0.4, 0.9]}).assign(seed=0),
            long_frame({"a": [0.5, 0.7, 0.9]}).assign(seed=1),
        ]
    )
    table = ma.aggregate(seeds, over="seed", by=groups).set_index(["group", "name"])
    row = table.loc[("short", "a")]
    means_of_seeds = [(0.2 + 0.4) / 2, (0.5 + 0.7) / 2]
    assert row["AP"] == pytest.approx(statistics.fmean(means_of_seeds))
    assert row["AP sd"] == pytest.approx(statistics.stdev(means_of_seeds))


def test_folds_within_groups() -> None:
    """Each topic is in one fold; a group may have topics in one of them only."""
    groups = {"q0": "short", "q1": "short", "q2": "long", "q3": "long", "q4": "long"}
    frame = long_frame({"a": [0.2, 0.4, 0.1, 0.35, 0.3]})
    folds = frame.assign(fold=[0, 0, 0, 1, 1])
    table = ma.aggregate(folds, over="fold", by=groups).set_index(["group", "name"])
    short = table.loc[("short", "a")]
    assert short["AP"] == pytest.approx((0.2 + 0.4) / 2)
    assert math.isnan(short["AP sd"])
    long = table.loc[("long", "a")]
    means_of_folds = [0.1, (0.35 + 0.3) / 2]
    assert long["AP"] == pytest.approx(statistics.fmean(means_of_folds))
    assert long["AP sd"] == pytest.approx(statistics.stdev(means_of_folds))


def test_weights_of_a_group_that_sum_to_0() -> None:
    with pytest.raises(MultiAspectError, match=r"AP of a.*short: expected"):
        ma.aggregate(
            long_frame(SCORES), weights={**dict.fromkeys(GROUPS, 1), "q0": 0, "q1": 0}, by=GROUPS
        )


def test_bootstrap_intervals() -> None:
    values = SCORES["a"]
    frame = long_frame({"a": values, "turned": values[::-1], "equal": [0.1] * 6})
    table = ma.aggregate(frame, ci=0.9, ci_method="bootstrap").set_index("name")
    rng = random.Random(1)
    means = sorted(statistics.fmean(rng.choices(values, k=6)) for _ in range(20_000))
    assert table.loc["a"].tolist() == pytest.approx(
        [statistics.fmean(values), means[1000], means[19_000]], abs=0.01
    )
    assert table.loc["turned"].tolist()[1:] == table.loc["a"].tolist()[1:]
    assert table.loc["equal"].tolist() == pytest.approx([0.1] * 3, abs=1e-15)
    assert (
        table.loc["a"].tolist() != ma.aggregate(frame, ci=0.9).set_index("name").loc["a"].tolist()
    )
    with pytest.raises(
        MultiAspectError, match="ci_method: expected one of 't', 'bootstrap', got 'BCa'"
    ):
        ma.aggregate(frame, ci=0.9, ci_method="BCa")


def test_bootstrap_intervals_of_many_topics() -> None:
    """Drawn in several parts."""
    drawn = np.random.default_rng(2).random(3000)
    ends = (
        ma.aggregate(long_frame({"a": drawn.tolist()}), ci=0.95, ci_method="bootstrap")
        .iloc[0]
        .tolist()[2:]
    )
    half = 1.96 * stats.sem(drawn)
    assert ends == pytest.approx([drawn.mean() - half, drawn.mean() + half], abs=half / 20)


def compare_groups(by=GROUPS, names=tuple(SCORES), **options) -> pd.DataFrame:
    frame = pd.concat(
        [
            long_frame(SCORES),
            long_frame({name: values[::-1] for name, values in SCORES.items()}, "RR"),
        ]
    )
    return ma.analysis.compare_with_baseline(frame[frame["name"].isin(names)], by=by, **options)


@pytest.mark.parametrize("test", ["t", "bootstrap", "permutation", "tukey"])
def test_rows_of_all_topics_are_those_without_groups(test: str) -> None:
    options = {"baseline": ["a", "b"], "test": test, "n_resamples": 1000}
    whole = (
        compare_groups(**options)
        .query("group == 'all'")
        .drop(columns="group")
        .reset_index(drop=True)
    )
    pd.testing.assert_frame_equal(whole, compare_groups(by=None, **options))


@pytest.mark.parametrize("baseline", ["a", ["a"], ["b", "a"], ["c", "a", "b"]])
def test_comparisons_in_all_groups_are_one_family(baseline) -> None:
    """By measure, Holm's method corrects the tests of all pairs in all groups of several topics."""
    table = compare_groups(baseline=baseline)  # of the values SCORES of AP; for RR, reversed ones
    assert table["group"].unique().tolist() == ["short", "long", "odd one", "all"]
    for measure, rows in table[table["group"] != "all"].groupby("measure"):
        levels = {}  # by group and pair of runs, of which each may be the baseline
        for row in rows.itertuples(index=False):
            values, values_of_baseline = [
                [SCORES[name][n if measure == "AP" else -1 - n] for n in members(row.group)]
                for name in (row.name, row.baseline)
            ]
            difference = statistics.fmean(values) - statistics.fmean(values_of_baseline)
            assert row.difference == pytest.approx(difference)
            if row.group == "odd one":  # has one topic
                assert math.isnan(row.asl)
                assert math.isnan(row.p)
                assert not row.significant
            else:
                test = stats.ttest_rel(values, values_of_baseline)
                assert row.asl == pytest.approx(test.pvalue)
                levels[row.group, frozenset([row.name, row.baseline])] = row.asl
        corrected = dict(zip(levels, holm(list(levels.values())), strict=True))
        for row in rows[rows["group"] != "odd one"].itertuples(index=False):
            p = corrected[row.group, frozenset([row.name, row.baseline])]
            assert row.p == pytest.approx(p)
            assert row.significant == (row.p < 0.05)


@pytest.mark.parametrize("topics", [["q0", "q1", "q2", "q3", "q4", "q5"], ["q0", "q1", "q2", "q3"]])
def test_comparisons_do_not_depend_on_the_order_of_rows(topics) -> None:
    rows = long_frame(SCORES)
    rows = rows[rows["qid"].isin(topics)]
    groups = {qid: GROUPS[qid] for qid in topics}
    is_long = rows["qid"].map(groups) == "long"
    runs_of_long_reversed = pd.concat([rows[~is_long], rows[is_long][::-1]])

    def compare(frame: pd.DataFrame) -> pd.DataFrame:
        table = ma.analysis.compare_with_baseline(frame, ["c", "a"], correction=None, by=groups)
        return table.set_index(["group", "baseline", "name"]).sort_index()

    table = compare(runs_of_long_reversed)
    pd.testing.assert_frame_equal(table, compare(rows.sort_values(["name", "qid"])))
    pd.testing.assert_series_equal(table["p"], table["asl"], check_names=False)


def test_no_correction_over_groups() -> None:
    plain = compare_groups(baseline="a", correction=None)
    pd.testing.assert_series_equal(plain["p"], plain["asl"], check_names=False)


def test_bonferroni_correction_over_groups() -> None:
    table = compare_groups(baseline="a", correction="bonferroni").query("group != 'all'")
    n_tests = 2 * 2  # runs other than the baseline, groups of several topics
    expected = (table["asl"] * n_tests).clip(upper=1)
    pd.testing.assert_series_equal(table["p"], expected, check_names=False)


def test_tukey_tests_over_groups() -> None:
    """The test corrects for the pairs of runs itself, so only groups are left to correct for."""
    table = compare_groups(baseline="a", test="tukey", n_resamples=1000).query("group != 'all'")
    n_groups = 2  # of several topics
    expected = (table["asl"] * n_groups).clip(upper=1)
    pd.testing.assert_series_equal(table["p"], expected, check_names=False)
    with pytest.raises(MultiAspectError, match="number of pairs"):
        compare_groups(baseline="a", test="tukey", correction="bonferroni")


def test_groups_of_one_topic_only() -> None:
    with pytest.warns(
        ma.MultiAspectWarning, match="each of the 6 topics is a group of its .* in by="
    ):
        table = compare_groups(by={qid: qid for qid in GROUPS}, baseline="a")
    assert table.loc[table["group"] != "all", ["asl", "p"]].isna().all(axis=None)
    assert table.loc[table["group"] == "all", ["asl", "p"]].notna().all(axis=None)
    assert table["significant"].dtype == bool


def test_a_group_of_one_topic_has_the_differences_and_ties_of_that_topic() -> None:
    """Values of several millions that differ by rounding only tie, as they do in groups of more topics."""
    rounded = (0.1 + 0.2) * 1e7
    assert rounded != 0.3e7
    values = {"a": [rounded, 3.0, 4.0], "b": [0.3e7, 5.0, 1.0], "c": [1.0, 5.0, 1.0]}
    by = {"q0": "one", "q1": "two", "q2": "two"}
    table = ma.analysis.compare_with_baseline(long_frame(values), "a", by=by)
    rows = table[table["group"] == "one"].set_index("name")
    counts = rows[["wins", "losses", "ties"]]
    assert counts.loc["b"].to_dict() == {"wins": 0, "losses": 0, "ties": 1}
    assert counts.loc["c"].to_dict() == {"wins": 0, "losses": 1, "ties": 0}
    assert rows["difference"].to_dict() == pytest.approx({"b": 0, "c": 1 - 3e6}, abs=1e-8)


@pytest.mark.slow
def test_the_family_of_groups_is_rarely_wrong() -> None:
    """Without any differences, at most alpha of the experiments have a significant one in some group."""
    rng, wrong = np.random.default_rng(4), 0
    by = {f"q{n}": f"g{n % 5}" for n in range(30)}
    for _ in range(100):
        frame = long_frame({name: rng.random(30).tolist() for name in "abc"})
        tests = ma.analysis.compare_with_baseline(frame, "a", by=by)
        wrong += tests.loc[tests["group"] != "all", "significant"].any()
    assert wrong / 100 < 0.12  # .05 and three standard errors


@pytest.fixture(scope="module")
def reported() -> tuple[Report, dict[str, str]]:
    """A report with names that must be escaped, and its groups."""
    runs, qrels = world(systems=("bm25", NASTY[1], "dense"))
    by = {
        qid: NASTY[1] if n < 3 else "rest" if n < 5 else "one"
        for n, qid in enumerate(qrels["qid"].unique())
    }
    return ma.report(
        runs, qrels, MEASURES, aspects=SCALES, by=by, baseline="bm25", progress=False
    ), by


@pytest.mark.slow
def test_the_figures_of_a_report(reported) -> None:
    """They are those of the analyses; tests of a group need more than one topic."""
    report, by = reported  # with a group called "one", of one topic
    pd.testing.assert_frame_equal(report.systems, ma.aggregate(report.perquery, ci=0.95, by=by))
    comparisons = [
        ma.analysis.compare_with_baseline(report.perquery, name, by=by)
        for name in report.perquery["name"].unique()
    ]
    expected = pd.concat(comparisons)
    expected = expected[expected["group"] != "one"]
    # Reports compare means only.
    expected = expected.drop(columns=["low", "high", "wins", "losses", "ties"])
    keys = ["group", "measure", "baseline", "name"]
    pd.testing.assert_frame_equal(
        report.comparisons.set_index(keys).sort_index(), expected.set_index(keys).sort_index()
    )


@pytest.mark.slow
def test_the_comparisons_over_all_topics_are_those_without_groups(reported) -> None:
    report, _ = reported
    runs, qrels = world(systems=("bm25", NASTY[1], "dense"))
    plain = ma.report(runs, qrels, MEASURES, aspects=SCALES, baseline="bm25", progress=False)
    of_all = report.comparisons[report.comparisons["group"] == "all"].drop(columns="group")
    pd.testing.assert_frame_equal(plain.comparisons, of_all.reset_index(drop=True))


@pytest.mark.slow
def test_the_page_of_a_report(reported) -> None:
    """The page's data have the means and topics of all, and of each group."""
    pytest.importorskip("vl_convert")
    report, by = reported
    text = report.to_html()
    page = Page(text)
    whole, groups = page.data, page.data["groups"]
    assert [part["group"] for part in groups] == [NASTY[1], "rest", "one"]
    assert whole["shown"] == [0, 1, 2, 3, 4, 5]  # positions of topics
    systems = report.systems.set_index("group")
    for part in [whole, *groups]:
        means = systems.loc[[part["group"]]]
        assert part["means"] == [means[label].tolist() for label in report.labels]
        topics = [whole["queries"][position] for position in part["shown"]]
        assert topics == [qid for qid, group in by.items() if part["group"] in (group, "all")]
    of_one_topic = groups[2]
    assert of_one_topic["ends"] == [None] * len(report.labels)
    assert of_one_topic["tests"] is None
    assert "6 topics in all" in text


@pytest.mark.slow
def test_the_page_of_a_report_shows_all_topics_without_javascript(reported) -> None:
    pytest.importorskip("vl_convert")
    report, _ = reported
    page = Page(report.to_html())
    _header, *rows = page.tables["table"]
    first_means = [float(row[1].partition("[")[0]) for row in rows]  # such as 0.4312 [0.2, 0.6]
    assert first_means == pytest.approx(page.data["means"][0], abs=5e-5)


@pytest.mark.slow
def test_estimates_with_human_judgments_are_over_all_topics() -> None:
    pytest.importorskip("vl_convert")
    runs, qrels = world(systems=("bm25", "dense"), n_topics=14)
    topics = qrels["qid"].unique()
    by = dict.fromkeys(topics[:9], "x") | dict.fromkeys(topics[9:], "y")
    human = qrels[qrels["qid"].isin(topics[:8])]
    is_raised = qrels.index % 3 == 0
    model = qrels.assign(label=(qrels["label"] + is_raised).clip(upper=2))

    report = ma.report(runs, model, "AP", aspects=SCALES, human=human, by=by, progress=False)

    text = report.to_html()
    data = Page(text).data
    *_of_single_aspects, of_ap = data["powered"]
    assert of_ap is not None
    assert [part["powered"] for part in data["groups"]] == [None, None]
    assert "Estimates with human judgments are over all topics only." in text


@pytest.mark.parametrize("by", [{"q0<i>": "a"}, "name", {"no": "such topic"}])
def test_groups_are_checked_before_the_evaluation(by, monkeypatch) -> None:
    monkeypatch.setattr("pt_multiaspect.reporting.build.evaluate", None)
    runs, qrels = world()
    with pytest.raises(MultiAspectError, match=r"^by: expected"):
        ma.report(runs, qrels, by=by, progress=False)


#: Groups of the six queries of the files.
FILE = "q0 easy\nq1 easy\nq2\thard one\nq3\thard one\nq4\thard one\nq5 last\n"


def read_csv(output: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(output))


def test_a_table_of_systems_has_a_section_for_each_group() -> None:
    """Cells are as 0.300† [0.1, 0.5]: a mean, a sign if it differs from the baseline's, an interval."""
    values = long_frame(SCORES)
    table = ma.systems_table(
        values, by=GROUPS, baseline="a", alpha=0.1, interval="mean", notes="full"
    )
    cells = table.to_styler().data["AP"]
    expected = ma.aggregate(values, by=GROUPS, ci=0.9).set_index(["group", "name"])
    tests = ma.analysis.compare_with_baseline(values, "a", alpha=0.1, by=GROUPS)
    is_significant = tests.set_index(["group", "name"])["significant"]
    assert cells.index.tolist() == expected.index.tolist()
    for (group, name), cell in cells.items():
        mean, *interval = [float(number) for number in re.findall(r"[\d.]+", cell)]
        row = expected.loc[(group, name)]
        assert mean == pytest.approx(row["AP"], abs=6e-4)
        if group == "odd one":  # of one topic
            assert interval == []
        else:
            assert interval == pytest.approx([row["AP 90% low"], row["AP 90% high"]], abs=6e-4)
        assert ("†" in cell) == bool(is_significant.get((group, name), False))


def test_a_table_of_systems_tells_of_its_groups() -> None:
    table = ma.systems_table(
        long_frame(SCORES), by=GROUPS, baseline="a", alpha=0.1, interval="mean", notes="full"
    )
    assert "Topics: short 2, long 3, odd one 1." in str(table)
    text = " ".join(str(table).split())
    assert text.count(", 6 topics in all).") == 1
    assert "Comparisons in all groups are corrected together" in text
    n_sections = 4  # of three groups and all topics
    assert table.to_latex().count("multicolumn") >= n_sections


def test_best_values_of_a_table_are_those_of_each_group() -> None:
    means = ma.aggregate(long_frame(SCORES), by=GROUPS)
    text = str(ma.systems_table(long_frame(SCORES), by=GROUPS, decimals=2))
    best = [
        means.loc[rows["AP"].idxmax(), "name"] for _, rows in means.groupby("group", sort=False)
    ]
    assert [line[0] for line in text.splitlines() if re.match(r"[abc] .*\*", line)] == best


IN_CSV = ("--aspects", "scales.json", "-m", "AP CAM@5", "--format", "csv")


def test_the_command_line_shows_groups(cli, trec_files) -> None:
    (trec_files / "by.txt").write_text(FILE, encoding="utf-8")
    with_tests = ("--interval", "mean", "--baseline", "beta")
    code, out, _ = cli("evaluate", *IN_CSV, "--by", "by.txt", *with_tests, "runs")
    assert code == 0
    table = read_csv(out)
    # The section of all topics is the table without groups.
    of_all = table[table["group"] == "all"].drop(columns="group").reset_index(drop=True)
    _, without_groups, _ = cli("evaluate", *IN_CSV, *with_tests, "runs")
    pd.testing.assert_frame_equal(of_all, read_csv(without_groups), check_dtype=False)


def test_the_command_line_shows_means_and_tests_of_groups(cli, trec_files) -> None:
    """Means, p-values and wins are those of the analyses of the printed per-query values."""
    (trec_files / "by.txt").write_text(FILE, encoding="utf-8")
    group_of_topic = dict(line.split(maxsplit=1) for line in FILE.splitlines())
    with_tests = ("--interval", "mean", "--baseline", "beta")
    _, out, _ = cli("evaluate", *IN_CSV, "--by", "by.txt", *with_tests, "runs")
    table = read_csv(out)
    _, out, _ = cli("evaluate", *IN_CSV, "-q", "runs")
    perquery = read_csv(out).drop(columns="definition")

    means = ma.aggregate(perquery, ci=0.95, by=group_of_topic)
    pd.testing.assert_frame_equal(table[list(means)], means, atol=1e-12)

    tests = ma.analysis.compare_with_baseline(perquery, "beta", by=group_of_topic)
    tests = tests[tests["measure"] == "AP"].set_index(["group", "name"])
    rows = table.set_index(["group", "name"]).loc[tests.index]
    expected_p = tests["p"].tolist()
    assert rows["AP p-value corrected"].tolist() == pytest.approx(expected_p, nan_ok=True)

    precision = perquery[perquery["measure"] == "AP"].pivot(
        index="qid", columns="name", values="value"
    )
    for (group, name), row in rows.iterrows():
        topics = [qid for qid, own in group_of_topic.items() if group in (own, "all")]
        differences = precision.loc[topics, name] - precision.loc[topics, "beta"]
        assert row["AP +"] == (differences > 1e-9).sum()  # wins


def test_the_command_line_sorts_groups(cli, trec_files) -> None:
    """Within each group, runs are sorted, and the best is marked; intervals need more than one topic."""
    (trec_files / "by.txt").write_text(FILE, encoding="utf-8")
    options = ("--sort", "AP", "--interval", "mean", "--baseline", "beta", "--format", "table")
    code, out, _ = cli(
        "evaluate", "-m", "AP", "--by", "by.txt", *options, "runs", qrels=["relevance.txt"]
    )
    assert code == 0
    table = out[: out.index("* best")]
    _header, *lines = table.splitlines()
    rows_by_group: dict[str, list[str]] = {}
    group = ""
    for line in lines:
        is_run = re.match("(alpha|beta|gamma|delta) ", line)
        if is_run:
            rows_by_group[group].append(line)
        elif line:
            group = line
            rows_by_group[group] = []
    assert list(rows_by_group) == ["easy", "hard one", "last", "all"]
    for group, rows in rows_by_group.items():
        assert len(rows) == 4
        values = [float(row.split()[1].rstrip("†*")) for row in rows]  # such as 0.4312†
        assert values == sorted(values, reverse=True)
        has_best = any("*" in row for row in rows)
        assert has_best == (len(set(values)) > 1)
        n_intervals = sum("[" in row for row in rows)
        expected_intervals = 0 if group == "last" else 4  # "last" has one topic
        assert n_intervals == expected_intervals
    assert " Topics: easy 2, hard one 3, last 1.\n" in out


def test_groups_are_sections_in_latex(cli, trec_files) -> None:
    (trec_files / "by.txt").write_text(FILE, encoding="utf-8")
    options = ("--by", "by.txt", "--format", "tex")
    _, latex, _ = cli("evaluate", "-m", "AP", *options, "runs", qrels=["relevance.txt"])
    titles = re.findall(r"\\textit{(.*?)}", latex)
    assert titles == ["easy", "hard one", "last", "all"]


def test_topics_without_a_value_on_the_command_line(cli, trec_files) -> None:
    """Groups are those of judged topics, of which measures may have fewer."""
    (trec_files / "by.txt").write_text(FILE, encoding="utf-8")
    qrels = (trec_files / "relevance.txt").read_text(encoding="utf-8").splitlines()
    lines = [line[:-1] + "0" if line.startswith("q5") else line for line in qrels]
    (trec_files / "relevance.txt").write_text("\n".join(lines), encoding="utf-8")
    options = (
        "-m",
        "AP",
        "--average-over",
        "positive",
        "--by",
        "by.txt",
        "--format",
        "csv",
        "runs",
    )
    code, out, _ = cli("evaluate", *options, qrels=["relevance.txt"])
    assert code == 0
    assert read_csv(out)["group"].unique().tolist() == ["easy", "hard one", "all"]


@pytest.mark.parametrize("command", ["evaluate", "report"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "error: --by: by.txt: no such file"),
        (
            "q0 easy\n",
            "error: --by: expected a group for each topic, got none for q1, q2, q3, q4, q5",
        ),
        (
            FILE + "q9 easy\n",
            "error: --by: expected topics that have values (q0, q1, q2, q3, q4, q5), got q9",
        ),
        (FILE + "q1 hard\n", "error: --by: expected one group per topic, got easy and hard for q1"),
        (
            FILE + "q6\n",
            (
                "error: --by: by.txt:7: expected a query id, a blank and the name of its group, got "
                "'q6'"
            ),
        ),
        (
            FILE.replace("last", "all"),
            "error: --by: the group 'all' has the name of the row of all topics",
        ),
    ],
)
def test_bad_files_on_the_command_line(command, content, message, cli, trec_files) -> None:
    if content is not None:
        (trec_files / "by.txt").write_text(content, encoding="utf-8")
    output = ("-o", "report.html") if command == "report" else ()
    code, _, err = cli(
        command, "-m", "AP", "--by", "by.txt", *output, "runs", qrels=["relevance.txt"]
    )
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_texts_of_topics_as_groups_on_the_command_line(cli, trec_files) -> None:
    qids = dict.fromkeys(ma.read_qrels(trec_files / "relevance.txt")["qid"])
    (trec_files / "topics.tsv").write_text("".join(f"{qid}\ttext of {qid}\n" for qid in qids))
    code, _, err = cli(
        "evaluate", "-m", "AP", "--by", "topics.tsv", "runs", qrels=["relevance.txt"]
    )
    assert code == 0
    assert err.count("is a group of its own") == 1
    assert f"each of the {len(qids)} topics" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-q"], "--by applies to means: omit it, or -q"),
        (["--format", "trec_eval"], "--by applies to means: omit it, or --format trec_eval"),
        (["--judged"], "--judged is over all topics: omit it, or --by"),
        (
            ["--human", "relevance.txt"],
            "--human shows estimates with intervals: omit --by, or --human",
        ),
        (
            ["-o", "by.csv", "--by", "by.csv"],
            "--output: by.csv is read by this command; write another file",
        ),
    ],
)
def test_options_that_do_not_go_with_groups(options, message, cli, trec_files) -> None:
    for name in ("by.txt", "by.csv"):
        (trec_files / name).write_text(FILE, encoding="utf-8")
    code, _, err = cli(
        "evaluate", "-m", "AP", "--by", "by.txt", *options, "runs", qrels=["relevance.txt"]
    )
    assert code == 2
    assert message in err


@pytest.mark.slow
def test_the_command_reports_groups(cli, trec_files) -> None:
    pytest.importorskip("vl_convert")
    groups = "q0 easy\nq1 easy\nq2\thard one\nq3\thard one\nq4\thard one\nq5 last\n"
    (trec_files / "by.txt").write_text(groups, encoding="utf-8")
    code, _, err = cli(
        "report", "--aspects", "scales.json", "--by", "by.txt", "-o", "report.html", "runs"
    )
    assert code == 0, err
    data = Page((trec_files / "report.html").read_text(encoding="utf-8")).data
    n_topics = {part["group"]: len(part["shown"]) for part in data["groups"]}
    assert n_topics == {"easy": 2, "hard one": 3, "last": 1}
