"""Clusters, macro means and margins in tables of systems, and in the shell."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_clusters import golden_cases, long, random_world
from test_macro_means import COLLECTIONS, FRAME, WITHIN

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning, errors
from pt_multiaspect.analysis import compare_with_baseline
from pt_multiaspect.cli import main

VALUES, CLUSTERS = random_world(3)


def words(table: object) -> str:
    return " ".join(str(table).split())


def test_a_table_states_clusters_and_marks_by_them() -> None:
    for options in ({}, {"interval": "difference"}, {"interval": "mean"}):
        table = ma.systems_table(VALUES, baseline="run 0", cluster=CLUSTERS, **options)
        text = words(table)
        assert "t-test, Holm, p < 0.05, 56 topics in 14 clusters)" in text
        assert "56 topics in 14 clusters of 1 to " in text
        assert "degrees of freedom; design effect " in text
        assert "(median over pairs)" in text
    rows = compare_with_baseline(VALUES, "run 0", cluster=CLUSTERS)
    ends = rows[(rows["measure"] == "AP") & (rows["name"] == "run 1")].iloc[0]
    shown = words(
        ma.systems_table(
            VALUES, baseline="run 0", interval="difference", cluster=CLUSTERS, decimals=6
        )
    )
    assert f"[{ends['low']:.6f}, {ends['high']:.6f}]".replace("-", "−") in shown
    means = ma.aggregate(VALUES, ci=0.95, cluster=CLUSTERS).set_index("name").loc["run 1"]
    shown = words(ma.systems_table(VALUES, interval="mean", cluster=CLUSTERS, decimals=6))
    assert f"[{means['AP 95% low']:.6f}, {means['AP 95% high']:.6f}]" in shown


def test_a_table_of_independent_topics_is_as_without_clusters() -> None:
    for options in (
        {"baseline": "run 0", "interval": "difference", "notes": "full"},
        {"interval": "mean"},
        {},
    ):
        plain = ma.systems_table(VALUES, **options)
        assert str(ma.systems_table(VALUES, cluster="qid", **options)) == str(plain)
        alone = {qid: f"c{qid}" for qid in CLUSTERS}
        assert ma.systems_table(VALUES, cluster=alone, **options).to_latex() == plain.to_latex()


def test_detectable_differences_of_a_table_are_those_of_clusters() -> None:
    table = ma.systems_table(VALUES, baseline="run 0", cluster=CLUSTERS, notes="full", decimals=6)
    found = ma.analysis.detectable_difference(VALUES, baseline="run 0", cluster=CLUSTERS).table
    median = found.set_index("measure").loc["AP", "median"]
    assert (
        f"Detectable difference (power 0.8, median over the pairs of systems): AP {median:.6f}"
        in words(table)
    )


def test_clusters_without_a_test_or_an_interval_are_refused() -> None:
    with pytest.raises(
        MultiAspectError,
        match="cluster=: clusters affect tests and intervals only: give baseline= or",
    ):
        ma.systems_table(VALUES, cluster=CLUSTERS)


def test_qids_that_look_nested_are_a_warning_of_tables_with_tests() -> None:
    nested = VALUES.assign(
        qid=VALUES["qid"].map(lambda qid: f"{int(qid[1:]) // 4}_{int(qid[1:]) % 4 + 1}")
    )
    for options in ({"baseline": "run 0"}, {"interval": "mean"}):
        with pytest.warns(
            MultiAspectWarning, match=r"^56 topics look like 14 groups .*: pass cluster="
        ) as warned:
            ma.systems_table(nested, notes="full", **options)
        assert len(warned) == 1
    ma.systems_table(nested)
    ma.systems_table(nested, baseline="run 0", cluster="qid")
    ma.systems_table(nested, baseline="run 0", cluster=r"(\d+)_.*")


def macro_table(**options: Any) -> object:
    """Return a table of the collections and their macro mean, with differences from bm25."""
    return ma.systems_table(
        FRAME, baseline="bm25", by=COLLECTIONS, macro=True, interval="difference", **options
    )


def test_a_section_of_macro_means() -> None:
    """It follows the sections of the table without it, under the title macro."""
    sections, macro = str(macro_table(decimals=6)).split("\nmacro\n")
    rows = compare_with_baseline(FRAME, "bm25", by=COLLECTIONS, macro=True)
    row = rows[(rows["group"] == "macro") & (rows["name"] == "rerank")].iloc[0]
    assert f"[{row['low']:.6f}, {row['high']:.6f}]" in macro
    without_macro = str(
        ma.systems_table(FRAME, baseline="bm25", by=COLLECTIONS, interval="difference", decimals=6)
    )
    end_of_sections = without_macro.index("* best")  # the notes begin
    assert sections.split() == without_macro[:end_of_sections].split()


def test_the_note_of_macro_means_says_for_which_groups_they_hold() -> None:
    """For these groups or, if groups are the clusters, a new draw; nothing is said without a test."""
    for_these = "for these groups (for a new draw of groups is another question)"
    for_a_draw = "for a new draw of groups (for these groups is another question)"
    beginning = "macro: mean of 3 groups, which count equally, for these groups (for a new draw"
    assert beginning in words(macro_table(decimals=6))
    with errors.silence_warnings():
        assert for_a_draw in words(macro_table(cluster=COLLECTIONS))
        assert for_these in words(macro_table(cluster=WITHIN))
    without_test = words(ma.systems_table(FRAME, by=COLLECTIONS, macro=True))
    assert "macro: mean of 3 groups, which count equally." in without_test


#: Values on six topics: "same" hardly differs from base, "better" is higher by some 0.2 on each
#: topic, and "other" is higher or lower.
MARGIN_RUNS = {
    "base": [0.5, 0.3, 0.7, 0.2, 0.6, 0.4],
    "same": [0.51, 0.3, 0.69, 0.2, 0.6, 0.41],
    "better": [0.7, 0.5, 0.91, 0.42, 0.8, 0.6],
    "other": [0.2, 0.7, 0.4, 0.6, 0.1, 0.9],
}


def test_margins_are_marked() -> None:
    """The run "same" hardly differs from base, "better" is higher by 0.2, "other" is higher or lower."""
    table = ma.systems_table(long(MARGIN_RUNS), baseline="base", margin=0.1)
    _, *rows = str(table).splitlines()[:5]
    mark_of_run = {}
    for row in rows:  # such as "better  *0.6550†‡"
        name, value_with_marks, *_ = row.split()
        mark_of_run[name] = re.sub(r"[*.0-9]", "", value_with_marks)
    assert mark_of_run == {"base": "", "same": "≈", "better": "†‡", "other": ""}
    assert (
        "† differs from base, ‡ is not worse by 0.1, ≈ differs by less than 0.1 (paired t-test, "
        "Holm" in words(table)
    )
    latex = table.to_latex()
    assert r"\ddagger" in latex
    assert r"\approx" in latex


def test_margins_by_measure_are_named() -> None:
    both = pd.concat([long(MARGIN_RUNS), long(MARGIN_RUNS, "RR")], ignore_index=True)
    table = ma.systems_table(both, baseline="base", margin={"AP": 0.1, "RR": 0.2})
    assert "‡ is not worse by 0.1 AP, 0.2 RR, ≈" in words(table)


@pytest.mark.parametrize("baseline", [["base", "same"], None])
def test_margins_need_one_baseline(baseline: Any) -> None:
    message = re.escape(f"margin=: expected one baseline, got baseline= {baseline}")
    with pytest.raises(MultiAspectError, match=message):
        ma.systems_table(long(MARGIN_RUNS), baseline=baseline, margin=0.1)


@pytest.fixture
def shell(capsys, tmp_path, monkeypatch):
    """Write judged answers of three collections, and return a function that runs a command on them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [
        {"qid": f"{collection}/{topic}_{turn}", "name": run, "faithful": rng.random()}
        for collection, n_topics in (("scifact", 4), ("nfcorpus", 6), ("fiqa", 5))
        for topic in range(1, n_topics + 1)
        for turn in (1, 2, 3)
        for run in ("base", "new")
    ]
    frame = pd.DataFrame(rows)
    frame.to_csv("judged.csv", index=False)
    qids = frame["qid"].drop_duplicates()
    Path("collections.txt").write_text(
        "".join(f"{qid} {qid.split('/')[0]}\n" for qid in qids), encoding="utf-8"
    )

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["answers", "judged.csv", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_answers_of_conversations_in_the_shell(shell) -> None:
    cluster = ("--cluster", r"([^_]+)_\d+")
    code, out, err = shell("--baseline", "base", *cluster, "-o", "table.txt")
    assert (code, out) == (0, "")
    text = words(Path("table.txt").read_text(encoding="utf-8"))
    assert "45 topics in 15 clusters)" in text
    assert "45 topics in 15 clusters of 3: 14 degrees of freedom; design effect " in text
    assert "look like" not in err
    warned = shell("--baseline", "base", "--by", "collections.txt")[2]
    assert "45 topics look like 15 groups" in warned
    assert "pass --cluster '" in warned
    assert "look like" not in shell("--baseline", "base", "--cluster", "qid")[2]
    code, _, err = shell(*cluster)
    assert code == 2
    assert (
        "--cluster: clusters affect tests and intervals only: give --baseline RUN or --interval "
        "mean" in err
    )


def test_macro_means_and_margins_in_the_shell(shell) -> None:
    options = (
        "--by",
        "collections.txt",
        "--macro",
        "--cluster",
        r"([^_]+)_\d+",
        "--baseline",
        "base",
    )
    code, out, _ = shell(*options, "--margin", "0.4", "--interval", "difference")
    assert code == 0
    table = pd.read_csv(io.StringIO(out), sep="\t")
    assert table["group"].unique().tolist() == ["scifact", "nfcorpus", "fiqa", "all", "macro"]
    values = pd.read_csv("judged.csv").melt(["qid", "name"], var_name="measure")
    with errors.silence_warnings():
        tests = compare_with_baseline(
            values,
            "base",
            by=Path("collections.txt"),
            macro=True,
            cluster=r"([^_]+)_\d+",
            margin=0.4,
        ).set_index("group")
    new = table[table["name"] == "new"].set_index("group")
    columns = {
        "p-value": "asl",
        "p-value not worse": "p_not_worse",
        "p-value equivalent": "p_equivalent",
    }
    columns |= {"margin low": "margin_low", "difference high": "high"}
    for shown, column in columns.items():
        assert new[f"faithful {shown}"].tolist() == pytest.approx(tests[column].tolist()), shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--macro"], "--macro requires --by FILE"),
        (["--margin", "0.1"], "--margin requires --baseline RUN"),
        (["--margin", "x", "--baseline", "base"], "--margin: expected a number above 0, got 'x'"),
        (["--margin", "-1", "--baseline", "base"], "--margin: expected a number above 0"),
        (
            ["--margin", "faithful=1", "--margin", "2", "--baseline", "base"],
            "--margin: expected one number, or",
        ),
        (["--cluster", "none.txt", "--baseline", "base"], "--cluster: expected 'qid'"),
        (["--cluster", "qid", "-q"], "--cluster applies to means"),
    ],
)
def test_wrong_options_in_the_shell(shell, arguments, message) -> None:
    code, _, err = shell(*arguments)
    assert code == 2
    assert message in err


def test_the_golden_comparison_in_a_table() -> None:
    (case,) = golden_cases("compare")
    clusters = {f"q{topic:02d}": name for topic, name in enumerate(case["given"]["clusters"])}
    with errors.silence_warnings():
        table = ma.systems_table(
            long(case["given"]["runs"]), baseline="b", correction=None, interval="difference", cluster=clusters,
            decimals=12, measures={"AP": "higher"},
        )  # fmt: skip
    shown = str(table)
    for low, high in zip(case["expected"]["low"], case["expected"]["high"], strict=True):
        assert f"[{low:.12f}, {high:.12f}]".replace("-", "−") in shown.replace("-", "−")
