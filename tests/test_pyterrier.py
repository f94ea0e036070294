"""PyTerrier: measures as objects and by name in its functions, and what the installed package does to it."""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from door_world import (
    CAM_10,
    DECLARED,
    FIRST,
    HEALTH,
    IR_QRELS,
    IR_RUN,
    QIDS,
    QRELS,
    SCORES,
    SYSTEM_NAMES,
    SYSTEMS,
    TOMA_10,
    TOPICS,
    Readable,
    experiment,
    per_query,
    run_python,
)
from ir_measures import AP, Measure, P, nDCG
from ir_measures.measures import MeanAgg
from scipy.stats import ttest_rel
from strategies import no_warnings

import pt_multiaspect as ma
import pt_multiaspect_pyterrier
from pt_multiaspect import CAM, NLRE, TOMA, Aspects
from pt_multiaspect.errors import silence_warnings
from pt_multiaspect.integration import parsing, pyterrier
from pt_multiaspect.integration.parsing import MeasureName, parse

pytestmark = pytest.mark.filterwarnings(
    "ignore:There are shared pipeline components",
    "ignore:Experiment Pipeline",
    "ignore:precompute_prefix is deprecated",
)

# --- a measure of each kind -------------------------------------------------------------------


@dataclass(frozen=True)
class Halving:
    half: float

    def __call__(self, rank: Any) -> Any:
        return 0.5 ** ((rank - 1) / self.half)


class _PtHalfLife(ma.LinearMeasure):
    """A user's measure: half-life utility."""

    SUPPORTED_PARAMS = {
        "half": ma.Param(ma.params.real("half", low=0, open_low=True), 5, "ranks"),
        "cutoff": ma.params.CUTOFF,
    }

    def linear(self, target: Any) -> Any:
        discount = Halving(self["half"])
        norm = target.best_sum(target.gain, discount, self.cutoff)
        return ma.forms.Linear(target, target.gain, discount, norm=norm, depth=self.cutoff)


PtHalfLife = ma.register(_PtHalfLife)
NAMED = Aspects(dict(HEALTH), name="test-pyterrier")
ESL, FRUSTRATION = ma.ESL(rel=1), ma.Frustration(rel=1)
SUITE = list(ma.suite("multi-aspect", aspects=NAMED).values())
KINDS: dict[str, Measure] = {
    "mean": TOMA(aspects=NAMED) @ 10,
    "lower is better": ESL,
    "lower is better, too": FRUSTRATION,
    "own": PtHalfLife(half=2) @ 10,
    "suite": SUITE[-1],
    "sum of ir-measures": ir_measures.NumRet(rel=1),
}
MEASURES = list(dict.fromkeys([*KINDS.values(), *SUITE, nDCG @ 10, AP]))
AS_GIVEN = pytest.mark.parametrize(
    "as_given",
    [lambda measure: measure, pytest.param(str, marks=pytest.mark.slow)],
    ids=["objects", "names"],
)


def ours(caught: Any) -> list[str]:
    messages = [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, ma.MultiAspectWarning)
    ]
    return [message for message in messages if not message.startswith("TOMA has no gate")]


def aggregate_of(
    system: pt.Transformer | pd.DataFrame, topics: pd.DataFrame = TOPICS
) -> dict[str, float]:
    """Return the values of ir-measures for a system, by the names of the measures."""
    run = system if isinstance(system, pd.DataFrame) else system.transform(topics)
    qrels = IR_QRELS[IR_QRELS["query_id"].isin(topics["qid"])]
    result = ir_measures.calc_aggregate(
        MEASURES, qrels, run.rename(columns={"qid": "query_id", "docno": "doc_id"})
    )
    return {str(measure): value for measure, value in result.items()}


def averages_of(
    system: pt.Transformer | pd.DataFrame, topics: pd.DataFrame = TOPICS
) -> dict[str, float]:
    """Return the averages of `pt.Experiment`: as PyTerrier alone, it shows the mean of a sum of ir-measures."""
    aggregates = aggregate_of(system, topics)
    n_topics = IR_QRELS[IR_QRELS["query_id"].isin(topics["qid"])]["query_id"].nunique()
    return {**aggregates, "NumRet(rel=1)": aggregates["NumRet(rel=1)"] / n_topics}


AGGREGATES = {name: averages_of(system) for name, system in zip(SYSTEM_NAMES, SYSTEMS, strict=True)}


def assert_aggregates(
    table: pd.DataFrame, expected: dict[str, dict[str, float]] = AGGREGATES
) -> None:
    assert table["name"].tolist() == list(expected)
    for name, row in table.set_index("name").iterrows():
        assert row[list(expected[name])].to_dict() == pytest.approx(
            expected[name], abs=1e-9, rel=1e-9
        ), name


# --- pt.Experiment ----------------------------------------------------------------------------


@pytest.mark.every(6)
@AS_GIVEN
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch_size": 2},
        {"plan": "tree"},
        {"plan": "tree", "batch_size": 2},
        {"precompute_prefix": True},
        {"filter_by_qrels": True},
        {"filter_by_topics": False},
        {"validate": "error"},
        {"validate": "ignore"},
        {"verbose": True},
        {"highlight": None},
        {"perquery": "both"},
    ],
    ids=str,
)
def test_averages_are_the_aggregates(options: dict[str, Any], as_given: Any) -> None:
    result = pt.Experiment(
        SYSTEMS, TOPICS, QRELS, list(map(as_given, MEASURES)), names=SYSTEM_NAMES, **options
    )
    assert_aggregates(result[0] if options.get("perquery") else result)


def test_objects_beside_names_and_the_time() -> None:
    table = pt.Experiment(
        [SCORES], TOPICS, QRELS, [ESL, "mrt", "P", "Frustration(rel=1)"], names=["run"]
    )
    expected = aggregate_of(SCORES)
    assert table.loc[0, [str(ESL), "Frustration(rel=1)"]].tolist() == pytest.approx(
        [expected[str(ESL)], expected[str(FRUSTRATION)]], abs=1e-12
    )
    assert {"mrt", "P@5", "P@10"} < set(table.columns)


