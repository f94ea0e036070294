"""Clusters and macro means in reports."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from report_world import Page
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
    for baseline in VALUES["name"].unique():
        tests = compare_with_baseline(VALUES, baseline, cluster=CLUSTERS)
        own = clustered.comparisons[clustered.comparisons["baseline"] == baseline].reset_index(
            drop=True
        )
        columns = ["measure", "name", "difference", "asl", "p"]
        pd.testing.assert_frame_equal(own[columns], tests[columns])
    assert clustered.summary.startswith("Over 56 topics in 14 clusters, ")
    rows = compare_with_baseline(VALUES, "run 0", cluster=CLUSTERS).set_index(["measure", "name"])
    name = re.search(r"clusters, (run \d)", clustered.summary)[1]
    low, high = rows.loc[("AP", name), ["low", "high"]]
    assert f"[{low:.4f}, {high:.4f}]".replace("-", "−") in clustered.summary.replace("-", "−")
    assert "14 clusters" in " ".join(clustered.robustness.notes)


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


def test_qids_that_look_nested_are_one_warning() -> None:
    nested = VALUES.assign(
        qid=VALUES["qid"].map(lambda qid: f"{int(qid[1:]) // 4}_{int(qid[1:]) % 4 + 1}")
    )
    with pytest.warns(
        MultiAspectWarning, match=r"^56 topics look like 14 groups .*: pass cluster="
    ) as warned:
        ma.report(nested, baseline="run 0")
    assert len(warned) == 1
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


def test_a_report_of_answers_takes_clusters_and_macro_means(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "qid": f"{group}/{topic}_{turn}",
            "name": run,
            "faithful": (topic * turn + len(run)) % 5 / 4,
        }
        for group in ("x", "y")
        for topic in range(1, 7)
        for turn in (1, 2, 3)
        for run in ("base", "new")
    ]
    Path("judged.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    Path("by.txt").write_text(
        "".join(f"{row['qid']} {row['qid'][0]}\n" for row in rows), encoding="utf-8"
    )
    options = ["--by", "by.txt", "--macro", "--cluster", r"([^_]+)_\d+", "--baseline", "base"]
    assert main(["answers", "judged.jsonl", *options, "-o", "report.html"]) == 0
    text = Path("report.html").read_text(encoding="utf-8")
    assert "36 topics in 12 clusters of 3: 11 degrees of freedom" in text
    assert "macro (2 groups)" in text
    assert main(["answers", "judged.jsonl", *options, "--margin", "0.1", "-o", "report.html"]) == 2
    assert "--margin applies to tables" in capsys.readouterr().err


def test_estimates_with_human_judgments_take_clusters(tmp_path, monkeypatch, capsys) -> None:
    model = VALUES.assign(value=0.2 + VALUES["value"] / 2)
    human = model[model["qid"].map(CLUSTERS) < "c09"].copy()
    human["value"] += 0.01 * (human["qid"].str[-1] == "1")
    expected = ma.analysis.prediction_powered(human, model, baseline="run 0", cluster=CLUSTERS)
    report = ma.report(model, human=human, baseline="run 0", cluster=CLUSTERS)
    pd.testing.assert_frame_equal(report.powered.table, expected.table)
    monkeypatch.chdir(tmp_path)
    for name, values in (("judged", model), ("human", human)):
        wide = values[values["measure"] == "AP"].rename(columns={"value": "faithful"})
        wide[["qid", "name", "faithful"]].to_csv(f"{name}.csv", index=False)
    Path("clusters.txt").write_text(
        "".join(f"{qid} {name}\n" for qid, name in CLUSTERS.items()), encoding="utf-8"
    )
    options = ["answers", "judged.csv", "--human", "human.csv", "--cluster", "clusters.txt"]
    assert main(options) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out), sep="\t")
    rows = expected.table[expected.table["measure"] == "AP"]
    assert table["low"].tolist() == pytest.approx(rows["low"].tolist())


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
