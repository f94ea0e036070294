"""Clusters of topics in analyses, folds and the shell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from test_clusters import by_qid, golden_cases, long, random_world

import pt_multiaspect as ma
from pt_multiaspect import errors
from pt_multiaspect.analysis import (
    correlation,
    judge_agreement,
    missing_labels,
    multiverse,
    prediction_powered,
    ranks,
    weightings,
)
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
    "weightings": lambda frame, **options: weightings(
        frame, measures=DIRECTIONS, n_resamples=20, **options
    ),
    "weightings of MM": lambda frame, **options: weightings(
        frame, "MM", measures=DIRECTIONS, n_resamples=20, **options
    ),
    "multiverse": multiverse,
}


def collection(
    seed: int, n_clusters: int = 6, size: int = 2
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return runs and qrels, some of whose labels are missing."""
    rng = np.random.default_rng(seed)
    qids = [f"q{cluster}x{turn}y" for cluster in range(n_clusters) for turn in range(size)]
    pairs = [(qid, f"d{number}") for qid in qids for number in range(5)]
    qrels = pd.DataFrame(pairs, columns=["qid", "docno"])
    for aspect, top in SCALES.items():
        qrels[aspect] = rng.integers(0, top + 1, len(qrels)).astype(float)
    qrels.loc[rng.random(len(qrels)) < 0.1, "credibility"] = np.nan
    runs = {
        name: qrels[["qid", "docno"]].assign(
            score=rng.random(len(qrels)) + bonus * qrels["relevance"]
        )
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
        clustered = ranks(
            frame, alpha=given["alpha"], n_resamples=20, cluster=by_qid(given["clusters"])
        )
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
        [frame.assign(qid=frame["qid"] + copy, topic=frame["qid"]) for copy in ("x", "y", "z")],
        ignore_index=True,
    )
    copies.attrs = frame.attrs
    single, clustered = OF_VALUES[function](frame), OF_VALUES[function](copies, cluster="topic")
    frames, others = frames_of(clustered), frames_of(single)
    counts = {"n_topics", "n_better", "n_worse", "evidence"}
    for name, frame_of_copies in frames.items():
        columns = [column for column in others[name] if column not in counts]
        pd.testing.assert_frame_equal(
            frame_of_copies[columns], others[name][columns], rtol=1e-6, obj=name
        )
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
    judged = pd.concat(
        [labels.assign(judge="j1"), labels.assign(judge="j2", value=2 - labels["value"])]
    )
    single = ma.robustness(runs, qrels, measure, judges=judged)
    clustered = ma.robustness(
        copied, repeat(qrels), measure, judges=repeat(judged), cluster=clusters
    )
    columns = ["a", "b", "question", "verdict", "low", "high", "p", "detectable", "significant"]
    is_labels = (
        single.table["question"] == "labels"
    )  # whose extremes are approximate, and do not depend on topics
    found, expected = (table[~is_labels][columns] for table in (clustered.table, single.table))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6)
    assert clustered.judges is not None
    assert single.judges is not None
    pd.testing.assert_frame_equal(clustered.judges, single.judges)
    assert clustered.missing_labels is not None
    assert single.missing_labels is not None
    assert clustered.missing_labels.pairs["p"].tolist() == pytest.approx(
        single.missing_labels.pairs["p"].tolist()
    )
    assert "p of CAM@3: 16 topics in 8 clusters of 2" in " ".join(clustered.missing_labels.notes)
    evidence = clustered.table["evidence"]
    assert evidence[0].endswith("; 16 topics in 8 clusters")
    assert clustered.notes[1].startswith(
        "16 topics in 8 clusters of 2: 7 degrees of freedom; design effect 2"
    )


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
        (
            "topic",
            (
                r"cluster: expected 'qid' .*, a column .*, a file .*, a regular expression .*, got "
                r"'topic'"
            ),
        ),
        (
            dict.fromkeys(list(CLUSTERS)[1:], 1),
            r"cluster: expected a cluster for each topic, got none for q00",
        ),
        (
            dict.fromkeys(CLUSTERS, "all"),
            r"cluster=: expected at least two clusters, got one of all 56 topics",
        ),
    ):
        with pytest.raises(ma.MultiAspectError, match=message):
            OF_VALUES[function](FEW, cluster=cluster)