@pytest.mark.slow
def test_systems_by_name_and_runs_as_frames() -> None:
    runs = {
        name: system.transform(TOPICS) for name, system in zip(SYSTEM_NAMES, SYSTEMS, strict=True)
    }
    assert_aggregates(pt.Experiment(runs, TOPICS, QRELS, MEASURES))


@AS_GIVEN
def test_values_of_topics(as_given: Any) -> None:
    metrics = list(map(as_given, MEASURES))
    table = pt.Experiment([SCORES], TOPICS, QRELS, metrics, names=["run"], perquery=True)
    expected = per_query(MEASURES)
    assert {(row.qid, row.measure): row.value for row in table.itertuples()} == pytest.approx(
        expected, abs=1e-9
    )
    both = pt.Experiment([SCORES], TOPICS, QRELS, metrics, names=["run"], perquery="both")
    pd.testing.assert_frame_equal(both.perquery, table)
    assert_aggregates(both.averages, {"run": averages_of(SCORES)})
    plain = pt.Experiment(
        [SCORES], TOPICS, QRELS, metrics, names=["run"], perquery=True, dataframe=False
    )
    assert plain[0]["q1"][str(ESL)] == pytest.approx(expected["q1", str(ESL)], abs=1e-9)


def test_topics_without_judgments() -> None:
    qrels = QRELS[QRELS["qid"] != "q3"]
    kept = TOPICS[TOPICS["qid"] != "q3"]
    expected = {"run": averages_of(SCORES[SCORES["qid"] != "q3"], kept)}
    assert_aggregates(pt.Experiment([SCORES], TOPICS, qrels, MEASURES, names=["run"]), expected)
    filtered = pt.Experiment([FIRST], TOPICS, qrels, MEASURES, names=["run"], filter_by_qrels=True)
    assert_aggregates(filtered, expected)
    assert_aggregates(pt.Experiment([SCORES], kept, QRELS, MEASURES, names=["run"]), expected)
    unfiltered = pt.Experiment(
        [SCORES], kept, QRELS, MEASURES, names=["run"], filter_by_topics=False
    )
    assert_aggregates(unfiltered, {"run": averages_of(SCORES)})


@AS_GIVEN
def test_rounding(as_given: Any) -> None:
    metrics = list(map(as_given, [TOMA_10, PtHalfLife @ 10]))
    exact, table = experiment(metrics), experiment(metrics, round=2)
    assert table[str(TOMA_10)].tolist() == [round(value, 2) for value in exact[str(TOMA_10)]]
    assert exact[str(TOMA_10)].tolist() != table[str(TOMA_10)].tolist()
    some = experiment(metrics, round={str(TOMA_10): 1})
    assert some[str(TOMA_10)].tolist() == [round(value, 1) for value in exact[str(TOMA_10)]]
    assert some[str(PtHalfLife @ 10)].tolist() == exact[str(PtHalfLife @ 10)].tolist()


@AS_GIVEN
def test_a_dict_of_results(as_given: Any) -> None:
    result = pt.Experiment(
        SYSTEMS,
        TOPICS,
        QRELS,
        list(map(as_given, MEASURES)),
        names=SYSTEM_NAMES,
        dataframe=False,
        highlight="bold",
    )
    for name, expected in AGGREGATES.items():
        assert result[name] == pytest.approx(expected, abs=1e-9, rel=1e-9)


def tables_of(result: Any) -> list[pd.DataFrame]:
    """The tables that an experiment returns: two for perquery='both', otherwise one."""
    if isinstance(result, pd.DataFrame):
        return [result]
    return list(result)


def readable_systems() -> dict[str, pt.Transformer]:
    """The systems of `SYSTEM_NAMES`, each followed by a transformer that leaves the scores as they are.

    Only pipelines are saved and used again, not the frames that the systems are.
    """
    return {
        name: system >> Readable(0.0) for name, system in zip(SYSTEM_NAMES, SYSTEMS, strict=True)
    }


@pytest.mark.slow
@AS_GIVEN
@pytest.mark.parametrize("perquery", [False, True, "both"])
def test_saved_tables_and_runs(tmp_path: Path, perquery: Any, as_given: Any) -> None:
    """An experiment that uses saved runs again has the same tables, and the saved averages are right."""
    metrics = list(map(as_given, MEASURES))
    options = {"save_dir": str(tmp_path), "perquery": perquery}

    first = pt.Experiment(readable_systems(), TOPICS, QRELS, metrics, **options)
    assert_aggregates(pd.read_csv(tmp_path / "aggregated.csv"))

    again = pt.Experiment(readable_systems(), TOPICS, QRELS, metrics, save_mode="reuse", **options)
    for table, expected in zip(tables_of(again), tables_of(first), strict=True):
        pd.testing.assert_frame_equal(table, expected)
    assert_aggregates(pd.read_csv(tmp_path / "aggregated.csv"))


