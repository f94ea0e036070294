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
from hypothesis import given
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


def test_an_unknown_topic_is_an_error_if_all_known_ones_are_nearly_too_long_to_list() -> None:
    frame = long_frame({"a": [0.5] * 32})
    groups = dict.fromkeys(frame["qid"], "all of them")
    with pytest.raises(
        MultiAspectError, match=r"by: expected topics that have values .* got something else"
    ):
        ma.aggregate(frame, by={**groups, "something else": "other"})


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


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from("xyz"), st.integers(0, 5)),
        min_size=2,
        max_size=9,
    ).filter(
        lambda rows: all(
            sum(weight for _, group, weight in rows if group == name)
            for name in {group for _, group, _ in rows}
        )
    )
)
@pytest.mark.filterwarnings("ignore:each of the")
def test_parts_agree_with_the_whole(rows) -> None:
    values, groups, weights = zip(*rows, strict=True)
    frame = pd.concat([long_frame({"a": list(values)}), long_frame({"a": list(values)}, "NumRet")])
    by = {f"q{n}": group for n, group in enumerate(groups)}
    table = ma.aggregate(frame, by=by).set_index("group")
    sizes = pd.Series(groups).value_counts()
    mean = sum(table["AP"][group] * size for group, size in sizes.items()) / len(values)
    assert mean == pytest.approx(table["AP"]["all"], abs=1e-12)
    assert table["NumRet"].drop("all").sum() == pytest.approx(table["NumRet"]["all"], abs=1e-12)
    weight = {f"q{n}": value for n, value in enumerate(weights)}
    weighted = ma.aggregate(long_frame({"a": list(values)}), weights=weight, by=by).set_index(
        "group"
    )["AP"]
    shares = {
        group: sum(w for w, label in zip(weights, groups, strict=True) if label == group)
        for group in sizes.index
    }
    mean = sum(weighted[group] * share for group, share in shares.items()) / sum(shares.values())
    assert mean == pytest.approx(weighted["all"], abs=1e-12)


def test_measures_keep_their_aggregates_within_groups() -> None:
    qrels = {
        "q0": {"d": {"relevance": 1}},
        "q1": {"d": {"relevance": 1}},
        "q2": {"d": {"relevance": 1}},
    }
    run = {"q0": {"d": 1.0}, "q1": {"x": 2.0, "d": 1.0}}
    frame = ma.evaluate({"run": run}, qrels, ["NumRet", "AP"], progress=False)
    by = {"q0": "found", "q1": "found", "q2": "missed"}
    table = ma.aggregate(frame, by=by).set_index("group")
    assert table.loc["found", ["NumRet", "AP"]].tolist() == [3, 0.75]
    assert table.loc["missed", ["NumRet", "AP"]].tolist() == [0, 0]
    precision = frame[frame["measure"] == "AP"]
    for mean, expected in {"geometric": math.sqrt(0.5), "harmonic": 2 / 3}.items():
        table = ma.aggregate(precision, mean=mean, by=by).set_index("group")
        assert table.loc[["found", "missed"], "AP"].tolist() == pytest.approx([expected, 1e-5])


def test_a_group_equals_a_frame_of_its_topics() -> None:
    frame = long_frame(SCORES)
    for options in (
        {},
        {"ci": 0.9},
        {"ci": 0.9, "ci_method": "bootstrap"},
        {"mean": "geometric", "ci": 0.9},
        {"mean": "harmonic", "ci": 0.9},
        {"weights": dict.fromkeys(GROUPS, 2)},
    ):
        table = ma.aggregate(frame, by=GROUPS, **options)
        for group in ("short", "long"):
            rows = frame[frame["qid"].map(GROUPS) == group]
            if "weights" in options:
                options = {"weights": dict.fromkeys(rows["qid"].unique(), 2)}
            expected = ma.aggregate(rows, **options)
            part = table[table["group"] == group].drop(columns="group").reset_index(drop=True)
            pd.testing.assert_frame_equal(part, expected)


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
    frame = long_frame(SCORES)
    lacking = frame[~((frame["name"] == "b") & (frame["qid"].isin(["q4", "q5"])))]
    with pytest.warns(MultiAspectWarning, match=r"a and b.*different topics"):
        table = ma.aggregate(lacking, by=GROUPS).set_index(["group", "name"])["AP"]
    assert table["long", "b"] == pytest.approx(statistics.fmean(SCORES["b"][2:4]))
    assert math.isnan(table["odd one", "b"])
    missing = frame.assign(value=frame["value"].where(frame["qid"] != "q5"))
    with pytest.warns(MultiAspectWarning, match=r"3 values.*topic q5"):
        table = ma.aggregate(missing, by=GROUPS).set_index(["group", "name"])["AP"]
    assert table["odd one"].isna().all()
    assert table["all", "a"] == pytest.approx(statistics.fmean(SCORES["a"][:5]))


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


