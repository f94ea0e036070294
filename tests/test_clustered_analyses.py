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


@pytest.mark.parametrize(
    ("is_clustered", "suffix"),
    [(True, ""), (False, ", every topic its own cluster")],
    ids=["clusters", "independent topics"],
)
def test_ranks_of_the_golden_case(is_clustered: bool, suffix: str) -> None:
    (case,) = golden_cases("ranks")  # the suffix is that of the names of expected values
    given, expected = case["given"], case["expected"]
    frame = long({f"run {row}": values for row, values in enumerate(given["runs"])})
    cluster = by_qid(given["clusters"]) if is_clustered else "qid"
    with errors.silence_warnings():
        found = ranks(frame, alpha=given["alpha"], n_resamples=20, cluster=cluster)
    assert found.table["low"].tolist() == expected["low" + suffix]
    assert found.table["high"].tolist() == expected["high" + suffix]


def test_clusters_of_ranks_are_printed() -> None:
    (case,) = golden_cases("ranks")
    given = case["given"]
    frame = long({f"run {row}": values for row, values in enumerate(given["runs"])})
    with errors.silence_warnings():
        found = ranks(
            frame, alpha=given["alpha"], n_resamples=20, cluster=by_qid(given["clusters"])
        )
    text = " ".join(str(found).split())
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
    frame, _ = random_world(1, n_clusters=9)  # 36 topics
    copies = copy_topics(frame, "xyz")  # 108 topics
    compute = OF_VALUES[function]

    clustered = compute(copies, cluster="topic")

    expected_frames = frames_of(compute(frame))
    counts = ["n_topics", "n_better", "n_worse", "evidence"]
    for name, table in frames_of(clustered).items():  # the frames of the result
        expected = expected_frames[name].drop(columns=counts, errors="ignore")
        pd.testing.assert_frame_equal(table[list(expected)], expected, rtol=1e-6, obj=name)
    text = " ".join(str(clustered).split())
    assert "108 topics in 36 clusters of 3: 35 degrees of freedom; design effect 3" in text
    treated_as_independent = compute(copies, cluster="qid")
    assert str(treated_as_independent) != str(clustered)


@pytest.fixture(scope="module")
def robustness_of_copies() -> tuple[Any, Any]:
    """The robustness of runs on 8 topics, and on these with a copy of each, in clusters of 2."""
    runs, qrels = collection(0, n_clusters=8, size=1)
    labels = qrels.melt(["qid", "docno"], list(SCALES), "criterion").dropna()
    opposite = labels.assign(value=2 - labels["value"])
    judged = pd.concat([labels.assign(judge="j1"), opposite.assign(judge="j2")])
    clusters = {qid + copy: qid for qid in qrels["qid"].unique() for copy in "uv"}

    def repeat(rows: pd.DataFrame) -> pd.DataFrame:
        return copy_topics(rows, "uv").drop(columns="topic")

    measure = ma.CAM(aspects=SCALES) @ 3
    copied_runs = {name: repeat(run) for name, run in runs.items()}
    single = ma.robustness(runs, qrels, measure, judges=judged)
    clustered = ma.robustness(
        copied_runs, repeat(qrels), measure, judges=repeat(judged), cluster=clusters
    )
    return single, clustered


def test_copies_of_topics_in_clusters_count_once_in_runs_and_judgments(
    robustness_of_copies: tuple[Any, Any],
) -> None:
    single, clustered = robustness_of_copies  # without copies; with two copies of each topic
    # The extremes over missing labels are approximate, and do not depend on topics.
    is_exact = single.table["question"] != "labels"
    columns = ["a", "b", "question", "verdict", "low", "high", "p", "detectable", "significant"]
    pd.testing.assert_frame_equal(
        clustered.table[is_exact][columns], single.table[is_exact][columns], rtol=1e-6
    )
    assert single.judges is not None
    pd.testing.assert_frame_equal(clustered.judges, single.judges)
    assert single.missing_labels is not None
    expected_p = single.missing_labels.pairs["p"].tolist()
    assert clustered.missing_labels.pairs["p"].tolist() == pytest.approx(expected_p)