def test_saved_runs_and_values_come_back(tmp_path: Path) -> None:
    """What `pt.Experiment(save_dir=...)` writes is read by `read_values`, and by `evaluate` as runs."""
    values = pt.Experiment(
        readable_systems(), TOPICS, QRELS, ["map", *MEASURES], perquery=True, save_dir=str(tmp_path)
    )

    read = ma.read_values(tmp_path / "perquery.csv")
    expected = values[read.columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(read, expected, check_dtype=False)

    evaluated = ma.evaluate(tmp_path, QRELS, ["map"], progress=False)
    assert sorted(evaluated["name"].unique()) == sorted(SYSTEM_NAMES)
    evaluated_map = evaluated.set_index(["name", "qid"])["value"].to_dict()
    expected_map = values[values["measure"] == "map"].set_index(["name", "qid"])["value"].to_dict()
    assert evaluated_map == pytest.approx(expected_map)


HIGHER = [measure for measure in MEASURES if measure not in (ESL, FRUSTRATION)]


@AS_GIVEN
@pytest.mark.parametrize("correction", [None, pytest.param("holm", marks=pytest.mark.slow)])
def test_baselines(correction: str | None, as_given: Any) -> None:
    names = list(map(as_given, HIGHER))
    table = experiment(names, baseline=0, correction=correction).set_index("name")
    values = experiment(names, perquery=True).pivot(
        index=["measure", "qid"], columns="name", values="value"
    )
    for measure in map(str, HIGHER):
        assert table[measure].to_dict() == pytest.approx(
            {name: AGGREGATES[name][measure] for name in SYSTEM_NAMES}, abs=1e-9
        )
        base = values.loc[measure, "first"]
        for name in SYSTEM_NAMES[1:]:
            scores = values.loc[measure, name]
            assert table.loc[name, f"{measure} +"] == (scores > base).sum()
            assert table.loc[name, f"{measure} -"] == (scores < base).sum()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of equal values
                expected = ttest_rel(scores, base)[1]
            assert table.loc[name, f"{measure} p-value"] == pytest.approx(expected, nan_ok=True)
        assert (f"{measure} p-value corrected" in table.columns) is (correction is not None)


@pytest.mark.every(3)
@AS_GIVEN
@pytest.mark.parametrize("highlight", ["bold", "color", "colour"])
def test_highlights(highlight: str, as_given: Any) -> None:
    """`pt.Experiment(highlight=...)` marks the system with the highest average of each measure."""
    measures = [KINDS["mean"], PtHalfLife(half=2) @ 10]
    styled = experiment_of_style(list(map(as_given, measures)), highlight=highlight)
    styles = styled._compute().ctx  # by row and column
    for measure in map(str, measures):
        averages = [AGGREGATES[name][measure] for name in SYSTEM_NAMES]
        best_row = averages.index(max(averages))
        measure_column = styled.data.columns.get_loc(measure)
        marked_rows = [
            row for (row, column), style in styles.items() if column == measure_column and style
        ]
        assert marked_rows == [best_row]


def experiment_of_style(metrics: list[Any], **options: Any) -> Any:
    return pt.Experiment(SYSTEMS, TOPICS, QRELS, metrics, names=SYSTEM_NAMES, **options)


MIXED: list[Any] = [
    "map",
    nDCG @ 10,
    TOMA_10,
    "TOMA(distance='manhattan',aspects={'relevance': 2, 'readability': 3})@10",
    CAM_10,
    f"MM(base='nDCG@10',aspects={HEALTH.to_json()!r})",
    "P@5",
    "recip_rank",
    NLRE(aspects="relevance,readability") @ 10,
]


def test_experiment_reports_our_measures_beside_the_standard_ones() -> None:
    table = experiment(MIXED)
    columns = {metric if isinstance(metric, str) else str(metric) for metric in MIXED}
    assert set(table.columns) == {"name"} | columns
    assert table["name"].tolist() == SYSTEM_NAMES
    for index, system in enumerate(SYSTEMS):
        run = system.transform(TOPICS).rename(columns={"qid": "query_id", "docno": "doc_id"})
        for metric in MIXED:
            measure = parsing.parse(metric)[0]
            expected = measure.calc_aggregate(IR_QRELS, run)
            assert table.loc[index, str(metric)] == pytest.approx(expected, abs=1e-12), (
                index,
                metric,
            )


@pytest.mark.slow
def test_experiment_leaves_the_standard_columns_as_they_are() -> None:
    standard = ["map", nDCG @ 10, "P_5", "recip_rank"]
    alone, beside = experiment(standard), experiment([*standard, TOMA_10, CAM_10])
    for metric in standard:
        assert alone[str(metric)].tolist() == beside[str(metric)].tolist()


def values_of(table: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    return {
        (row.name_, row.qid, row.measure): row.value
        for row in table.rename(columns={"name": "name_"}).itertuples()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"plan": "tree"},
        {"batch_size": 1},
        {"batch_size": 4},
        {"batch_size": 4, "plan": "tree"},
        {"batch_size": 100},
    ],
    ids=str,
)
def test_experiment_plans_and_batches_give_the_same_values(options: dict[str, Any]) -> None:
    metrics = [*DECLARED, "map", "nDCG@10"]
    linear = values_of(experiment(metrics, perquery=True))
    other = values_of(experiment(metrics, perquery=True, **options))
    assert len(linear) == len(SYSTEMS) * len(QIDS) * len(metrics)
    assert other == pytest.approx(linear, abs=1e-12)
    means, other_means = experiment(metrics), experiment(metrics, **options)
    for metric in metrics:
        assert other_means[str(metric)].tolist() == pytest.approx(
            means[str(metric)].tolist(), abs=1e-12
        )


def test_batches_with_judged_queries_that_are_no_topics() -> None:
    """PyTerrier evaluates those against an empty run; that is not a reason to warn."""
    topics = TOPICS[:4]
    options = {"perquery": True, "names": ["first"], "filter_by_topics": False}
    whole = pt.Experiment([FIRST], topics, QRELS, DECLARED, **options)
    batched = pt.Experiment([FIRST], topics, QRELS, DECLARED, batch_size=3, **options)
    assert values_of(batched) == pytest.approx(values_of(whole), abs=1e-12)
    left_over = whole[whole["qid"].isin(QIDS[4:])]
    assert len(left_over) == 2 * len(DECLARED)
    assert (left_over["value"] == 0).all()


def test_a_query_that_the_run_misses_counts_as_an_empty_ranking() -> None:
    run = SCORES[SCORES["qid"] != "q3"]
    for measure in DECLARED:
        values = pt.Evaluate(run, QRELS, [measure], perquery=True)
        assert set(values) == set(QIDS)
        assert values["q3"][str(measure)] == 0
        mean = pt.Evaluate(run, QRELS, [measure])[str(measure)]
        assert mean == pytest.approx(np.mean([row[str(measure)] for row in values.values()]))