def test_seeds_and_folds_within_groups() -> None:
    seeds = pd.concat(
        [
            long_frame(SCORES).assign(seed=0),
            long_frame({k: v[::-1] for k, v in SCORES.items()}).assign(seed=1),
        ]
    )
    table = ma.aggregate(seeds, over="seed", by=GROUPS).set_index(["group", "name"])
    means = [statistics.fmean(SCORES["a"][:2]), statistics.fmean(SCORES["a"][4:])]
    assert table.loc[("short", "a")].tolist() == pytest.approx(
        [statistics.fmean(means), statistics.stdev(means)]
    )
    folds = long_frame(SCORES).assign(
        fold=lambda rows: rows["qid"].isin(["q0", "q1", "q2"]).astype(int)
    )
    table = ma.aggregate(folds, over="fold", by=GROUPS).set_index(["group", "name"])
    assert table.loc[("short", "a"), "AP"] == pytest.approx(0.3)
    assert table.loc["short", "AP sd"].isna().all()
    assert table.loc[("long", "a")].tolist() == pytest.approx(
        [(0.1 + 0.325) / 2, statistics.stdev([0.1, 0.325])]
    )


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
    table = compare_groups(baseline=baseline)
    assert table["group"].unique().tolist() == ["short", "long", "odd one", "all"]
    for measure, rows in table[table["group"] != "all"].groupby("measure"):
        seen: dict[tuple[str, ...], float] = {}
        for row in rows.itertuples(index=False):
            values = {
                name: [(scores if measure == "AP" else scores[::-1])[n] for n in members(row.group)]
                for name, scores in SCORES.items()
            }
            pairs = list(zip(values[row.name], values[row.baseline], strict=True))
            assert row.difference == pytest.approx(statistics.fmean(a - b for a, b in pairs))
            if row.group == "odd one":
                assert math.isnan(row.asl)
                assert math.isnan(row.p)
                assert not row.significant
            else:
                assert row.asl == pytest.approx(stats.ttest_rel(*zip(*pairs, strict=True)).pvalue)
                seen[(row.group, *sorted([row.name, row.baseline]))] = row.asl
        corrected = dict(zip(seen, holm(list(seen.values())), strict=True))
        for row in rows[rows["group"] != "odd one"].itertuples(index=False):
            assert row.p == pytest.approx(corrected[(row.group, *sorted([row.name, row.baseline]))])
            assert row.significant == (row.p < 0.05)


def test_comparisons_do_not_depend_on_the_order_of_rows() -> None:
    rows = long_frame(SCORES)
    reverse = rows["qid"].map(GROUPS) == "long"  # the runs of this group are in reverse order
    mixed = pd.concat([rows[~reverse], rows[reverse][::-1]])
    for frame in (mixed, mixed[mixed["qid"] != "q5"]):
        table, expected = (
            ma.analysis.compare_with_baseline(
                part, ["c", "a"], correction=None, by={qid: GROUPS[qid] for qid in frame["qid"]}
            ).set_index(["group", "baseline", "name"])
            for part in (frame, frame.sort_values(["name", "qid"]))
        )
        pd.testing.assert_frame_equal(table.sort_index(), expected.sort_index())
        pd.testing.assert_series_equal(table["p"], table["asl"], check_names=False)


