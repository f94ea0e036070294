"""Clusters of topics in ranks, robustness, weightings, variants and missing labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_clusters import by_qid, golden_cases, long, random_world

import pt_multiaspect as ma
from pt_multiaspect import errors
from pt_multiaspect.analysis import missing_labels, multiverse, ranks, weightings
from pt_multiaspect.cli import main
from pt_multiaspect.kernels.mean_errors import Clusters, mean_covariances, standard_error
from pt_multiaspect.views import View

DIRECTIONS = {"AP": "higher", "RR": "higher"}
SCALES = {"relevance": 2, "credibility": 2}


def robustness_of_values(frame: pd.DataFrame, **options: Any) -> View:
    return ma.robustness(frame, None, "AP", variants=["RR"], **options)


#: The functions of values, with few samples.
OF_VALUES: dict[str, Callable[..., View]] = {
    "ranks": lambda frame, **options: ranks(frame, n_resamples=20, **options),
    "robustness": robustness_of_values,
    "weightings": lambda frame, **options: weightings(frame, measures=DIRECTIONS, n_resamples=20, **options),
    "weightings of MM": lambda frame, **options: weightings(
        frame, "MM", measures=DIRECTIONS, n_resamples=20, **options
    ),
    "multiverse": multiverse,
}


def collection(seed: int, n_clusters: int = 6, size: int = 2) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return runs and qrels, some of whose labels are missing."""
    rng = np.random.default_rng(seed)
    qids = [f"q{cluster}x{turn}y" for cluster in range(n_clusters) for turn in range(size)]
    pairs = [(qid, f"d{number}") for qid in qids for number in range(5)]
    qrels = pd.DataFrame(pairs, columns=["qid", "docno"])
    for aspect, top in SCALES.items():
        qrels[aspect] = rng.integers(0, top + 1, len(qrels)).astype(float)
    qrels.loc[rng.random(len(qrels)) < 0.1, "credibility"] = np.nan
    runs = {
        name: qrels[["qid", "docno"]].assign(score=rng.random(len(qrels)) + bonus * qrels["relevance"])
        for name, bonus in (("a", 0.4), ("b", 0.2), ("c", 0.0))
    }
    return runs, qrels


def frames_of(result: View) -> dict[str, pd.DataFrame]:
    """Return the frames of a result, also of the results that it has."""
    frames = {}
    for field in fields(result):
        value = getattr(result, field.name)
        if isinstance(value, pd.DataFrame):
            frames[field.name] = value
        elif isinstance(value, View):
            frames |= {f"{field.name}.{name}": frame for name, frame in frames_of(value).items()}
    return frames


def assert_equal(found: View, expected: View, *, exact: bool = True) -> None:
    frames, others = frames_of(found), frames_of(expected)
    assert frames.keys() == others.keys()
    for name, frame in frames.items():
        pd.testing.assert_frame_equal(frame, others[name], check_exact=exact, obj=name)


def test_ranks_of_the_golden_case() -> None:
    (case,) = golden_cases("ranks")
    given, expected = case["given"], case["expected"]
    frame = long({f"run {row}": values for row, values in enumerate(given["runs"])})
    with errors.silence_warnings():
        clustered = ranks(frame, alpha=given["alpha"], n_resamples=20, cluster=by_qid(given["clusters"]))
    independent = ranks(frame, alpha=given["alpha"], n_resamples=20, cluster="qid")
    for found, suffix in ((clustered, ""), (independent, ", every topic its own cluster")):
        for end in ("low", "high"):
            assert found.table[end].tolist() == expected[end + suffix]
    text = " ".join(str(clustered).split())
    assert "corrected for the number of runs, 32 topics in 8 clusters)" in text
    assert "32 topics in 8 clusters of 3 to 5: 6.76 degrees of freedom; design effect " in text