def test_queries_without_judgments_are_left_out() -> None:
    qrels = QRELS[QRELS["qid"] != "q3"]
    values = pt.Evaluate(SCORES, qrels, [TOMA_10], perquery=True)
    assert set(values) == set(QIDS) - {"q3"}


HASH_SEEDS = """
    import sys, json
    import pandas as pd
    import pyterrier as pt
    from ir_measures import nDCG
    from pt_multiaspect import CAM, TOMA, uRBP, NLRE, NWCS, On
    qrels = pd.DataFrame([(f"q{i}", f"d{j}", (i * j + j) % 3, (i + 2 * j) % 3) for i in range(3) for j in range(6)],
                         columns=["qid", "docno", "label", "credibility"])
    run = pd.DataFrame([(f"q{i}", f"d{j}", float(7 * j % 5)) for i in range(3) for j in range(8)],
                       columns=["qid", "docno", "score"])
    topics = pd.DataFrame({"qid": ["q0", "q1", "q2"], "query": "x"})
    aspects = {"relevance": 2, "credibility": 2}
    table = pt.Experiment(
        [run], topics, qrels,
        ["map", TOMA(aspects=aspects) @ 5, CAM(aspects=aspects) @ 5, "uRBP", NLRE @ 5, "MM(base='nDCG@5')",
         NWCS(aspects=aspects), "TOMA(distance=3,aspects={'relevance': 2, 'credibility': 2})",
         On(aspect="credibility"), "WHAM@3", "GAM@3"],
        names=["run"])
    print(json.dumps([list(table.columns), table.iloc[0].tolist()]))
"""


@pytest.mark.slow
def test_columns_and_values_do_not_depend_on_the_hash_seed() -> None:
    result = [run_python(HASH_SEEDS, env={"PYTHONHASHSEED": seed}) for seed in ("0", "1", "42")]
    assert len(result[0][0]) == 12
    assert result[0] == result[1] == result[2]


# --- pt.Evaluate, GridScan, GridSearch, KFoldGridSearch ---------------------------------------


def test_evaluate() -> None:
    metrics = ["map", TOMA_10, "TOMA@10", "nDCG@10"]
    with pytest.warns(ma.MultiAspectWarning, match="inferred"):
        values = pt.Evaluate(SCORES, QRELS, metrics)
    assert list(values) == [str(metric) for metric in metrics]
    assert values[str(TOMA_10)] == pytest.approx(
        values["TOMA@10"], abs=1e-12
    )  # the inferred scales are the same
    by_topic = pt.Evaluate(SCORES, QRELS, [TOMA_10], perquery=True)
    assert {
        (qid, name): v for qid, row in by_topic.items() for name, v in row.items()
    } == per_query([TOMA_10])


WEIGHTS = [0.0, 5.0, 20.0, 80.0]
OURS = "TOMA(base='nDCG@10',aspects={'relevance': 2, 'readability': 3})"


def grid() -> tuple[pt.Transformer, Readable, dict[Any, Any]]:
    """A pipeline, its transformer whose weight is varied, and the grid of weights."""
    readable = Readable()
    return FIRST >> readable, readable, {readable: {"weight": WEIGHTS}}


def weight_of(setting: Any) -> float:
    """The weight in a setting of `grid`: a list of one (transformer, parameter, value)."""
    ((_transformer, parameter, value),) = setting
    assert parameter == "weight"
    return value


def expected_scan(metrics: list[Any], topics: pd.DataFrame = TOPICS) -> pd.DataFrame:
    qrels = IR_QRELS[IR_QRELS["query_id"].isin(topics["qid"])]
    rows = []
    for weight in WEIGHTS:
        run = (
            (FIRST >> Readable(weight))
            .transform(topics)
            .rename(columns={"qid": "query_id", "docno": "doc_id"})
        )
        rows.append([parsing.parse(metric)[0].calc_aggregate(qrels, run) for metric in metrics])
    return pd.DataFrame(rows, columns=[str(metric) for metric in metrics], index=WEIGHTS)


def assert_scan(table: pd.DataFrame, metrics: list[Any]) -> None:
    assert table["tran_0_weight"].tolist() == WEIGHTS
    expected = expected_scan(metrics)
    for metric in map(str, metrics):
        assert table[metric].tolist() == pytest.approx(expected[metric].tolist(), abs=1e-12), metric


@pytest.mark.every(2)
@pytest.mark.parametrize("batch_size", [None, 2])
def test_grid_scan(batch_size: int | None) -> None:
    pipeline, _, params = grid()
    metrics = ["map", "nDCG@10", OURS, TOMA_10, CAM_10]
    table = pt.GridScan(pipeline, params, TOPICS, QRELS, metrics, batch_size=batch_size)
    assert table["tran_0_weight"].tolist() == WEIGHTS
    expected = expected_scan(metrics)
    for metric in map(str, metrics):
        assert table[metric].tolist() == pytest.approx(expected[metric].tolist(), abs=1e-12), metric


def test_grid_scan_without_a_frame() -> None:
    """With dataframe=False it returns a pair of the setting and the values for each weight."""
    pipeline, _, params = grid()
    pairs = pt.GridScan(pipeline, params, TOPICS, QRELS, OURS, dataframe=False)
    setting, values = pairs[0]
    assert weight_of(setting) == WEIGHTS[0]
    assert values[OURS] == pytest.approx(expected_scan([OURS]).loc[WEIGHTS[0], OURS], abs=1e-12)


@pytest.mark.every(10)
@pytest.mark.parametrize("batch_size", [None, 2])
@pytest.mark.parametrize(
    "metric",
    [
        "nDCG@10",
        OURS,
        str(CAM_10),
        "uRBP(aspects={'relevance': 2, 'readability': 3})",
        "nlre",
        "nwcs",
    ],
)
def test_grid_search(metric: str, batch_size: int | None) -> None:
    expected = expected_scan([metric])[metric]
    pipeline, readable, params = grid()
    best, setting = pt.GridSearch(
        pipeline,
        params,
        TOPICS,
        QRELS,
        metric=metric,
        batch_size=batch_size,
        return_type="best_setting",
    )
    assert best == pytest.approx(expected.max(), abs=1e-12)
    assert setting == [(readable, "weight", expected.idxmax())]
    assert readable.weight == 0.0  # put back
    tuned = pt.GridSearch(pipeline, params, TOPICS, QRELS, metric=metric, batch_size=batch_size)
    assert tuned is pipeline
    assert readable.weight == expected.idxmax()