def test_robustness_tells_of_clusters(robustness_of_copies: tuple[Any, Any]) -> None:
    _, clustered = robustness_of_copies  # 8 clusters of a topic and its copy
    assert clustered.table["evidence"][0].endswith("; 16 topics in 8 clusters")
    beginning = "16 topics in 8 clusters of 2: 7 degrees of freedom; design effect 2"
    assert clustered.notes[1].startswith(beginning)
    notes_on_labels = " ".join(clustered.missing_labels.notes)
    assert "p of CAM@3: 16 topics in 8 clusters of 2" in notes_on_labels


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["independent topics", "equal sizes", "random sizes"])
def test_covariances_have_the_squared_errors_on_the_diagonal(kind: str, seed: int) -> None:
    """The covariances of the means of aspects give the standard error of any weighted mean of them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0.1, 0.2, (4, 3, 24))  # pairs of runs, aspects, topics
    if kind == "independent topics":
        labels = list(range(24))
    elif kind == "equal sizes":
        labels = [topic % 6 for topic in range(24)]
    else:
        labels = [*rng.integers(5, size=22).tolist(), 0, 1]  # at least two clusters
    clusters = Clusters.from_labels(labels)

    covariances = mean_covariances(values, clusters, np.abs(values).max(axis=-1))

    squared_errors = np.diagonal(covariances, axis1=1, axis2=2)  # pairs, aspects
    assert squared_errors == pytest.approx(standard_error(values, clusters) ** 2, rel=1e-12)
    weights = rng.dirichlet(np.ones(3))
    weighted_values = weights @ values  # pairs, topics
    expected = standard_error(weighted_values, clusters)
    error = np.sqrt(weights @ covariances @ weights)
    assert error == pytest.approx(expected, rel=1e-12)


#: Values of four runs by AP and RR on 56 topics, and the cluster of each topic, of 14.
FEW, CLUSTERS = random_world(1)


def copy_topics(frame: pd.DataFrame, names: str) -> pd.DataFrame:
    """Return the rows once per letter, as those of other topics; the column topic has the original."""
    copies = [frame.assign(qid=frame["qid"] + name, topic=frame["qid"]) for name in names]
    result = pd.concat(copies, ignore_index=True)
    result.attrs = frame.attrs
    return result


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


def messages_of(function: str, cluster: dict[str, str]) -> list[str]:
    """The messages of the warnings of a function of values, given the cluster of each topic."""
    with pytest.warns(ma.MultiAspectWarning) as caught:
        OF_VALUES[function](FEW, cluster=cluster)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("function", ["multiverse", "robustness"])
def test_few_clusters_are_a_warning(function: str) -> None:
    five_clusters = {qid: f"c{topic % 5}" for topic, qid in enumerate(CLUSTERS)}
    (message,) = messages_of(function, five_clusters)
    assert message.startswith("56 topics in 5 clusters leave 4 degrees")
    # The fourteen clusters of the fixture are enough, and warnings are errors here.
    OF_VALUES[function](FEW, cluster=CLUSTERS)


@pytest.mark.parametrize("function", ["ranks", "weightings", "weightings of MM"])
def test_few_clusters_are_a_warning_of_percentile_intervals(function: str) -> None:
    """Percentile intervals need more clusters than t intervals."""
    five_clusters = {qid: f"c{topic % 5}" for topic, qid in enumerate(CLUSTERS)}
    of_tests, _of_percentile_intervals = messages_of(function, five_clusters)
    assert of_tests.startswith("56 topics in 5 clusters leave 4 degrees")
    (of_percentile_intervals,) = messages_of(function, CLUSTERS)
    beginning = "56 topics in 14 clusters: percentile intervals are too narrow, as they"
    assert of_percentile_intervals.startswith(beginning)


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
    """Topics with a copy each, in clusters of two, give the estimates of the topics alone.

    This holds if the slope of the human values on the model's is not limited to [0, 1]: residuals
    and labels are then uncorrelated.
    """
    _, model, _ = powered_world(0, n_clusters=4)
    human, _, _ = powered_world(0, n_clusters=4)
    human = human[["name", "qid", "measure"]].merge(model)  # the model's values on those topics
    topic_number = pd.factorize(human["qid"])[0]
    errors_of_model = 0.01 * (topic_number % 3 - 1)
    human["value"] = 0.5 * human["value"] + errors_of_model

    single = prediction_powered(human, model, baseline="run 1")
    clustered = prediction_powered(
        copy_topics(human, "xy"), copy_topics(model, "xy"), baseline="run 1", cluster="topic"
    )

    expected_frames = frames_of(single)
    for name, frame in frames_of(clustered).items():
        expected = expected_frames[name]
        # λ is the slope times the fraction of further topics.
        fraction = expected["n_further"] / (expected["n_human"] + expected["n_further"])
        slope = expected["lambda"] / fraction
        assert slope.between(0.1, 0.9).all()
        columns = [column for column in frame if not column.startswith("n_")]
        pd.testing.assert_frame_equal(frame[columns], expected[columns], rtol=1e-9, obj=name)


@pytest.mark.parametrize(
    ("n_clusters", "message"),
    [
        (1, r"expected at least two clusters, got one of all \d+ topics"),
        (
            3,
            r"expected human topics that leave more than 2 degrees of freedom, got \d+ topics in 3 clusters",
        ),
    ],
)
def test_human_topics_of_few_clusters_are_an_error(n_clusters: int, message: str) -> None:
    human, model, clusters = powered_world(0)
    few = dict(clusters)
    for qid in human["qid"].unique():
        number = int(clusters[qid].removeprefix("c"))  # of a cluster such as c07
        few[qid] = f"c{number % n_clusters}"
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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cluster", ["qid", "dialogue", r"q(\d+)x0y"])
def test_one_topic_per_cluster_is_as_without_clusters_in_agreement(cluster: str, seed: int) -> None:
    """A cluster is named by a column, or by the group of a pattern of topics."""
    pytest.importorskip("krippendorff")
    options = {"aspects": {"fluent": [0, 1, 2]}, "ci": 0.9}
    judged = judged_documents(seed, n_topics=6)  # q00x0y of the dialogue q00, and so on
    clustered = judge_agreement(judged, cluster=cluster, **options)
    pd.testing.assert_frame_equal(clustered, judge_agreement(judged, **options))


def test_percentile_intervals_draw_clusters() -> None:
    """Samples of clusters whose topics are copies are those of the topics themselves."""
    frame, _ = random_world(0, n_clusters=8)
    options = {"ci": 0.9, "n_resamples": 50, "measures": DIRECTIONS}
    of_copies = correlation(copy_topics(frame, "xy"), cluster="topic", **options)
    pd.testing.assert_frame_equal(of_copies, correlation(frame, **options), rtol=1e-9)


def test_percentile_intervals_of_agreement_draw_clusters() -> None:
    """Samples of clusters whose topics are copies are those of the topics themselves."""
    pytest.importorskip("krippendorff")
    judged = judged_documents(0, n_topics=30)
    copies = copy_topics(judged, "uv")
    options = {"aspects": {"fluent": [0, 1, 2]}, "ci": 0.9, "level": "nominal"}

    (single,) = judge_agreement(judged, **options).to_dict("records")
    (clustered,) = judge_agreement(copies, cluster="topic", **options).to_dict("records")
    (independent,) = judge_agreement(copies, cluster="qid", **options).to_dict("records")

    # They are only nearly equal: Krippendorff's α corrects for the number of labels.
    assert clustered["low"] == pytest.approx(single["low"], abs=0.02)
    assert clustered["high"] == pytest.approx(single["high"], abs=0.02)
    # Twice the topics would make an interval narrower by a factor of about √2.
    width = clustered["high"] - clustered["low"]
    width_of_independent = independent["high"] - independent["low"]
    assert width > 1.2 * width_of_independent


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


def dialogues() -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of seven dialogues of one to three turns, and their topics, such as 3_0 of dialogue 3."""
    topics = [f"{dialogue}_{turn}" for dialogue in range(7) for turn in range(1 + dialogue % 3)] * 2
    X = pd.DataFrame({"feature": np.arange(len(topics))})
    X["dialogue"] = [topic.split("_")[0] for topic in topics]
    return X, np.array(topics)