@pytest.mark.parametrize("function", OF_VALUES)
def test_few_clusters_are_a_warning(function: str) -> None:
    """Percentile intervals need more clusters than t intervals."""
    have_samples = function not in ("multiverse", "robustness")
    with pytest.warns(ma.MultiAspectWarning) as caught:
        OF_VALUES[function](
            FEW, cluster={qid: f"c{topic % 5}" for topic, qid in enumerate(CLUSTERS)}
        )
    texts = [str(warning.message) for warning in caught]
    assert texts[0].startswith("56 topics in 5 clusters leave 4 degrees")
    assert len(texts) == 1 + have_samples
    if not have_samples:
        OF_VALUES[function](FEW, cluster=CLUSTERS)
        return
    with pytest.warns(ma.MultiAspectWarning) as caught:
        OF_VALUES[function](FEW, cluster=CLUSTERS)
    (warning,) = caught
    assert str(warning.message).startswith(
        "56 topics in 14 clusters: percentile intervals are too narrow, as they"
    )


def test_topics_of_judges_require_clusters() -> None:
    runs, qrels = collection(0)
    labels = qrels.melt(["qid", "docno"], list(SCALES), "criterion").dropna()
    judged = pd.concat([labels.assign(judge=judge) for judge in ("j1", "j2")])
    others = judged.assign(qid=judged["qid"].replace("q0x0y", "q99"))
    clusters = {qid: qid[:2] for qid in qrels["qid"].unique()}
    measure = ma.CAM(aspects=SCALES) @ 3
    with pytest.raises(
        ma.MultiAspectError, match=r"cluster: expected a cluster for each topic, got none for q99"
    ):
        ma.robustness(runs, qrels, measure, judges=others, cluster=clusters)


def test_robustness_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values, clusters = tmp_path / "values.csv", tmp_path / "clusters.txt"
    FEW.to_csv(values, index=False)
    clusters.write_text(
        "".join(f"{qid} {cluster}\n" for qid, cluster in CLUSTERS.items()), encoding="utf-8"
    )
    command = ["robustness", "--values", str(values), "-m", "AP"]
    assert main([*command, "--cluster", str(clusters)]) == 0
    printed = capsys.readouterr()
    assert "56 topics in 14 clusters" in " ".join(printed.out.split())
    assert not printed.err
    assert main([*command, "--cluster", "topic"]) == 2
    assert "--cluster: expected 'qid'" in capsys.readouterr().err
    assert main([*command, "--cluster", r"q(\d)\d"]) == 0
    assert "56 topics in 6 clusters" in " ".join(capsys.readouterr().out.split())


# -- other functions
# ------------------------------------------------------------------------------------------