def test_grid_search_settles_elsewhere_when_readability_counts() -> None:
    chosen = {}
    for metric in ("nDCG@10", OURS):
        pipeline, readable, params = grid()
        pt.GridSearch(pipeline, params, TOPICS, QRELS, metric=metric)
        chosen[metric] = readable.weight
    assert chosen["nDCG@10"] < chosen[OURS]


@pytest.mark.every(6)
@pytest.mark.parametrize("n_folds", [2, 3])
@pytest.mark.parametrize("metric", ["nDCG@10", OURS])
def test_k_fold_grid_search(metric: str, n_folds: int) -> None:
    """Each fold has the weight that is best on the other folds.

    With three folds PyTerrier hands over every judgment twice: equal ones are merged.
    """
    pipeline, readable, params = grid()
    folds = [TOPICS[first::n_folds] for first in range(n_folds)]
    results, settings = pt.KFoldGridSearch(pipeline, params, folds, QRELS, metric=metric)
    assert set(results["qid"]) == set(QIDS)
    assert readable.weight == 0.0  # as before the search
    assert len(settings) == n_folds
    for fold, setting in enumerate(settings):
        training_topics = pd.concat(folds[:fold] + folds[fold + 1 :])
        values = expected_scan([metric], training_topics)[metric]
        best_weight = values.idxmax()
        assert weight_of(setting) == best_weight
    assert 0 < pt.Evaluate(results, QRELS, [TOMA_10])[str(TOMA_10)] <= 1


@pytest.mark.slow
def test_k_fold_grid_search_with_the_judgments_of_each_fold() -> None:
    """Qrels may be one frame, or a frame for each fold."""
    pipeline, _, params = grid()
    folds = [TOPICS[:3], TOPICS[3:]]
    qrels_of_folds = [QRELS[QRELS["qid"].isin(topics["qid"])] for topics in folds]
    _, expected_settings = pt.KFoldGridSearch(pipeline, params, folds, QRELS, metric=OURS)
    _, settings = pt.KFoldGridSearch(pipeline, params, folds, qrels_of_folds, metric=OURS)
    expected_weights = [weight_of(setting) for setting in expected_settings]
    assert [weight_of(setting) for setting in settings] == expected_weights


# --- directions -------------------------------------------------------------------------------

#: The beginnings of the warnings of baseline= and of highlight=.
PER_QUERY = (
    "ESL(rel=1), Frustration(rel=1): lower is better, but baseline= counts a higher value as an "
    "improvement: read the column '+' as queries that got worse, and '-' as queries that improved"
)
HIGHEST = (
    "ESL(rel=1), Frustration(rel=1): lower is better, but highlight= marks the highest value, "
    "which is the worst"
)


@pytest.mark.every(8)
@AS_GIVEN
@pytest.mark.parametrize(
    ("options", "expected_messages"),
    [
        ({"baseline": 0}, [PER_QUERY]),
        ({"highlight": "bold"}, [HIGHEST]),
        ({"highlight": "color", "round": 2}, [HIGHEST]),
        ({"baseline": 0, "highlight": "bold"}, [PER_QUERY, HIGHEST]),
        # No direction is used.
        ({}, []),
        ({"perquery": True, "highlight": "bold"}, []),
        ({"dataframe": False, "highlight": "bold"}, []),
        ({"perquery": "both"}, []),
        ({"round": 2}, []),
    ],
    ids=str,
)
def test_experiments_warn_where_they_use_a_direction(
    options: Any, expected_messages: list[str], as_given: Any
) -> None:
    """The warnings on lower-is-better measures are given in every call, at the user's line."""
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            experiment_of_style(list(map(as_given, [ESL, AP, FRUSTRATION, TOMA_10])), **options)
        beginnings = [message.partition(";")[0] for message in ours(caught)]
        assert beginnings == expected_messages
        for warning in caught:
            if issubclass(warning.category, ma.MultiAspectWarning):
                assert warning.filename == __file__


@pytest.mark.slow
@no_warnings()
def test_names_of_trec_eval_have_a_direction_too() -> None:
    experiment(["map", "P_5", "num_rel_ret"], baseline=0)
    experiment([nDCG, "TOMA(aspects='test-pyterrier')@10"], baseline=0)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "metric", [ESL, str(ESL), CAM(base="ESL(rel=1)", aspects="relevance")], ids=str
)
def test_grid_searches_warn_of_lower_is_better(metric: Any) -> None:
    pipeline, _, params = grid()
    for _ in range(2):
        with pytest.warns(
            ma.MultiAspectWarning, match=r"lower is better, but pt.GridSearch .*GridScan"
        ) as caught:
            pt.GridSearch(pipeline, params, TOPICS, QRELS, metric=metric)
        assert len(ours(caught)) == 1
    with pytest.warns(
        ma.MultiAspectWarning, match="lower is better, but pt.KFoldGridSearch"
    ) as caught:
        pt.KFoldGridSearch(pipeline, params, [TOPICS[:3], TOPICS[3:]], QRELS, metric=metric)
    assert len(ours(caught)) == 1
    pt.GridScan(pipeline, params, TOPICS, QRELS, [metric])  # silent, as it compares nothing
    pt.Evaluate(SCORES, QRELS, [metric])
    list(ir_measures.iter_calc(parse(metric), IR_QRELS, IR_RUN))


# --- measures that are not of this package -----------------------------------------------------


