"""Clusters and macro means in reports."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path

import pandas as pd
import pytest
from report_world import Page
from strategies import no_warnings
from test_clusters import random_world
from test_macro_means import COLLECTIONS, FRAME, WITHIN

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning, errors
from pt_multiaspect.analysis import compare_with_baseline, discriminative_power
from pt_multiaspect.cli import main

VALUES, CLUSTERS = random_world(3)


@pytest.fixture(scope="module")
def clustered():
    return ma.report(VALUES, baseline="run 0", cluster=CLUSTERS)


def test_all_tests_and_intervals_take_clusters_into_account(clustered) -> None:
    means = ma.aggregate(VALUES, ci=0.95, cluster=CLUSTERS)
    pd.testing.assert_frame_equal(clustered.systems, means)
    power = discriminative_power(VALUES, "t", cluster=CLUSTERS)
    pd.testing.assert_frame_equal(clustered.power.table, power.table)
    columns = ["measure", "name", "difference", "asl", "p"]
    for baseline in VALUES["name"].unique():
        expected = compare_with_baseline(VALUES, baseline, cluster=CLUSTERS)
        is_of_baseline = clustered.comparisons["baseline"] == baseline
        comparisons = clustered.comparisons[is_of_baseline].reset_index(drop=True)
        pd.testing.assert_frame_equal(comparisons[columns], expected[columns])
    assert "14 clusters" in " ".join(clustered.robustness.notes)


def test_the_summary_takes_clusters_into_account(clustered) -> None:
    """It begins as "Over 56 topics in 14 clusters, run 2 is …", and has the interval of the difference."""
    beginning = "Over 56 topics in 14 clusters, "
    assert clustered.summary.startswith(beginning)
    name = clustered.summary[len(beginning) : len(beginning) + len("run 0")]
    tests = compare_with_baseline(VALUES, "run 0", cluster=CLUSTERS).set_index(["measure", "name"])
    low, high = tests.loc[("AP", name), ["low", "high"]]
    summary_with_hyphens = clustered.summary.replace("−", "-")
    assert f"[{low:.4f}, {high:.4f}]" in summary_with_hyphens


def test_a_page_states_clusters(clustered) -> None:
    page = Page(clustered.to_html())
    assert "56 topics in 14 clusters of 1 to " in page.text
    assert "degrees of freedom; design effect " in page.text
    assert "p < 0.05, 56 topics in 14 clusters." in page.text
    assert "topics56 topics in 14 clusters" in page.text.split("Versions, measures and options")[1]


def test_one_topic_per_cluster_is_as_without_clusters() -> None:
    plain = ma.report(VALUES, baseline="run 0").to_html()
    assert ma.report(VALUES, baseline="run 0", cluster="qid").to_html() == plain
    assert (
        ma.report(VALUES, baseline="run 0", cluster={qid: f"c{qid}" for qid in CLUSTERS}).to_html()
        == plain
    )


def test_one_cluster_of_all_topics_is_refused() -> None:
    for values in (FRAME, FRAME[FRAME["name"] == "bm25"]):
        with pytest.raises(
            MultiAspectError, match="cluster=: expected at least two clusters, got one of all"
        ):
            ma.report(values, cluster=dict.fromkeys(COLLECTIONS, "all"))


def nest_qid(qid: str) -> str:
    """Return "0_1", "0_2", "0_3", "0_4", "1_1", … for "q00", "q01", …"""
    number = int(qid[1:])
    return f"{number // 4}_{number % 4 + 1}"


def test_qids_that_look_nested_are_one_warning() -> None:
    """Though a report evaluates several things; none if the clusters are given, as by a pattern."""
    nested = VALUES.assign(qid=VALUES["qid"].map(nest_qid))
    with pytest.warns(
        MultiAspectWarning, match=r"^56 topics look like 14 groups .*: pass cluster="
    ) as warned:
        ma.report(nested, baseline="run 0")
    assert len(warned) == 1
    with no_warnings():
        ma.report(nested, baseline="run 0", cluster=r"(\d+)_.*")


def test_readers_can_choose_macro_means() -> None:
    for cluster, about in (
        (None, "for these groups"),
        (WITHIN, "for these groups"),
        (COLLECTIONS, "for a new draw"),
    ):
        with errors.silence_warnings():
            report = ma.report(FRAME, baseline="bm25", by=COLLECTIONS, macro=True, cluster=cluster)
            means = ma.aggregate(FRAME, ci=0.95, by=COLLECTIONS, macro=True, cluster=cluster)
            tests = compare_with_baseline(
                FRAME, "bm25", by=COLLECTIONS, macro=True, cluster=cluster
            )
        pd.testing.assert_frame_equal(report.systems, means)
        own = report.comparisons[report.comparisons["baseline"] == "bm25"].reset_index(drop=True)
        expected = tests[tests["asl"].notna()].reset_index(drop=True)
        columns = ["group", "name", "difference", "asl", "p", "significant", "verdict"]
        pd.testing.assert_frame_equal(own[columns], expected[columns])
        page = Page(report.to_html())
        assert f"macro: mean of 3 groups, which count equally, {about}" in page.text
        assert "macro (3 groups)" in page.text
        parts = page.data["groups"]
        assert [part["group"] for part in parts] == ["a", "b", "c", "macro"]
        macro = means[means["group"] == "macro"]
        assert parts[-1]["means"] == [macro["AP"].tolist()]
        assert parts[-1]["size"] == "3 groups"


def test_the_command_takes_clusters_and_macro_means(cli, trec_files, tmp_path) -> None:
    qids = sorted(
        {line.split()[0] for line in Path("relevance.txt").read_text(encoding="utf-8").splitlines()}
    )
    lines = [f"{qid} {'ab'[number % 2]}\n" for number, qid in enumerate(qids)]
    Path("by.txt").write_text("".join(lines), encoding="utf-8")
    options = ["-m", "AP", "--by", "by.txt", "--macro", "--cluster", "qid"]
    code, _, err = cli("report", *options, "-o", "report.html", "runs", qrels=["relevance.txt"])
    assert code == 0, err
    assert "macro (2 groups)" in Path("report.html").read_text(encoding="utf-8")


@pytest.fixture
def judged_turns(tmp_path, monkeypatch):
    """Write answers on three turns of 12 conversations, six of each group: "x/1_1" to "y/6_3"."""
    monkeypatch.chdir(tmp_path)
    rows, groups = [], []
    for group, conversation, turn in itertools.product("xy", range(1, 7), range(1, 4)):
        qid = f"{group}/{conversation}_{turn}"
        groups.append(f"{qid} {group}\n")
        for run, shift in {"base": 4, "new": 3}.items():
            faithful = (conversation * turn + shift) % 5 / 4
            rows.append({"qid": qid, "name": run, "faithful": faithful})
    lines = [json.dumps(row) for row in rows]
    Path("judged.jsonl").write_text("\n".join(lines), encoding="utf-8")
    Path("by.txt").write_text("".join(groups), encoding="utf-8")
    clusters = r"([^_]+)_\d+"  # the conversation of a qid
    return [
        "judged.jsonl",
        "--by",
        "by.txt",
        "--macro",
        "--cluster",
        clusters,
        "--baseline",
        "base",
    ]


def test_a_report_of_answers_takes_clusters_and_macro_means(judged_turns) -> None:
    assert main(["answers", *judged_turns, "-o", "report.html"]) == 0
    text = Path("report.html").read_text(encoding="utf-8")
    assert "36 topics in 12 clusters of 3: 11 degrees of freedom" in text
    assert "macro (2 groups)" in text


def test_a_report_of_answers_takes_no_margin(judged_turns, capsys) -> None:
    assert main(["answers", *judged_turns, "--margin", "0.1", "-o", "report.html"]) == 2
    assert "--margin applies to tables" in capsys.readouterr().err


@pytest.fixture
def model_and_human():
    """Return values by a model of all topics, and nearly the same by humans of the first eight clusters."""
    model = VALUES.assign(value=0.2 + VALUES["value"] / 2)
    cluster_of_row = model["qid"].map(CLUSTERS)
    human = model[cluster_of_row < "c09"].copy()
    ends_in_1 = human["qid"].str.endswith("1")
    human.loc[ends_in_1, "value"] += 0.01
    return model, human


def test_estimates_with_human_judgments_take_clusters(model_and_human) -> None:
    model, human = model_and_human
    expected = ma.analysis.prediction_powered(human, model, baseline="run 0", cluster=CLUSTERS)
    report = ma.report(model, human=human, baseline="run 0", cluster=CLUSTERS)
    pd.testing.assert_frame_equal(report.powered.table, expected.table)


def test_estimates_with_human_judgments_take_clusters_in_the_shell(
    model_and_human, tmp_path, monkeypatch, capsys
) -> None:
    model, human = model_and_human
    monkeypatch.chdir(tmp_path)
    for file, values in (("judged.csv", model), ("human.csv", human)):
        answers = values[values["measure"] == "AP"].rename(columns={"value": "faithful"})
        answers[["qid", "name", "faithful"]].to_csv(file, index=False)
    lines = [f"{qid} {cluster}\n" for qid, cluster in CLUSTERS.items()]
    Path("clusters.txt").write_text("".join(lines), encoding="utf-8")
    options = ["answers", "judged.csv", "--human", "human.csv", "--cluster", "clusters.txt"]
    assert main(options) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out), sep="\t")
    expected = ma.analysis.prediction_powered(
        human, model, baseline="run 0", cluster=CLUSTERS
    ).table
    of_ap = expected[expected["measure"] == "AP"]
    assert table["low"].tolist() == pytest.approx(of_ap["low"].tolist())


def test_agreement_of_judges_draws_clusters(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "qid": f"{topic}_{turn}",
            "name": "a",
            "judge": judge,
            "criterion": "good",
            "score": (topic * turn * j) % 3,
        }
        for topic in range(1, 40)
        for turn in (1, 2)
        for j, judge in enumerate(("x", "y"), 1)
    ]
    pd.DataFrame(rows).to_csv("judged.csv", index=False)
    scales = '{"good": {"grades": [0, 1, 2]}}'
    found = []
    for cluster in (r"(\d+)_.*", "qid"):
        command = [
            "answers",
            "judged.csv",
            "--agreement",
            "--aspects",
            scales,
            "--cluster",
            cluster,
        ]
        assert main(command) == 0
        found.append(pd.read_csv(io.StringIO(capsys.readouterr().out), sep="\t"))
    clustered, plain = found
    assert clustered["alpha"].tolist() == plain["alpha"].tolist()
    assert clustered["low"].tolist() != plain["low"].tolist()