def test_other_corrections_over_groups() -> None:
    plain = compare_groups(baseline="a", correction=None)
    pd.testing.assert_series_equal(plain["p"], plain["asl"], check_names=False)
    n_tests = 2 * 2  # systems, groups of several topics
    bonferroni = compare_groups(baseline="a", correction="bonferroni").query("group != 'all'")
    pd.testing.assert_series_equal(
        bonferroni["p"], (bonferroni["asl"] * n_tests).clip(upper=1), check_names=False
    )
    tukey = compare_groups(baseline="a", test="tukey", n_resamples=1000).query("group != 'all'")
    pd.testing.assert_series_equal(tukey["p"], (tukey["asl"] * 2).clip(upper=1), check_names=False)
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
    value = (0.1 + 0.2) * 1e7
    assert value != 0.3e7
    values = {"a": [value, 3.0, 4.0], "b": [0.3e7, 5.0, 1.0], "c": [1.0, 5.0, 1.0]}
    by = {"q0": "one", "q1": "two", "q2": "two"}
    table = ma.analysis.compare_with_baseline(long_frame(values), "a", by=by)
    rows = table[table["group"] == "one"].set_index("name")
    assert rows[["wins", "losses", "ties"]].to_numpy().tolist() == [[0, 0, 1], [0, 1, 0]]
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
    report, by = reported
    pd.testing.assert_frame_equal(report.systems, ma.aggregate(report.perquery, ci=0.95, by=by))
    keys = ["group", "measure", "baseline", "name"]
    expected = pd.concat(
        [
            ma.analysis.compare_with_baseline(report.perquery, name, by=by)
            for name in report.perquery["name"].unique()
        ]
    )
    expected = expected[expected["group"] != "one"].set_index(keys).sort_index()
    expected = expected.drop(
        columns=["low", "high", "wins", "losses", "ties"]
    )  # reports compare means only
    pd.testing.assert_frame_equal(report.comparisons.set_index(keys).sort_index(), expected)
    runs, qrels = world(systems=("bm25", NASTY[1], "dense"))
    plain = ma.report(runs, qrels, MEASURES, aspects=SCALES, baseline="bm25", progress=False)
    whole = (
        report.comparisons[report.comparisons["group"] == "all"]
        .drop(columns="group")
        .reset_index(drop=True)
    )
    pd.testing.assert_frame_equal(plain.comparisons, whole)


@pytest.mark.slow
def test_the_page_of_a_report(reported) -> None:
    pytest.importorskip("vl_convert")
    report, by = reported
    text = report.to_html()
    page = Page(text)
    data = page.data
    assert [part["group"] for part in data["groups"]] == [NASTY[1], "rest", "one"]
    assert data["shown"] == list(range(6))
    means = report.systems.set_index("group")
    for part in [data, *data["groups"]]:
        assert part["means"] == [
            means.loc[[part["group"]], label].tolist() for label in report.labels
        ]
        assert [data["queries"][topic] for topic in part["shown"]] == [
            qid for qid in by if part["group"] in (by[qid], "all")
        ]
    assert data["groups"][2]["ends"] == [None] * len(report.labels)
    assert data["groups"][2]["tests"] is None
    assert f"{len(data['shown'])} topics in all" in text
    cells = [[cell.partition("[")[0] for cell in row] for row in page.tables["table"][1:]]
    assert [float(row[1]) for row in cells] == pytest.approx(
        data["means"][0], abs=5e-5
    )  # also without JavaScript


@pytest.mark.slow
def test_estimates_with_human_judgments_are_over_all_topics() -> None:
    pytest.importorskip("vl_convert")
    runs, qrels = world(systems=("bm25", "dense"), n_topics=14)
    by = {qid: "x" if n < 9 else "y" for n, qid in enumerate(qrels["qid"].unique())}
    human = qrels[qrels["qid"].isin(list(by)[:8])]
    model = qrels.assign(label=(qrels["label"] + (qrels.index % 3 == 0)).clip(upper=2))
    text = ma.report(
        runs, model, "AP", aspects=SCALES, human=human, by=by, progress=False
    ).to_html()
    data = Page(text).data
    assert data["powered"][-1] is not None
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
    values = long_frame(SCORES)
    table = ma.systems_table(
        values, by=GROUPS, baseline="a", alpha=0.1, interval="mean", notes="full"
    )
    means = ma.aggregate(values, by=GROUPS, ci=0.9)
    tests = ma.analysis.compare_with_baseline(values, "a", alpha=0.1, by=GROUPS).set_index(
        ["group", "name"]
    )
    data = table.to_styler().data
    assert data.index.tolist() == list(zip(means["group"], means["name"], strict=True))
    for (_, row), shown in zip(means.iterrows(), data["AP"], strict=True):
        numbers = [float(text) for text in re.findall(r"[\d.]+", shown.replace("−", "-"))]
        low, high = row["AP 90% low"], row["AP 90% high"]
        assert numbers[0] == pytest.approx(row["AP"], abs=6e-4)
        if row["group"] == "odd one":
            assert len(numbers) == 1
        else:
            assert numbers[1:] == pytest.approx([low, high], abs=6e-4)
        key = (row["group"], row["name"])
        assert ("†" in shown) == (key in tests.index and bool(tests.loc[key, "significant"]))
    text = str(table)
    assert "Topics: short 2, long 3, odd one 1." in text
    assert " ".join(text.split()).count(", 6 topics in all).") == 1
    assert "Comparisons in all groups are corrected together" in " ".join(text.split())
    assert table.to_latex().count("multicolumn") >= 4