def plain_averages(metrics: list[Any], **options: Any) -> pd.DataFrame:
    """Return the table of PyTerrier alone."""
    pyterrier.uninstall()
    try:
        return pt.Experiment({"run": SCORES}, TOPICS, QRELS, metrics, **options)
    finally:
        pyterrier.install()


def longest_run() -> Measure:
    """A user's measure: the number of documents of a query, and the highest of these numbers as aggregate."""
    measure = ir_measures.define_byquery(
        lambda qrels, run: float(len(run)), name="Longest", support_cutoff=False
    )
    measure.aggregator = _Highest
    return measure


#: Measures of others, of which PyTerrier alone shows the average.
OTHER_MEASURES = [
    ir_measures.NumRet(rel=1),
    ir_measures.NumRet,
    ir_measures.NumRel,
    ir_measures.NumQ,
    "num_ret",
]


@pytest.mark.parametrize("options", [{}, {"batch_size": 2}], ids=["all at once", "batches"])
def test_averages_of_other_measures_stay(options: dict[str, Any]) -> None:
    """An installed plugin changes nobody's numbers: PyTerrier averages what ir-measures adds up."""
    metrics = [*OTHER_MEASURES, longest_run()]
    expected = plain_averages(metrics, **options)
    table = pt.Experiment({"run": SCORES}, TOPICS, QRELS, [*metrics, TOMA_10], **options)
    pd.testing.assert_frame_equal(table[expected.columns], expected, check_exact=True)


def test_averages_of_other_measures_stay_in_dicts() -> None:
    metrics = [*OTHER_MEASURES, longest_run()]
    expected = plain_averages(metrics, dataframe=False)["run"]
    averages = pt.Experiment({"run": SCORES}, TOPICS, QRELS, [*metrics, TOMA_10], dataframe=False)[
        "run"
    ]
    assert {name: averages[name] for name in expected} == expected


def test_averages_of_other_measures_stay_beside_values_per_query() -> None:
    metrics = [*OTHER_MEASURES, longest_run()]
    expected = plain_averages(metrics, perquery="both")
    tables = pt.Experiment({"run": SCORES}, TOPICS, QRELS, [*metrics, TOMA_10], perquery="both")

    averages = tables.averages[expected.averages.columns]
    pd.testing.assert_frame_equal(averages, expected.averages, check_exact=True)
    perquery = tables.perquery
    of_others = perquery[perquery["measure"] != str(TOMA_10)].reset_index(drop=True)
    assert values_of(of_others) == values_of(expected.perquery)


@AS_GIVEN
def test_tables_per_query_record_their_measures(as_given: Any) -> None:
    """`aggregate` averaged the values of a measure that it did not know by name."""
    for perquery in (True, "both"):
        table = pt.Experiment(
            {"run": SCORES}, TOPICS, QRELS, list(map(as_given, MEASURES)), perquery=perquery
        )
        table = table if perquery is True else table.perquery
        assert ma.aggregate(table).drop(columns="name").to_dict("records")[0] == pytest.approx(
            aggregate_of(SCORES)
        )
    longest = ir_measures.define_byquery(
        lambda qrels, run: float(len(run)), name="Longest", support_cutoff=False
    )
    longest.aggregator = _Highest
    table = pt.Experiment({"run": SCORES}, TOPICS, QRELS, [longest], perquery=True)
    assert ma.aggregate(table)["Longest"].item() == table["value"].max()


class _Highest(MeanAgg):
    def __init__(self) -> None:
        super().__init__()
        self.highest = -np.inf

    def add(self, value: float) -> None:
        self.highest = max(self.highest, value)

    def result(self) -> float:
        return self.highest


@pytest.mark.parametrize(
    "names", [["num_ret", "NumRet"], [ma.ESL, "ESL()"], ["ESL()", ma.ESL], ["ESL()", "ESL"]]
)
def test_a_measure_of_two_names_has_one_column(names: list[Any]) -> None:
    table = pt.Experiment({"run": SCORES}, TOPICS, QRELS, names)
    (column,) = table.columns.drop("name")
    (measure,) = parse(names[0])
    expected = ir_measures.calc_aggregate([measure], IR_QRELS, IR_RUN)[measure]
    assert table[column].item() == pytest.approx(expected)


# --- other processes --------------------------------------------------------------------------

windows = pytest.mark.skipif(
    sys.platform == "win32", reason="PyTerrier runs no jobs in parallel on Windows"
)


@pytest.mark.slow
@windows
@AS_GIVEN
def test_grid_scans_in_other_processes(as_given: Any) -> None:
    pipeline, _, params = grid()
    metrics = list(map(as_given, MEASURES))
    names = [str(metric) for metric in metrics]
    expected = pt.GridScan(pipeline, params, TOPICS, QRELS, metrics)
    table = pt.GridScan(pipeline, params, TOPICS, QRELS, metrics, jobs=2)
    pd.testing.assert_frame_equal(table[names], expected[names])
    assert_scan(table, MEASURES)


def declare_late_aspects() -> Aspects:
    """A set of aspects whose name the processes that run already cannot know, unless they are told."""
    return Aspects(
        {"relevance": 2, "readability": ma.Aspect(3, threshold=1)}, name="test-pyterrier-late"
    )


@pytest.mark.slow
@windows
@AS_GIVEN
def test_grid_searches_in_other_processes(as_given: Any) -> None:
    """The best weight and its value are those of this process."""
    pipeline, _, params = grid()
    pt.GridScan(pipeline, params, TOPICS, QRELS, ["map"], jobs=2)  # starts the processes
    for measure in (CAM(aspects=declare_late_aspects()) @ 5, PtHalfLife @ 10):
        best_value, setting = pt.GridSearch(
            pipeline,
            params,
            TOPICS,
            QRELS,
            metric=as_given(measure),
            jobs=2,
            return_type="best_setting",
        )
        expected = expected_scan([measure])[str(measure)]
        assert best_value == pytest.approx(expected.max(), abs=1e-12)
        assert weight_of(setting) == expected.idxmax()