def folds_of(cluster: Any, n_repeats: int = 2) -> list[tuple[list[int], list[int]]]:
    """The rows for training and for tests of all folds, of three folds per repeat."""
    X, topics = dialogues()
    cv = ma.RepeatedQueryKFold(n_splits=3, n_repeats=n_repeats, cluster=cluster)
    return [(train.tolist(), test.tolist()) for train, test in cv.split(X, groups=topics)]


def test_folds_divide_no_cluster() -> None:
    X, _ = dialogues()
    tested = []
    for train, test in folds_of("dialogue", n_repeats=2):
        trained_dialogues = set(X["dialogue"].iloc[train])
        tested_dialogues = set(X["dialogue"].iloc[test])
        assert not trained_dialogues & tested_dialogues
        assert sorted([*train, *test]) == list(range(len(X)))
        tested += tested_dialogues
    once_per_repeat = 2 * list(X["dialogue"].unique())
    assert sorted(tested) == sorted(once_per_repeat)


def test_clusters_of_folds_are_given_as_pattern_mapping_series_or_column() -> None:
    X, topics = dialogues()
    dialogue_of_topic = dict(zip(topics, X["dialogue"], strict=True))
    by_column = folds_of("dialogue")
    assert folds_of(r"(\d+)_.*") == by_column
    assert folds_of(dialogue_of_topic) == by_column
    assert folds_of(pd.Series(dialogue_of_topic)) == by_column