@pytest.mark.every(10)
@pytest.mark.parametrize("seed", range(300))
@pytest.mark.parametrize("function", OF_VALUES)
def test_one_topic_per_cluster_is_as_without_clusters(function: str, seed: int) -> None:
    frame, clusters = random_world(seed, n_clusters=3)
    expected = OF_VALUES[function](frame)
    for cluster in ({qid: f"c{qid}" for qid in clusters}, "qid"):
        found = OF_VALUES[function](frame, cluster=cluster)
        assert_equal(found, expected)
        assert str(found) == str(expected)


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", range(6))
def test_one_topic_per_cluster_is_as_without_clusters_in_runs_and_judgments(seed: int) -> None:
    runs, qrels = collection(seed)
    measure = ma.CAM(aspects=SCALES) @ 3
    for compute in (lambda **own: ma.robustness(runs, qrels, measure, **own),
                    lambda **own: missing_labels(runs, qrels, measure, n_samples=5, **own)):  # fmt: skip
        expected, found = compute(), compute(cluster="qid")
        assert_equal(found, expected)
        assert str(found) == str(expected)


@pytest.mark.parametrize("function", OF_VALUES)
def test_copies_of_topics_in_clusters_count_once(function: str) -> None:
    """Numbers of topics, and samples of these, differ; tests and intervals by Student's t do not."""
    frame, _ = random_world(1, n_clusters=9)
    copies = pd.concat(
        [frame.assign(qid=frame["qid"] + copy, topic=frame["qid"]) for copy in ("x", "y", "z")], ignore_index=True
    )
    copies.attrs = frame.attrs
    single, clustered = OF_VALUES[function](frame), OF_VALUES[function](copies, cluster="topic")
    frames, others = frames_of(clustered), frames_of(single)
    counts = {"n_topics", "n_better", "n_worse", "evidence"}
    for name, frame_of_copies in frames.items():
        columns = [column for column in others[name] if column not in counts]
        pd.testing.assert_frame_equal(frame_of_copies[columns], others[name][columns], rtol=1e-6, obj=name)
    assert "108 topics in 36 clusters of 3: 35 degrees of freedom; design effect 3" in " ".join(
        str(clustered).split()
    )
    treated_as_independent = OF_VALUES[function](copies, cluster="qid")
    assert str(treated_as_independent) != str(clustered)


def test_copies_of_topics_in_clusters_count_once_in_runs_and_judgments() -> None:
    runs, qrels = collection(0, n_clusters=8, size=1)
    names = [f"{qid}{copy}" for copy in "uv" for qid in qrels["qid"].unique()]
    clusters = {name: name[:-1] for name in names}

    def repeat(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([rows.assign(qid=rows["qid"] + copy) for copy in "uv"], ignore_index=True)

    copied = {name: repeat(run) for name, run in runs.items()}
    measure = ma.CAM(aspects=SCALES) @ 3
    labels = qrels.melt(["qid", "docno"], list(SCALES), "criterion").dropna()
    judged = pd.concat([labels.assign(judge="j1"), labels.assign(judge="j2", value=2 - labels["value"])])
    single = ma.robustness(runs, qrels, measure, judges=judged)
    clustered = ma.robustness(copied, repeat(qrels), measure, judges=repeat(judged), cluster=clusters)
    columns = ["a", "b", "question", "verdict", "low", "high", "p", "detectable", "significant"]
    is_labels = single.table["question"] == "labels"  # whose extremes are approximate, and do not depend on topics
    found, expected = (table[~is_labels][columns] for table in (clustered.table, single.table))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6)
    assert clustered.judges is not None
    assert single.judges is not None
    pd.testing.assert_frame_equal(clustered.judges, single.judges)
    assert clustered.missing_labels is not None
    assert single.missing_labels is not None
    assert clustered.missing_labels.pairs["p"].tolist() == pytest.approx(single.missing_labels.pairs["p"].tolist())
    assert "p of CAM@3: 16 topics in 8 clusters of 2" in " ".join(clustered.missing_labels.notes)
    evidence = clustered.table["evidence"]
    assert evidence[0].endswith("; 16 topics in 8 clusters")
    assert clustered.notes[1].startswith("16 topics in 8 clusters of 2: 7 degrees of freedom; design effect 2")