@pytest.mark.slow
@windows
@AS_GIVEN
def test_k_fold_grid_searches_in_other_processes(as_given: Any) -> None:
    """Of two folds, the weight of each is the best on the topics of the other."""
    pipeline, _, params = grid()
    pt.GridScan(pipeline, params, TOPICS, QRELS, ["map"], jobs=2)  # starts the processes
    measure = CAM(aspects=declare_late_aspects()) @ 5
    first, second = TOPICS[:3], TOPICS[3:]
    _, (setting_of_first, setting_of_second) = pt.KFoldGridSearch(
        pipeline, params, [first, second], QRELS, metric=as_given(measure), jobs=2
    )
    assert weight_of(setting_of_first) == expected_scan([measure], second)[str(measure)].idxmax()
    assert weight_of(setting_of_second) == expected_scan([measure], first)[str(measure)].idxmax()


@pytest.mark.slow
@windows
def test_another_process_says_what_to_pass() -> None:
    from joblib import Parallel, delayed

    named = Aspects({"relevance": 2, "readability": 3}, name="test-pyterrier-unknown")
    measure = TOMA(aspects=named) @ 10

    def evaluate(metric: Any) -> float:
        return pt.Evaluate(SCORES, QRELS, [metric])[str(metric)]

    with pytest.raises(ma.MultiAspectError, match="pass the measure itself"):
        Parallel(2)(delayed(evaluate)(str(measure)) for _ in range(2))
    assert Parallel(2)(delayed(evaluate)(measure) for _ in range(2)) == [evaluate(measure)] * 2


def test_a_name_with_its_measure() -> None:
    name = MeasureName(TOMA_10, "ours")
    read = pickle.loads(pickle.dumps(name))
    assert read == "ours"
    assert type(read) is MeasureName
    assert parse(read) == parse(name) == ir_measures.parse_trec_measure(name) == [TOMA_10]


def test_functions_of_pyterrier_are_pickled_by_reference() -> None:
    for function in (
        pt.Experiment,
        pt.GridScan,
        pt.GridSearch,
        pt.KFoldGridSearch,
        ir_measures.parse_trec_measure,
    ):
        assert pickle.loads(pickle.dumps(function)) is function


# --- importing PyTerrier ----------------------------------------------------------------------

#: Of two topics and one run, for the code of another process.
SMALL_EXPERIMENT = """
        import pandas as pd
        import pyterrier as pt
        qrels = pd.DataFrame([("q1", "d1", 1), ("q2", "d2", 1)], columns=["qid", "docno", "label"])
        run = pd.DataFrame(
            [("q1", "d1", 1.0), ("q2", "d1", 2.0), ("q2", "d2", 1.0)], columns=["qid", "docno", "score"]
        )
        topics = pd.DataFrame({"qid": ["q1", "q2"], "query": "x"})
"""


@pytest.mark.slow
def test_names_of_ir_measures_do_not_import_the_package() -> None:
    """An experiment with names of trec_eval only does not pay for the import of the package."""
    is_imported = run_python(
        f"""
        import json, sys
        {SMALL_EXPERIMENT}
        pt.Experiment([run, run], topics, qrels, ["map", "P_1,2", "ndcg_cut.10", "mrt"], baseline=0)
        print(json.dumps("pt_multiaspect" in sys.modules))
        """
    )
    assert not is_imported


@pytest.mark.slow
def test_strings_alone_bring_the_package() -> None:
    """Names of its measures, which are lower-is-better here, work without an import of the package, and warn."""
    is_imported, mean_ap, mean_esl, messages = run_python(
        f"""
        import json, sys, warnings
        {SMALL_EXPERIMENT}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = pt.Experiment([run, run], topics, qrels, ["map", "ESL", "Frustration"], baseline=0)
        messages = [str(w.message) for w in caught if w.category.__name__ == "MultiAspectWarning"]
        first = table.loc[0]
        print(json.dumps(["pt_multiaspect" in sys.modules, first["map"], first["ESL"], messages]))
        """
    )
    assert is_imported
    # The relevant document is at rank 1 for q1 and at rank 2 for q2.
    assert mean_ap == pytest.approx((1 + 1 / 2) / 2, abs=1e-9)
    assert mean_esl == pytest.approx((0 + 1) / 2, abs=1e-9)  # documents before it
    (message,) = messages
    assert message.startswith("ESL, Frustration: lower is better")


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "values = [pt.measures.CAM.NAME, pt.multiaspect.CAM is pt.measures.CAM]",
        "from pyterrier.measures import *; values = [CAM.NAME, CAM is pt.multiaspect.CAM]",
        "from pyterrier.measures import CAM; values = [CAM.NAME, CAM is pt.multiaspect.CAM]",
        "values = ['CAM', 'CAM' in dir(pt.multiaspect)]",
    ],
)
def test_the_package_is_imported_on_first_use(code: str) -> None:
    values, before, name, same, unknown = run_python(
        f"""
        import json, sys
        import pyterrier as pt
        before, name = "pt_multiaspect" in sys.modules, pt.multiaspect.__name__
        {code}
        import pt_multiaspect
        print(json.dumps([values, before, name, pt.multiaspect is pt_multiaspect, hasattr(pt.measures, "Unknown")]))
        """
    )
    assert values == ["CAM", True]
    assert (before, name, same, unknown) == (False, "pt_multiaspect", True, False)


BROKEN = """
    import json, sys, warnings
    class Broken:
        def find_spec(self, name, path=None, target=None):
            if name == "pt_multiaspect":
                raise RuntimeError("half installed")
    sys.meta_path.insert(0, Broken())
    import pandas as pd
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import pyterrier as pt
        assert not [w for w in caught if "half installed" in str(w.message)]
        qrels = pd.DataFrame([("q1", "d1", 1)], columns=["qid", "docno", "label"])
        run = pd.DataFrame([("q1", "d1", 1.0)], columns=["qid", "docno", "score"])
        topics = pd.DataFrame({"qid": ["q1"], "query": "x"})
        value = float(pt.Experiment([run], topics, qrels, ["map"]).loc[0, "map"])
        assert not [w for w in caught if "half installed" in str(w.message)]
        try:
            pt.Experiment([run], topics, qrels, ["nDCG@10"])
        except ValueError as error:
            refused = str(error)
    said = [str(w.message) for w in caught if "half installed" in str(w.message)]
    print(json.dumps([value, refused, said[0], hasattr(pt.measures, "CAM")]))
"""