def test_best_values_of_a_table_are_those_of_each_group() -> None:
    means = ma.aggregate(long_frame(SCORES), by=GROUPS)
    text = str(ma.systems_table(long_frame(SCORES), by=GROUPS, decimals=2))
    best = [
        means.loc[rows["AP"].idxmax(), "name"] for _, rows in means.groupby("group", sort=False)
    ]
    assert [line[0] for line in text.splitlines() if re.match(r"[abc] .*\*", line)] == best


def test_the_command_line_shows_groups(cli, trec_files) -> None:
    (trec_files / "by.txt").write_text(FILE, encoding="utf-8")
    options = ("--aspects", "scales.json", "-m", "AP CAM@5", "--format", "csv")
    code, out, _ = cli(
        "evaluate", *options, "--by", "by.txt", "--interval", "mean", "--baseline", "beta", "runs"
    )
    assert code == 0
    table = read_csv(out)
    plain = read_csv(
        cli("evaluate", *options, "--interval", "mean", "--baseline", "beta", "runs")[1]
    )
    whole = table[table["group"] == "all"].drop(columns="group").reset_index(drop=True)
    pd.testing.assert_frame_equal(whole, plain, check_dtype=False)
    perquery = read_csv(cli("evaluate", *options, "-q", "runs")[1])
    perquery = perquery.drop(columns="definition")
    values = perquery.pivot(index=["name", "qid"], columns="measure", values="value").reset_index()
    by = dict(line.split(maxsplit=1) for line in FILE.splitlines())
    expected = ma.aggregate(perquery, ci=0.95, by=by)
    pd.testing.assert_frame_equal(table[list(expected)], expected, atol=1e-12)
    tests = ma.analysis.compare_with_baseline(perquery, "beta", by=by)
    tests = tests[tests["measure"] == "AP"].set_index(["group", "name"])
    rows = table.set_index(["group", "name"]).loc[tests.index]
    assert rows["AP p-value corrected"].tolist() == pytest.approx(tests["p"].tolist(), nan_ok=True)
    wide = values.set_index(["qid", "name"])["AP"].unstack()
    wins = wide.gt(wide["beta"] + 1e-9, axis=0).groupby(by).sum()
    for group, name in tests.index:
        expected_wins = wins[name].sum() if group == "all" else wins.loc[group, name]
        assert rows.loc[(group, name), "AP +"] == expected_wins


def test_the_command_line_sorts_and_notes_groups(cli, trec_files) -> None:
    (trec_files / "by.txt").write_text(FILE, encoding="utf-8")
    options = ("--sort", "AP", "--interval", "mean", "--baseline", "beta", "--format", "table")
    code, out, _ = cli(
        "evaluate", "-m", "AP", "--by", "by.txt", *options, "runs", qrels=["relevance.txt"]
    )
    assert code == 0
    lines = out[: out.index("* best")].splitlines()[1:]
    starts = [
        row for row, line in enumerate(lines) if not re.match("(alpha|beta|gamma|delta) ", line)
    ]
    assert [lines[row] for row in starts] == ["easy", "hard one", "last", "all"]
    for start in starts:
        rows = lines[start + 1 : start + 5]
        values = [float(row.split()[1].rstrip("†*")) for row in rows]
        assert values == sorted(values, reverse=True)
        assert any("*" in row for row in rows) is (len(set(values)) > 1)
        assert all(("[" in row) is (lines[start] != "last") for row in rows)
    assert " Topics: easy 2, hard one 3, last 1.\n" in out
    options = ("--by", "by.txt", "--format", "tex")
    latex = cli("evaluate", "-m", "AP", *options, "runs", qrels=["relevance.txt"])[1]
    assert re.findall(r"\\textit{(.*?)}", latex) == ["easy", "hard one", "last", "all"]


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
    (trec_files / "by.txt").write_text(FILE, encoding="utf-8")
    code, _, err = cli(
        "report", "--aspects", "scales.json", "--by", "by.txt", "-o", "report.html", "runs"
    )
    assert code == 0, err
    data = Page((trec_files / "report.html").read_text(encoding="utf-8")).data
    assert [len(part["shown"]) for part in data["groups"]] == [2, 3, 1]