@pytest.mark.parametrize("seed", range(20))
def test_covariances_have_the_squared_errors_on_the_diagonal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0.1, 0.2, (4, 3, 24))
    largest = np.abs(values).max(axis=-1)
    for labels in (np.arange(24), np.arange(24) % 6, np.append(rng.integers(5, size=22), [0, 1])):
        clusters = Clusters.from_labels(labels.tolist())
        covariances = mean_covariances(values, clusters, largest)
        squared_errors = np.diagonal(covariances, axis1=1, axis2=2)
        assert squared_errors == pytest.approx(standard_error(values, clusters) ** 2, rel=1e-12)
        weights = rng.dirichlet(np.ones(3))
        weighted = standard_error(np.einsum("pat,a->pt", values, weights), clusters)
        assert np.sqrt(weights @ covariances @ weights) == pytest.approx(weighted, rel=1e-12)


FEW, CLUSTERS = random_world(1)


@pytest.mark.parametrize("function", OF_VALUES)
def test_wrong_clusters_are_errors(function: str) -> None:
    for cluster, message in (
        ("topic", r"cluster: expected 'qid' .*, a column .*, a file .*, a regular expression .*, got 'topic'"),
        (dict.fromkeys(list(CLUSTERS)[1:], 1), r"cluster: expected a cluster for each topic, got none for q00"),
        (dict.fromkeys(CLUSTERS, "all"), r"cluster=: expected at least two clusters, got one of all 56 topics"),
    ):
        with pytest.raises(ma.MultiAspectError, match=message):
            OF_VALUES[function](FEW, cluster=cluster)


@pytest.mark.parametrize("function", OF_VALUES)
def test_few_clusters_are_a_warning(function: str) -> None:
    """Percentile intervals need more clusters than t intervals."""
    have_samples = function not in ("multiverse", "robustness")
    with pytest.warns(ma.MultiAspectWarning) as caught:
        OF_VALUES[function](FEW, cluster={qid: f"c{topic % 5}" for topic, qid in enumerate(CLUSTERS)})
    texts = [str(warning.message) for warning in caught]
    assert texts[0].startswith("56 topics in 5 clusters leave 4 degrees")
    assert len(texts) == 1 + have_samples
    if not have_samples:
        OF_VALUES[function](FEW, cluster=CLUSTERS)
        return
    with pytest.warns(ma.MultiAspectWarning) as caught:
        OF_VALUES[function](FEW, cluster=CLUSTERS)
    (warning,) = caught
    assert str(warning.message).startswith("56 topics in 14 clusters: percentile intervals are too narrow, as they")


def test_topics_of_judges_require_clusters() -> None:
    runs, qrels = collection(0)
    labels = qrels.melt(["qid", "docno"], list(SCALES), "criterion").dropna()
    judged = pd.concat([labels.assign(judge=judge) for judge in ("j1", "j2")])
    others = judged.assign(qid=judged["qid"].replace("q0x0y", "q99"))
    clusters = {qid: qid[:2] for qid in qrels["qid"].unique()}
    measure = ma.CAM(aspects=SCALES) @ 3
    with pytest.raises(ma.MultiAspectError, match=r"cluster: expected a cluster for each topic, got none for q99"):
        ma.robustness(runs, qrels, measure, judges=others, cluster=clusters)


def test_robustness_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values, clusters = tmp_path / "values.csv", tmp_path / "clusters.txt"
    FEW.to_csv(values, index=False)
    clusters.write_text("".join(f"{qid} {cluster}\n" for qid, cluster in CLUSTERS.items()), encoding="utf-8")
    command = ["robustness", "--values", str(values), "-m", "AP"]
    assert main([*command, "--cluster", str(clusters)]) == 0
    printed = capsys.readouterr()
    assert "56 topics in 14 clusters" in " ".join(printed.out.split())
    assert not printed.err
    assert main([*command, "--cluster", "topic"]) == 2
    assert "--cluster: expected 'qid'" in capsys.readouterr().err
    assert main([*command, "--cluster", r"q(\d)\d"]) == 0
    assert "56 topics in 6 clusters" in " ".join(capsys.readouterr().out.split())