def test_folds_of_one_topic_per_cluster_are_those_without_clusters() -> None:
    _, topics = dialogues()
    assert folds_of("qid") == folds_of(None)
    assert folds_of({topic: f"c{topic}" for topic in topics}) == folds_of(None)


def test_folds_of_topics_that_are_numbers() -> None:
    X, _ = dialogues()
    X["qid"] = np.arange(len(X)) // 2 + 0.0
    cv = ma.RepeatedQueryKFold(n_splits=3, n_repeats=1, cluster="qid")
    assert len(list(cv.split(X))) == 3


def test_folds_of_clusters_in_a_search() -> None:
    X, topics = dialogues()
    cv = ma.RepeatedQueryKFold(n_splits=3, n_repeats=1, cluster="dialogue")
    search = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=cv)
    search.fit(X.astype(float), X["feature"], groups=topics)
    assert np.isfinite(search.best_score_)


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


@pytest.fixture
def turns_of_dialogues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of qrels and runs whose topics are turns of dialogues, such as 1_1 and 1_2, and of scales."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    qids = [f"{dialogue}_{turn}" for dialogue in range(1, 9) for turn in range(1, 5)]
    pairs = [(qid, f"d{number}") for qid in qids for number in range(6)]
    for aspect in ("relevance", "credibility"):
        lines = [f"{qid} 0 {docno} {rng.integers(3)}\n" for qid, docno in pairs]
        Path(f"{aspect}.txt").write_text("".join(lines), encoding="utf-8")
    for run in "abc":
        lines = [f"{qid} Q0 {docno} 0 {rng.random():.4f} {run}\n" for qid, docno in pairs]
        Path(f"{run}.txt").write_text("".join(lines), encoding="utf-8")
    scales = '{"relevance": [0, 1, 2], "credibility": [0, 1, 2]}'
    Path("scales.json").write_text(scales, encoding="utf-8")


QRELS_FILES = ["--qrels", "relevance=relevance.txt", "credibility=credibility.txt"]