@pytest.mark.slow
def test_a_broken_package_does_not_break_pyterrier() -> None:
    """If the package cannot be imported, measures of others work, its own are unknown, and a warning says why."""
    value_of_map, refusal, warning, has_cam = run_python(BROKEN)
    assert value_of_map == 1.0
    assert "nDCG@10" in refusal  # a name that this package reads for PyTerrier
    assert "cannot import the package" in warning
    assert "RuntimeError: half installed" in warning
    assert not has_cam


def test_an_error_in_the_patches_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pt_multiaspect_pyterrier, "_PATCHES", None)
    with pytest.warns(UserWarning, match="pt_multiaspect: cannot patch PyTerrier: TypeError"):
        module = pt_multiaspect_pyterrier.load()
    assert isinstance(module, ModuleType)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:\\w+ is evaluated without")
def test_names_of_trec_eval_are_read_alike_with_and_without_the_package() -> None:
    """Names of trec_eval are read by ir-measures alone, to the same measures as if the package read them."""
    import pytrec_eval

    families = sorted(pytrec_eval.supported_measures | set(pytrec_eval.supported_nicknames))
    names = list(families)
    for family in families:
        for cutoffs in ("5", "0", "5,10", "0.5", "5@3", "5x"):  # of which some are none
            names.append(f"{family}_{cutoffs}")
    left_to_ir_measures = [
        name for name in names if pt_multiaspect_pyterrier._TREC_NAME.fullmatch(name)
    ]
    assert {"map", "ndcg_cut_5", "P_5,10"} <= set(left_to_ir_measures)

    def read_with_package(name: str) -> list[str] | None:
        """The measures of a name, or None if it is refused."""
        try:
            with silence_warnings():  # of members of sets that ir-measures does not support
                return list(map(str, parse(name)))
        except ma.MultiAspectError:
            return None

    # ir-measures has no G: this package reads it.
    assert read_with_package("G") == ["G"]
    expected = {}
    for name in left_to_ir_measures:
        measures = read_with_package(name)
        if name != "G" and measures is not None:
            expected[name] = measures

    read_by_pyterrier, is_imported = run_python(
        """
        import json, sys
        import pyterrier
        import ir_measures
        def read(name):
            try:
                return list(map(str, ir_measures.parse_trec_measure(name)))
            except ValueError as error:
                return [str(error)]
        measures = [read(name) for name in json.load(sys.stdin)]
        print(json.dumps([measures, "pt_multiaspect" in sys.modules]))
        """,
        stdin=json.dumps(list(expected)),
    )
    assert dict(zip(expected, read_by_pyterrier, strict=True)) == expected
    assert not is_imported


def test_strings_reach_pyterrier() -> None:
    for text, expected in {
        "map": AP,
        "P.5": P @ 5,
        "nDCG@10": nDCG @ 10,
        "TOMA@10": TOMA @ 10,
        "TOMA(distance=2)@10": TOMA @ 10,
        "CAM(base={'relevance':'nDCG','readability':'SetF'})": CAM(
            base={"relevance": nDCG, "readability": "SetF"}
        ),
    }.items():
        assert ir_measures.parse_trec_measure(text) == [expected]
        assert parsing.parse(text) == [expected]
    assert len(ir_measures.parse_trec_measure("P")) > 1
    assert parsing.parse(TOMA_10) == [TOMA_10]


def test_uninstall_takes_the_names_back() -> None:
    installed = ir_measures.parse_trec_measure
    pyterrier.install()
    pyterrier.install()
    assert ir_measures.parse_trec_measure is installed
    try:
        pyterrier.uninstall()
        assert ir_measures.parse_trec_measure is ir_measures.util.parse_trec_measure
        assert ir_measures.parse_trec_measure is not installed
        with pytest.raises(ValueError, match="TOMA@10"):
            ir_measures.parse_trec_measure("TOMA@10")
        assert ir_measures.parse_trec_measure("map") == [AP]
        pyterrier.uninstall()
        assert ir_measures.parse_trec_measure is ir_measures.util.parse_trec_measure
    finally:
        pyterrier.install()
    assert ir_measures.parse_trec_measure("TOMA@10") == [TOMA @ 10]


@pytest.mark.slow
def test_pyterrier_alone_is_enough() -> None:
    result = run_python(
        """
        import json
        import pyterrier as pt
        import ir_measures
        print(json.dumps([
            pt.multiaspect.__name__, str(pt.measures.TOMA @ 10), "multiaspect" in pt.__all__,
            [str(m) for m in ir_measures.parse_trec_measure("CAM(base='nDCG@10')")],
            all(getattr(pt.measures, m.NAME) is m for m in pt.multiaspect.measures.ALL),
        ]))
        """
    )
    assert result == ["pt_multiaspect", "TOMA@10", True, ["CAM@10"], True]


@pytest.mark.slow
def test_import_order_does_not_matter() -> None:
    result = run_python(
        """
        import json
        import pt_multiaspect as ma
        import pyterrier as pt
        import ir_measures
        providers = [type(p).__name__ for p in ir_measures.DefaultPipeline.providers]
        print(json.dumps([
            pt.multiaspect is ma, pt.measures.TOMA is ma.TOMA,
            all(getattr(pt.measures, m.NAME) is m for m in ma.measures.ALL),
            [str(m) for m in ir_measures.parse_trec_measure("TOMA@10")], providers.count("MultiAspectProvider"),
        ]))
        """
    )
    assert result == [True, True, True, ["TOMA@10"], 1]