def powered_frames(given: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Return the human values, those of the model, and the clusters of a golden case."""
    labels = [*given["labels"], *given["further"]]
    frames = [long({"new": given["human"]}), long({"new": labels})]
    return *frames, by_qid([*given["clusters"], *given["further_clusters"]])


def test_prediction_powered_intervals_of_the_golden_cases() -> None:
    cases = golden_cases("prediction_powered")
    assert len(cases) == 2
    for case in cases:
        human, model, clusters = powered_frames(case["given"])
        with errors.silence_warnings():
            found = prediction_powered(human, model, cluster=clusters)
        expected = {name: value for name, value in case["expected"].items() if name != "freedom"}
        row = found.table.iloc[0]
        assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-10), case[
            "name"
        ]
    text = " ".join(str(found).split())
    assert (
        "Human topics: 14 topics in 5 clusters of 2 to 4: 3.69 degrees of freedom; design effect "
        in text
    )
    assert "halve the interval" not in text
    assert found.table["n_to_halve"].isna().all()
    with pytest.raises(ma.MultiAspectError, match="human_topics is not defined with cluster="):
        found.human_topics(width=0.1)


def powered_world(
    seed: int, n_clusters: int = 3
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """Return values of people for half of the clusters, those of a model, and the cluster of each topic."""
    model, clusters = random_world(seed, n_clusters=2 * n_clusters)
    rng = np.random.default_rng(seed)
    is_judged = model["qid"].map(clusters) < f"c{n_clusters:02d}"
    human = model[is_judged].assign(
        value=lambda rows: 0.7 * rows["value"] + rng.normal(0, 0.05, len(rows))
    )
    return human, model, clusters


@pytest.mark.every(10)
@pytest.mark.parametrize("seed", range(300))
def test_one_topic_per_cluster_is_as_without_clusters_where_models_judge(seed: int) -> None:
    human, model, clusters = powered_world(seed, n_clusters=5)
    expected = prediction_powered(human, model, baseline="run 1")
    for cluster in ({qid: f"c{qid}" for qid in clusters}, "qid"):
        found = prediction_powered(human, model, baseline="run 1", cluster=cluster)
        assert_equal(found, expected)
        assert str(found) == str(expected)


def test_clusters_may_be_those_of_all_topics_where_some_have_no_value() -> None:
    human, model, clusters = powered_world(0, n_clusters=14)
    missing = human["qid"].iloc[0]
    lacking = [
        frame.assign(value=frame["value"].mask(frame["qid"] == missing)) for frame in (human, model)
    ]
    with pytest.warns(ma.MultiAspectWarning, match="NaN and left out"):
        found = prediction_powered(*lacking, cluster=clusters)
    others = [frame[frame["qid"] != missing] for frame in (human, model)]
    expected = prediction_powered(
        *others, cluster={qid: clusters[qid] for qid in clusters if qid != missing}
    )
    assert_equal(found, expected)


def test_copies_of_topics_count_once_where_models_judge() -> None:
    """The residuals and the labels of the same topics are not correlated unless the slope is limited."""
    human, model, _ = powered_world(0, n_clusters=4)
    human = human[["name", "qid", "measure"]].merge(model)
    wave = pd.factorize(human["qid"])[0] % 3 - 1
    human["value"] = 0.5 * human["value"] + 0.01 * wave
    single = prediction_powered(human, model, baseline="run 1")
    for frame in frames_of(single).values():
        slope = frame["lambda"] * (1 + frame["n_human"] / frame["n_further"])
        assert slope.between(0.1, 0.9).all()
    parts = [
        pd.concat(
            [frame.assign(qid=frame["qid"] + copy, topic=frame["qid"]) for copy in "xy"],
            ignore_index=True,
        )
        for frame in (human, model)
    ]
    clustered = prediction_powered(*parts, baseline="run 1", cluster="topic")
    for name, frame in frames_of(clustered).items():
        columns = [column for column in frame if not column.startswith("n_")]
        pd.testing.assert_frame_equal(
            frame[columns], frames_of(single)[name][columns], rtol=1e-9, obj=name
        )


def test_human_topics_of_few_clusters_are_an_error() -> None:
    human, model, clusters = powered_world(0)
    for n_clusters, message in (
        (1, r"expected at least two clusters, got one of all \d+ topics"),
        (
            3,
            (
                r"expected human topics that leave more than 2 degrees of freedom, got \d+ topics in 3 "
                r"clusters"
            ),
        ),
    ):
        few = {qid: f"c{int(name[1:]) % n_clusters}" for qid, name in clusters.items()}
        few |= {qid: clusters[qid] for qid in clusters if qid not in set(human["qid"])}
        with pytest.raises(ma.MultiAspectError, match=message), errors.silence_warnings():
            prediction_powered(human, model, cluster=few)


@pytest.mark.every(10)
@pytest.mark.parametrize("seed", range(300))
def test_one_topic_per_cluster_is_as_without_clusters_in_correlations(seed: int) -> None:
    frame, clusters = random_world(seed, n_clusters=3)
    for rank_by in ("mean", "query"):
        options = {"rank_by": rank_by, "ci": 0.9, "n_resamples": 20, "measures": DIRECTIONS}
        expected = correlation(frame, **options)
        for cluster in ({qid: f"c{qid}" for qid in clusters}, "qid"):
            found = correlation(frame, cluster=cluster, **options)
            pd.testing.assert_frame_equal(found, expected, check_exact=True)


def judged_documents(seed: int, n_topics: int, size: int = 1) -> pd.DataFrame:
    """Return labels of three judges for documents of topics, of which `size` belong together."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"q{topic // size:02d}x{topic % size}y", f"d{number}", judge, label)
        for topic in range(n_topics)
        for number in range(3)
        for label in [int(rng.integers(3))]
        for judge, label in zip("abc", (label, label, int(rng.integers(3))), strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["qid", "docno", "judge", "value"])
    return frame.assign(criterion="fluent", dialogue=frame["qid"].str[:3])


def test_one_topic_per_cluster_is_as_without_clusters_in_agreement() -> None:
    pytest.importorskip("krippendorff")
    options = {"aspects": {"fluent": [0, 1, 2]}, "ci": 0.9}
    for seed in range(3):
        judged = judged_documents(seed, 6)
        expected = judge_agreement(judged, **options)
        for cluster in ("qid", "dialogue", r"q(\d+)x0y"):
            pd.testing.assert_frame_equal(
                judge_agreement(judged, cluster=cluster, **options), expected
            )


def test_percentile_intervals_draw_clusters() -> None:
    """Samples of clusters whose topics are copies are those of the topics themselves."""
    frame, _ = random_world(0, n_clusters=8)
    copies = pd.concat([frame.assign(qid=frame["qid"] + copy, topic=frame["qid"]) for copy in "xy"])
    options = {"ci": 0.9, "n_resamples": 50, "measures": DIRECTIONS}
    found = correlation(copies, cluster="topic", **options)
    pd.testing.assert_frame_equal(found, correlation(frame, **options), rtol=1e-9)
    pytest.importorskip("krippendorff")
    single = judged_documents(0, 30)
    twice = pd.concat(
        [single.assign(qid=single["qid"] + copy, topic=single["qid"]) for copy in "uv"]
    )
    options = {"aspects": {"fluent": [0, 1, 2]}, "ci": 0.9, "level": "nominal"}
    ends = [judge_agreement(judged, **own, **options)[["low", "high"]] for judged, own in (
        (twice, {"cluster": "topic"}), (single, {}))]  # fmt: skip
    # Krippendorff's α corrects for the number of labels.
    assert ends[0].to_numpy() == pytest.approx(ends[1].to_numpy(), abs=0.02)
    independent = judge_agreement(twice, cluster="qid", **options)
    assert (ends[0]["high"] - ends[0]["low"]).item() > 1.2 * (
        independent["high"] - independent["low"]
    ).item()


def test_clusters_of_correlations_and_agreement_are_checked() -> None:
    pytest.importorskip("krippendorff")
    judged = judged_documents(0, 12, size=2)
    agree = {"aspects": {"fluent": [0, 1, 2]}}
    clusters = {qid: qid[:3] for qid in judged["qid"].unique()}
    for compute, own, n_topics in (
        (
            lambda **options: correlation(FEW, measures=DIRECTIONS, n_resamples=5, **options),
            CLUSTERS,
            56,
        ),
        (lambda **options: judge_agreement(judged, **agree, **options), clusters, 12),
    ):
        with pytest.raises(
            ma.MultiAspectError, match="cluster=: clusters affect intervals only: give ci="
        ):
            compute(cluster=own)
        with pytest.raises(
            ma.MultiAspectError, match=f"expected at least two clusters, got one of all {n_topics}"
        ):
            compute(ci=0.9, cluster=dict.fromkeys(own, "all"))
        with pytest.raises(ma.MultiAspectError, match="cluster: expected 'qid'"):
            compute(ci=0.9, cluster="unknown")
        with pytest.warns(
            ma.MultiAspectWarning,
            match=r"^\d+ topics in \d+ clusters: percentile intervals are too",
        ):
            compute(ci=0.9, cluster=own)
        compute()


def test_folds_divide_no_cluster() -> None:
    groups = np.array(
        [f"{dialogue}_{turn}" for dialogue in range(7) for turn in range(1 + dialogue % 3)] * 2
    )
    cluster_of = {qid: qid.split("_")[0] for qid in groups}
    X = pd.DataFrame(
        {"feature": np.arange(len(groups)), "dialogue": [cluster_of[qid] for qid in groups]}
    )
    splits = []
    for cluster in (r"(\d+)_.*", cluster_of, pd.Series(cluster_of), "dialogue"):
        cv = ma.RepeatedQueryKFold(n_splits=3, n_repeats=2, cluster=cluster)
        splits.append(
            [(train.tolist(), test.tolist()) for train, test in cv.split(X, groups=groups)]
        )
    assert all(others == splits[0] for others in splits)
    tested: list[str] = []
    for train, test in splits[0]:
        in_train, in_test = ({cluster_of[qid] for qid in groups[rows]} for rows in (train, test))
        assert not in_train & in_test
        assert sorted([*train, *test]) == list(range(len(groups)))
        tested += in_test
    assert sorted(tested) == sorted(2 * list(set(cluster_of.values())))
    for other in ("qid", {qid: f"c{qid}" for qid in groups}):
        alone = ma.RepeatedQueryKFold(n_splits=3, n_repeats=2, cluster=other).split(
            X, groups=groups
        )
        plain = ma.RepeatedQueryKFold(n_splits=3, n_repeats=2).split(X, groups=groups)
        assert [test.tolist() for _, test in alone] == [test.tolist() for _, test in plain]
    numbers = X.assign(qid=np.arange(len(X)) // 2 + 0.0)
    assert len([*ma.RepeatedQueryKFold(n_splits=3, n_repeats=1, cluster="qid").split(numbers)]) == 3
    search = GridSearchCV(
        Ridge(),
        {"alpha": [1.0]},
        cv=ma.RepeatedQueryKFold(n_splits=3, n_repeats=1, cluster="dialogue"),
    )
    assert np.isfinite(search.fit(X.astype(float), X["feature"], groups=groups).best_score_)


def test_more_folds_than_clusters_are_an_error() -> None:
    groups, rows = ["1_1", "1_2", "2_1", "2_2"], np.zeros((4, 1))
    for cluster, message in (
        (r"(\d)_.", "expected at least n_splits=3 clusters of queries, got 2; use fewer folds"),
        ({"1_1": "a"}, "cluster: expected a cluster for each topic, got none for 1_2"),
        ("dialogue", "cluster: expected 'qid'"),
    ):
        cv = ma.RepeatedQueryKFold(n_splits=3, n_repeats=1, cluster=cluster)
        with pytest.raises(ma.MultiAspectError, match=message):
            next(cv.split(rows, groups=groups))


def test_clusters_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a warning names the option, the option works."""
    qids = [f"{dialogue}_{turn}" for dialogue in range(1, 9) for turn in range(1, 5)]
    rng = np.random.default_rng(0)
    files = {name: tmp_path / f"{name}.txt" for name in ("relevance", "credibility", "a", "b", "c")}
    for name, path in files.items():
        if name in SCALES:
            lines = [
                f"{qid} 0 d{number} {rng.integers(3)}\n" for qid in qids for number in range(6)
            ]
        else:
            lines = [
                f"{qid} Q0 d{number} 0 {rng.random():.4f} {name}\n"
                for qid in qids
                for number in range(6)
            ]
        path.write_text("".join(lines), encoding="utf-8")
    qrels = ["--qrels", *(f"{aspect}={files[aspect]}" for aspect in SCALES)]
    scales = tmp_path / "scales.json"
    scales.write_text('{"relevance": [0, 1, 2], "credibility": [0, 1, 2]}', encoding="utf-8")
    runs = [str(files[name]) for name in "abc"]
    for command in (
        ["robustness", *qrels, "-m", "CAM@3", "--aspects", str(scales), *runs],
        ["weightings", *qrels, "-m", "CAM@3", "--aspects", str(scales), *runs],
        [
            "correlate",
            *qrels,
            "-m",
            "CAM@3",
            "nDCG@3",
            "--aspects",
            str(scales),
            "--ci",
            "--rank-by",
            "query",
            *runs,
        ],
        ["compare", *qrels, "-m", "CAM@3", "--aspects", str(scales), *runs[:2]],
    ):
        assert main(command) == 0
        printed = capsys.readouterr()
        assert printed.err.count(r"--cluster '(\d+)_.*', or --cluster qid if they are") == 1, (
            command
        )
        assert main([*command, "--cluster", "qid"]) == 0
        independent = capsys.readouterr()
        assert independent.out == printed.out
        assert "look like" not in independent.err
        assert main([*command, "--cluster", r"(\d+)_.*"]) == 0
        clustered = capsys.readouterr()
        assert clustered.out != printed.out
        assert "look like" not in clustered.err
    assert main(["compare", *qrels, "-m", "P@3", "-q", "--cluster", "qid", *runs[:2]]) == 2
    assert "--cluster: -q has no tests; omit it" in capsys.readouterr().err


def test_nested_topics_are_a_warning_where_tests_or_intervals_are_computed() -> None:
    number = FEW["qid"].str[1:].astype(int)
    frame = FEW.assign(qid=(100 + number // 4).astype(str) + "_" + (number % 4 + 1).astype(str))
    human = frame[frame["qid"] < "108"]
    runs, qrels = collection(0)
    names = {
        qid: f"{100 + row // 2}_{row % 2 + 1}" for row, qid in enumerate(qrels["qid"].unique())
    }
    runs = {name: run.assign(qid=run["qid"].map(names)) for name, run in runs.items()}
    qrels = qrels.assign(qid=qrels["qid"].map(names))
    labels = qrels.melt(["qid", "docno"], list(SCALES), "criterion").dropna()
    judged = pd.concat([labels.assign(judge=judge) for judge in "ab"])
    measure = ma.CAM(aspects=SCALES) @ 3
    doors: list[Callable[..., object]] = [
        *(lambda compute=compute: compute(frame) for compute in OF_VALUES.values()),
        lambda: prediction_powered(human, frame),
        lambda: correlation(frame, ci=0.9, n_resamples=5),
        lambda: missing_labels(runs, qrels, measure, n_samples=2),
        lambda: ma.robustness(runs, qrels, measure),
        lambda: judge_agreement(judged, ci=0.9),
    ]
    for door in doors:
        with pytest.warns(ma.MultiAspectWarning) as caught:
            door()
        texts = [str(warning.message) for warning in caught]
        assert (
            sum("and are treated as independent: pass cluster=" in text for text in texts) == 1
        ), texts
    correlation(frame)
    missing_labels({"a": runs["a"]}, qrels, measure, n_samples=2)