@pytest.mark.usefixtures("turns_of_dialogues")
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("robustness", ["-m", "CAM@3", "a.txt", "b.txt", "c.txt"]),
        ("weightings", ["-m", "CAM@3", "a.txt", "b.txt", "c.txt"]),
        (
            "correlate",
            ["-m", "CAM@3", "nDCG@3", "--ci", "--rank-by", "query", "a.txt", "b.txt", "c.txt"],
        ),
        ("compare", ["-m", "CAM@3", "a.txt", "b.txt"]),
    ],
    ids=["robustness", "weightings", "correlate", "compare"],
)
def test_clusters_in_the_shell(
    command: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning names the option --cluster, and the option works."""
    arguments = [command, *QRELS_FILES, "--aspects", "scales.json", *options]

    assert main(arguments) == 0
    plain = capsys.readouterr()
    assert plain.err.count(r"--cluster '(\d+)_.*', or --cluster qid if they are") == 1

    assert main([*arguments, "--cluster", "qid"]) == 0
    independent = capsys.readouterr()
    assert independent.out == plain.out
    assert "look like" not in independent.err

    assert main([*arguments, "--cluster", r"(\d+)_.*"]) == 0
    clustered = capsys.readouterr()
    assert clustered.out != plain.out
    assert "look like" not in clustered.err


@pytest.mark.usefixtures("turns_of_dialogues")
def test_clusters_without_tests_are_refused_in_the_shell(
    capsys: pytest.CaptureFixture[str],
) -> None:
    perquery = ["-q", "--cluster", "qid"]
    assert main(["compare", *QRELS_FILES, "-m", "P@3", *perquery, "a.txt", "b.txt"]) == 2
    assert "--cluster: -q has no tests; omit it" in capsys.readouterr().err


def turns_of_values() -> pd.DataFrame:
    """The values of FEW, whose topics are named as turns of dialogues: 100_1 to 100_4, 101_1, …"""
    number = FEW["qid"].str[1:].astype(int)
    dialogue, turn = 100 + number // 4, number % 4 + 1
    return FEW.assign(qid=dialogue.astype(str) + "_" + turn.astype(str))


def turns_of_collection() -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Runs and qrels of `collection`, whose topics are named as turns: 100_1, 100_2, 101_1, …"""
    runs, qrels = collection(0)
    names = {
        qid: f"{100 + row // 2}_{row % 2 + 1}" for row, qid in enumerate(qrels["qid"].unique())
    }
    renamed_runs = {name: run.assign(qid=run["qid"].map(names)) for name, run in runs.items()}
    return renamed_runs, qrels.assign(qid=qrels["qid"].map(names))


def compute_of_turns(function: str) -> None:
    """Call a function that computes tests or intervals, with topics named as turns of dialogues."""
    frame = turns_of_values()
    runs, qrels = turns_of_collection()
    measure = ma.CAM(aspects=SCALES) @ 3
    if function in OF_VALUES:
        OF_VALUES[function](frame)
    elif function == "prediction_powered":
        prediction_powered(frame[frame["qid"] < "108"], frame)
    elif function == "correlation":
        correlation(frame, ci=0.9, n_resamples=5)
    elif function == "missing_labels":
        missing_labels(runs, qrels, measure, n_samples=2)
    elif function == "robustness of runs":
        ma.robustness(runs, qrels, measure)
    else:
        labels = qrels.melt(["qid", "docno"], list(SCALES), "criterion").dropna()
        judged = pd.concat([labels.assign(judge=judge) for judge in "ab"])
        judge_agreement(judged, ci=0.9)


@pytest.mark.parametrize(
    "function",
    [
        *OF_VALUES,
        "prediction_powered",
        "correlation",
        "missing_labels",
        "robustness of runs",
        "judge_agreement",
    ],
)
def test_nested_topics_are_a_warning_where_tests_or_intervals_are_computed(function: str) -> None:
    with pytest.warns(ma.MultiAspectWarning) as caught:
        compute_of_turns(function)
    messages = [str(warning.message) for warning in caught]
    part = "and are treated as independent: pass cluster="
    assert len([message for message in messages if part in message]) == 1, messages


def test_nested_topics_are_no_warning_without_tests_or_intervals() -> None:
    correlation(turns_of_values())
    runs, qrels = turns_of_collection()
    measure = ma.CAM(aspects=SCALES) @ 3
    missing_labels({"a": runs["a"]}, qrels, measure, n_samples=2)  # nothing to compare
