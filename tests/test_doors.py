"""The doors people use: PyTerrier, ir-measures, every shape of qrels, pickles, entry points."""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from enum import Enum
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, Measure, P, nDCG

import pt_multiaspect as ma
from pt_multiaspect import CAM, GAM, MM, NGRE, NLRE, NWCS, TOMA, WHAM, Aspect, Aspects, On, Order
from pt_multiaspect import uRBP as URBP
from pt_multiaspect import uRBPgr as URBPgr
from pt_multiaspect.integration import parsing, provider, pyterrier
from pt_multiaspect.measures import ALL

# --- a small collection -----------------------------------------------------------------------

QIDS = [f"q{i}" for i in range(1, 7)]
DOCNOS = [f"d{i:02}" for i in range(12)]
TOPICS = pd.DataFrame({"qid": QIDS, "query": [f"query {qid}" for qid in QIDS]})
HEALTH = Aspects({"relevance": 2, "readability": Aspect(3, probabilities=[0, 0.4, 0.8, 1], threshold=2)})
BONUS = np.random.default_rng(3).permutation(len(DOCNOS))


def _collection() -> tuple[pd.DataFrame, pd.DataFrame]:
    random = np.random.default_rng(0)
    pairs = [(qid, docno) for qid in QIDS for docno in DOCNOS]
    scores = pd.DataFrame(pairs, columns=["qid", "docno"]).assign(
        score=random.permutation(len(pairs)).astype(float)
    )
    place = scores["docno"].str[1:].astype(int)
    # Relevant documents tend to have great scores, readable ones a great bonus.
    relevance = np.clip(scores["score"] / 30 - 0.2 + random.normal(0, 0.5, len(pairs)), 0, 2).round().astype(int)
    readability = np.clip(BONUS[place] / 4 + random.normal(0, 0.5, len(pairs)), 0, 3).round().astype(int)
    qrels = scores[["qid", "docno"]].assign(label=relevance, readability=readability)
    assert set(qrels["label"]) == {0, 1, 2}
    assert set(qrels["readability"]) == {0, 1, 2, 3}
    return scores.sample(frac=0.8, random_state=1).sort_index(), qrels.sample(frac=0.8, random_state=2).sort_index()


SCORES, QRELS = _collection()
IR_QRELS = QRELS.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})
IR_RUN = SCORES.rename(columns={"qid": "query_id", "docno": "doc_id"})
RUN = {qid: dict(zip(rows["docno"], rows["score"], strict=True)) for qid, rows in SCORES.groupby("qid")}


@pytest.fixture(autouse=True)
def _nothing_was_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ma.errors, "_given", set())


class Readable(pt.Transformer):
    """Adds a bonus to documents, times a weight that grid searches vary."""

    def __init__(self, weight: float = 0.0) -> None:
        self.weight = weight

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        place = inp["docno"].str[1:].astype(int) if len(inp) else inp["docno"]
        bonus = BONUS[place] if len(inp) else 0.0
        return pt.model.add_ranks(inp.assign(score=inp["score"] + self.weight * bonus))

    def __repr__(self) -> str:
        return "Readable()"


FIRST = pt.Transformer.from_df(SCORES)
TOMA_10 = TOMA(aspects=HEALTH) @ 10
CAM_10 = CAM(base=nDCG @ 10, aspects=HEALTH)
DECLARED: list[Measure] = [
    TOMA_10,
    CAM_10,
    CAM(base=nDCG @ 5, normalized=True, aspects=HEALTH),
    MM(base=AP, aspects=HEALTH),
    WHAM(base=P @ 5, weights={"relevance": 2, "readability": 1}, aspects=HEALTH),
    GAM(base="RBP", aspects=HEALTH),
    On(aspect="readability", base=nDCG, aspects=HEALTH) @ 10,
    URBP(aspects=HEALTH),
    URBPgr(p=0.9, aspects=HEALTH) @ 10,
    ma.unDCG(aspects=HEALTH) @ 10,
    ma.uERR(s=2, aspects=HEALTH),
    NWCS(aspects=HEALTH) @ 10,
    NLRE(aspects=HEALTH) @ 10,
    NGRE(mu=1, aspects=HEALTH),
]


def per_query(measures: list[Any], qrels: object = IR_QRELS, run: object = IR_RUN) -> dict[tuple[str, str], float]:
    return {(m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc(measures, qrels, run)}


def in_python(code: str, *, stdin: str = "", env: dict[str, str] | None = None) -> Any:
    """Run code in a fresh interpreter; it prints one JSON value as its last line."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(env or {})},
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# --- pt.Experiment ----------------------------------------------------------------------------

SYSTEMS = [FIRST, FIRST >> Readable(5.0), FIRST >> Readable(20.0), FIRST >> Readable(80.0) >> Readable(0.5)]
SYSTEM_NAMES = ["first", "a little", "more", "most"]
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


def experiment(metrics: list[Any], **options: Any) -> pd.DataFrame:
    options = {"names": SYSTEM_NAMES, "verbose": False} | options
    result = pt.Experiment(SYSTEMS, TOPICS, QRELS, metrics, **options)
    assert isinstance(result, pd.DataFrame)
    return result


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
            assert table.loc[index, str(metric)] == pytest.approx(expected, abs=1e-12), (index, metric)


def test_experiment_leaves_the_standard_columns_as_they_are() -> None:
    standard = ["map", nDCG @ 10, "P_5", "recip_rank"]
    alone, beside = experiment(standard), experiment([*standard, TOMA_10, CAM_10])
    for metric in standard:
        assert alone[str(metric)].tolist() == beside[str(metric)].tolist()


def test_experiment_perquery() -> None:
    table = experiment([TOMA_10, "map", CAM_10], perquery=True)
    assert list(table.columns) == ["name", "qid", "measure", "value"]
    assert len(table) == len(SYSTEMS) * len(QIDS) * 3
    assert not table["value"].isna().any()
    expected = per_query([TOMA_10, CAM_10])
    for row in table[table["name"] == "first"].itertuples():
        if row.measure != "map":
            assert row.value == expected[row.qid, row.measure]
    means = experiment([TOMA_10, "map", CAM_10])
    grouped = table.groupby(["name", "measure"])["value"].mean()
    for index, name in enumerate(SYSTEM_NAMES):
        assert means.loc[index, str(TOMA_10)] == pytest.approx(grouped[name, str(TOMA_10)], abs=1e-12)
    averages, each = pt.Experiment(SYSTEMS, TOPICS, QRELS, [TOMA_10], names=SYSTEM_NAMES, perquery="both")
    assert averages[str(TOMA_10)].tolist() == means[str(TOMA_10)].tolist()
    assert len(each) == len(SYSTEMS) * len(QIDS)


def values_of(table: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    return {
        (row.name_, row.qid, row.measure): row.value for row in table.rename(columns={"name": "name_"}).itertuples()
    }


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
        assert other_means[str(metric)].tolist() == pytest.approx(means[str(metric)].tolist(), abs=1e-12)


def test_batches_with_judged_queries_that_are_no_topics() -> None:
    """PyTerrier evaluates those against an empty run; that is no reason to warn."""
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
        assert mean == pytest.approx(np.mean([each[str(measure)] for each in values.values()]))


def test_queries_without_judgments_are_left_out() -> None:
    qrels = QRELS[QRELS["qid"] != "q3"]
    values = pt.Evaluate(SCORES, qrels, [TOMA_10], perquery=True)
    assert set(values) == set(QIDS) - {"q3"}


def test_experiment_baseline_with_correction() -> None:
    metrics = ["map", TOMA_10, "CAM(base='nDCG@10')", URBP(aspects=HEALTH)]
    table = experiment(metrics, baseline=0, correction="holm")
    each = experiment(metrics, perquery=True)
    for metric in map(str, metrics):
        added = [f"{metric} {kind}" for kind in ("+", "-", "p-value", "reject", "p-value corrected")]
        assert set(added) <= set(table.columns)
        assert table.loc[0, added[:3]].isna().all()
        p_values = table.loc[1:, f"{metric} p-value"]
        assert p_values.between(0, 1).all()
        assert (table.loc[1:, f"{metric} p-value corrected"] >= p_values - 1e-12).all()
        values = each[each["measure"] == metric].pivot(index="qid", columns="name", values="value")
        for index, name in enumerate(SYSTEM_NAMES[1:], 1):
            assert table.loc[index, f"{metric} +"] == (values[name] > values["first"]).sum()
            assert table.loc[index, f"{metric} -"] == (values[name] < values["first"]).sum()


def test_experiment_rounds_and_highlights() -> None:
    table = experiment([TOMA_10, "map"], round=3)
    exact = experiment([TOMA_10, "map"])
    assert table[str(TOMA_10)].tolist() == exact[str(TOMA_10)].round(3).tolist()
    styled = pt.Experiment(SYSTEMS, TOPICS, QRELS, [TOMA_10, "map"], names=SYSTEM_NAMES, highlight="bold")
    assert "font-weight: bold" in styled.to_html()
    as_dict = pt.Experiment([FIRST], TOPICS, QRELS, [TOMA_10], names=["first"], dataframe=False)
    assert as_dict["first"][str(TOMA_10)] == exact.loc[0, str(TOMA_10)]


def test_experiment_saves_and_reuses_runs(tmp_path: Any) -> None:
    options = {"names": ["first", "more"], "save_dir": str(tmp_path)}
    systems = [FIRST >> Readable(0.0), FIRST >> Readable(20.0)]
    fresh = pt.Experiment(systems, TOPICS, QRELS, [TOMA_10, "map"], **options)
    again = pt.Experiment(systems, TOPICS, QRELS, [TOMA_10, "map"], save_mode="reuse", **options)
    pd.testing.assert_frame_equal(fresh, again)


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


def test_columns_and_values_do_not_depend_on_the_hash_seed() -> None:
    found = [in_python(HASH_SEEDS, env={"PYTHONHASHSEED": seed}) for seed in ("0", "1", "42")]
    assert len(found[0][0]) == 12
    assert found[0] == found[1] == found[2]


# --- pt.Evaluate, GridScan, GridSearch, KFoldGridSearch ---------------------------------------


def test_evaluate() -> None:
    metrics = ["map", TOMA_10, "TOMA@10", "nDCG@10"]
    with pytest.warns(ma.MultiAspectWarning, match="inferred"):
        values = pt.Evaluate(SCORES, QRELS, metrics)
    assert list(values) == [str(metric) for metric in metrics]
    assert values[str(TOMA_10)] == pytest.approx(values["TOMA@10"], abs=1e-12)  # the inferred scales are the same
    each = pt.Evaluate(SCORES, QRELS, [TOMA_10], perquery=True)
    assert {(qid, name): v for qid, row in each.items() for name, v in row.items()} == per_query([TOMA_10])


WEIGHTS = [0.0, 5.0, 20.0, 80.0]
OURS = "TOMA(base='nDCG@10',aspects={'relevance': 2, 'readability': 3})"


def grid() -> tuple[pt.Transformer, Readable, dict[Any, Any]]:
    readable = Readable()
    return FIRST >> readable, readable, {readable: {"weight": WEIGHTS}}


def expected_scan(metrics: list[Any], topics: pd.DataFrame = TOPICS) -> pd.DataFrame:
    qrels = IR_QRELS[IR_QRELS["query_id"].isin(topics["qid"])]
    rows = []
    for weight in WEIGHTS:
        run = (FIRST >> Readable(weight)).transform(topics).rename(columns={"qid": "query_id", "docno": "doc_id"})
        rows.append([parsing.parse(metric)[0].calc_aggregate(qrels, run) for metric in metrics])
    return pd.DataFrame(rows, columns=[str(metric) for metric in metrics], index=WEIGHTS)


@pytest.mark.parametrize("batch_size", [None, 2])
def test_grid_scan(batch_size: int | None) -> None:
    pipeline, _, params = grid()
    metrics = ["map", "nDCG@10", OURS, TOMA_10, CAM_10]
    table = pt.GridScan(pipeline, params, TOPICS, QRELS, metrics, batch_size=batch_size)
    assert table["tran_0_weight"].tolist() == WEIGHTS
    expected = expected_scan(metrics)
    for metric in map(str, metrics):
        assert table[metric].tolist() == pytest.approx(expected[metric].tolist(), abs=1e-12), metric
    (setting, values), *_ = pt.GridScan(pipeline, params, TOPICS, QRELS, OURS, dataframe=False)
    assert setting[0][1:] == ("weight", 0.0)
    assert values[OURS] == pytest.approx(expected.loc[0.0, OURS], abs=1e-12)


@pytest.mark.parametrize("batch_size", [None, 2])
@pytest.mark.parametrize(
    "metric",
    ["nDCG@10", OURS, str(CAM_10), "uRBP(aspects={'relevance': 2, 'readability': 3})", "nlre", "nwcs"],
)
def test_grid_search(metric: str, batch_size: int | None) -> None:
    expected = expected_scan([metric])[metric]
    pipeline, readable, params = grid()
    best, setting = pt.GridSearch(
        pipeline, params, TOPICS, QRELS, metric=metric, batch_size=batch_size, return_type="best_setting"
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


@pytest.mark.parametrize("n_folds", [2, 3])
@pytest.mark.parametrize("metric", ["nDCG@10", OURS])
def test_k_fold_grid_search(metric: str, n_folds: int) -> None:
    """With three folds PyTerrier hands over every judgment twice: equal ones are merged."""
    pipeline, readable, params = grid()
    folds = [TOPICS[i::n_folds] for i in range(n_folds)]
    results, settings = pt.KFoldGridSearch(pipeline, params, folds, QRELS, metric=metric)
    assert set(results["qid"]) == set(QIDS)
    assert readable.weight == 0.0
    assert len(settings) == n_folds
    for fold, setting in enumerate(settings):
        training = pd.concat([topics for other, topics in enumerate(folds) if other != fold])
        assert setting[0][1:] == ("weight", expected_scan([metric], training)[metric].idxmax())
    assert 0 < pt.Evaluate(results, QRELS, [TOMA_10])[str(TOMA_10)] <= 1


def test_k_fold_grid_search_with_the_judgments_of_each_fold() -> None:
    pipeline, _, params = grid()
    folds = [TOPICS[:3], TOPICS[3:]]
    judgments = [QRELS[QRELS["qid"].isin(topics["qid"])] for topics in folds]
    _, whole = pt.KFoldGridSearch(pipeline, params, folds, QRELS, metric=OURS)
    _, parts = pt.KFoldGridSearch(pipeline, params, folds, judgments, metric=OURS)
    assert [s[0][1:] for s in whole] == [s[0][1:] for s in parts]


# --- ir-measures ------------------------------------------------------------------------------


def test_aggregates_are_means_of_the_values() -> None:
    each = per_query(DECLARED)
    assert len(each) == len(DECLARED) * len(QIDS)
    aggregates = ir_measures.calc_aggregate(DECLARED, IR_QRELS, IR_RUN)
    both = ir_measures.calc(DECLARED, IR_QRELS, IR_RUN)
    evaluator = ir_measures.evaluator(DECLARED, IR_QRELS)
    assert both.aggregated == aggregates == evaluator.calc_aggregate(IR_RUN) == evaluator.calc(IR_RUN).aggregated
    assert {(m.query_id, str(m.measure)): m.value for m in both.per_query} == each
    assert {(m.query_id, str(m.measure)): m.value for m in evaluator.iter_calc(IR_RUN)} == each
    for measure in DECLARED:
        mean = sum(each[qid, str(measure)] for qid in QIDS) / len(QIDS)
        assert aggregates[measure] == pytest.approx(mean, abs=1e-12)
        assert measure.calc_aggregate(IR_QRELS, IR_RUN) == aggregates[measure]
        assert measure.calc(IR_QRELS, IR_RUN).aggregated == aggregates[measure]
        assert measure.evaluator(IR_QRELS).calc_aggregate(IR_RUN) == {measure: aggregates[measure]}
        for metric in measure.iter_calc(IR_QRELS, IR_RUN):
            assert type(metric.value) is float
            assert metric.value == each[metric.query_id, str(measure)]


def test_an_evaluator_takes_any_number_of_runs() -> None:
    evaluator = ir_measures.evaluator([*DECLARED, nDCG @ 10], IR_QRELS)
    first, again = evaluator.calc_aggregate(IR_RUN), evaluator.calc_aggregate(RUN)
    assert first == again
    other = IR_RUN.assign(score=-IR_RUN["score"])
    assert evaluator.calc_aggregate(other) == ir_measures.calc_aggregate([*DECLARED, nDCG @ 10], IR_QRELS, other)
    assert evaluator.calc_aggregate(IR_RUN) == first


def test_combinations_are_those_of_their_parts() -> None:
    parts = {a: On(aspect=a, base=nDCG @ 10, aspects=HEALTH) for a in HEALTH}
    values = per_query([CAM_10, *parts.values(), MM(base=nDCG, aspects=HEALTH) @ 10])
    for qid in QIDS:
        relevance, readability = (values[qid, str(part)] for part in parts.values())
        assert values[qid, str(CAM_10)] == pytest.approx((relevance + readability) / 2, abs=1e-12)
        harmonic = 2 * relevance * readability / (relevance + readability)
        assert values[qid, str(MM(base=nDCG, aspects=HEALTH) @ 10)] == pytest.approx(harmonic, abs=1e-12)
    plain = per_query([nDCG @ 10])
    for qid in QIDS:
        assert values[qid, str(parts["relevance"])] == pytest.approx(plain[qid, "nDCG@10"], abs=1e-9)


@pytest.mark.filterwarnings("ignore:.* is lower-is-better")
@pytest.mark.parametrize("measure", [*ALL, *DECLARED], ids=str)
def test_measures_parse_from_what_they_print(measure: Measure) -> None:
    for parsed in (ir_measures.parse_measure(str(measure)), *ir_measures.parse_trec_measure(str(measure))):
        assert parsed == measure
        assert hash(parsed) == hash(measure)
        assert str(parsed) == str(measure)
        assert type(parsed) is type(measure)


def test_every_measure_is_in_the_registry_and_has_what_documentation_lists() -> None:
    for measure in ALL:
        assert ir_measures.measures.registry[measure.NAME] is measure
        assert getattr(ma, measure.NAME) is measure
        assert getattr(pt.measures, measure.NAME) is measure
        assert measure.PRETTY_NAME
        assert measure.SHORT_DESC.endswith(".")
        assert all(isinstance(param.desc, str) and param.desc for param in measure.SUPPORTED_PARAMS.values())
        if not any(param.required for param in measure.SUPPORTED_PARAMS.values()):
            assert ir_measures.DefaultPipeline.supports(measure)
    assert [type(p).__name__ for p in ir_measures.DefaultPipeline.providers].count("MultiAspectProvider") == 1


def test_what_the_provider_needs_is_told() -> None:
    assert set(ir_measures.run_inputs([TOMA_10])) == {"query_id", "doc_id", "score"}
    assert set(ir_measures.qrel_inputs([TOMA_10])) == {"query_id", "doc_id", "relevance", "readability"}


# --- qrels and runs of every shape ------------------------------------------------------------


class Labels(NamedTuple):
    relevance: int
    readability: int


class ReadableQrel(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    readability: int
    iteration: str = "0"


ROWS = list(QRELS.itertuples(index=False, name=None))


def nested(label: Callable[[int, int], object]) -> dict[str, dict[str, object]]:
    result: dict[str, dict[str, object]] = {}
    for qid, docno, relevance, readability in ROWS:
        result.setdefault(qid, {})[docno] = label(relevance, readability)
    return result


def labelled(*aspects: str) -> Callable[[int, int], dict[str, int]]:
    return lambda *labels: dict(zip(aspects, labels, strict=True))


SHAPES: dict[str, Callable[[], object]] = {
    "PyTerrier": lambda: QRELS,
    "ir-measures": lambda: IR_QRELS,
    "mixed words": lambda: QRELS.rename(columns={"docno": "doc_id"}),
    "PyTerrier with iteration": lambda: QRELS.assign(iteration=0, rank=1).drop(columns="rank"),
    "shuffled rows": lambda: QRELS.sample(frac=1, random_state=5),
    "shuffled columns": lambda: QRELS[["readability", "label", "docno", "qid"]],
    "float labels": lambda: QRELS.astype({"label": float, "readability": "float32"}),
    "nullable labels": lambda: QRELS.astype({"label": "Int64", "readability": "Int8"}),
    "object labels": lambda: QRELS.astype({"label": object, "readability": object}),
    "categories": lambda: QRELS.astype({"qid": "category", "docno": "category"}),
    "repeated rows": lambda: pd.concat([QRELS, QRELS[::3]]),
    "dict of dicts": lambda: nested(labelled("relevance", "readability")),
    "dict of dicts in PyTerrier's words": lambda: nested(labelled("label", "readability")),
    "dict of dicts, other order": lambda: nested(lambda r, u: {"readability": u, "relevance": r}),
    "dict of namedtuples": lambda: nested(Labels),
    "dict of tuples": lambda: nested(lambda *labels: labels),
    "dict of lists": lambda: nested(lambda *labels: list(labels)),
    "namedtuples": lambda: [ReadableQrel(*row) for row in ROWS],
    "tuple of namedtuples": lambda: tuple(ReadableQrel(*row) for row in ROWS),
    "generator of namedtuples": lambda: (ReadableQrel(*row) for row in ROWS),
    "rows of a DataFrame": lambda: QRELS.itertuples(index=False),
    "Judgments": lambda: ma.Judgments(QRELS),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_qrels_of_any_shape(shape: str) -> None:
    expected = per_query(DECLARED)
    evaluator = provider.MultiAspectProvider().evaluator(DECLARED, SHAPES[shape]())
    assert {(m.query_id, str(m.measure)): m.value for m in evaluator.iter_calc(IR_RUN)} == expected
    if shape != "Judgments":  # ir-measures looks at the shape itself
        assert per_query(DECLARED, SHAPES[shape]()) == expected


@pytest.mark.parametrize("shape", ["ir-measures", "namedtuples", "generator of namedtuples"])
def test_qrels_shared_with_other_providers(shape: str) -> None:
    expected = per_query([nDCG @ 10, "AP", *DECLARED][2:]) | per_query([nDCG @ 10, AP])
    assert per_query([nDCG @ 10, AP, *DECLARED], SHAPES[shape]()) == expected


def test_judgments_of_numbers_are_of_relevance() -> None:
    qrels = nested(lambda relevance, readability: relevance)
    measures = [On, URBP(aspects="label"), NLRE(aspects="label")]
    assert per_query(measures, qrels) == per_query(measures, IR_QRELS.drop(columns="readability"))
    assert per_query([On @ 10], qrels) == {
        (qid, "On@10"): pytest.approx(value, abs=1e-9)
        for (qid, _), value in per_query([nDCG @ 10], IR_QRELS).items()
    }


def test_positions_of_tuples_take_the_names_of_the_aspects_asked_for() -> None:
    measure = NLRE(aspects="relevance,readability")
    assert per_query([measure], nested(lambda *labels: labels)) == per_query([measure])


RUNS: dict[str, Callable[[], object]] = {
    "PyTerrier": lambda: SCORES,
    "ir-measures": lambda: IR_RUN,
    "PyTerrier with more": lambda: pt.model.add_ranks(SCORES.assign(query="x", name="a run")),
    "shuffled": lambda: SCORES.sample(frac=1, random_state=7),
    "dict of dicts": lambda: RUN,
    "ScoredDocs": lambda: [ir_measures.ScoredDoc(*row) for row in IR_RUN.itertuples(index=False)],
    "generator of ScoredDocs": lambda: (ir_measures.ScoredDoc(*row) for row in IR_RUN.itertuples(index=False)),
    "integer scores": lambda: SCORES.astype({"score": int}),
    "read-only": lambda: SCORES.copy(deep=True),
}


@pytest.mark.parametrize("shape", RUNS)
def test_runs_of_any_shape(shape: str) -> None:
    assert per_query(DECLARED, run=RUNS[shape]()) == per_query(DECLARED)


def test_nothing_given_is_changed() -> None:
    qrels, run = IR_QRELS.copy(deep=True), IR_RUN.copy(deep=True)
    per_query(DECLARED, qrels, run)
    pd.testing.assert_frame_equal(qrels, IR_QRELS)
    pd.testing.assert_frame_equal(run, IR_RUN)


# --- the qrels of ir_datasets -----------------------------------------------------------------


def _own_classes() -> dict[str, type]:
    """Classes like those of ir_datasets, for where they cannot be imported."""

    class Stance(Enum):
        FIRST = "FIRST"
        NO = "NO"

    common = [("query_id", str), ("doc_id", str), ("relevance", int)]
    return {
        "EhealthQrel": NamedTuple(
            "EhealthQrel", [*common, ("trustworthiness", int), ("understandability", int), ("iteration", str)]
        ),
        "MisinfoQrel": NamedTuple("MisinfoQrel", [*common, ("effectiveness", int), ("redibility", int)]),
        "ToucheQualityQrel": NamedTuple("ToucheQualityQrel", [*common, ("quality", int), ("iteration", str)]),
        "ToucheQualityComparativeStanceQrel": NamedTuple(
            "ToucheQualityComparativeStanceQrel",
            [*common, ("quality", int), ("stance", Stance), ("iteration", str)],
        ),
        "Stance": Stance,
    }


def _ir_datasets_classes() -> dict[str, type]:
    from ir_datasets.datasets.clueweb12 import EhealthQrel, MisinfoQrel
    from ir_datasets.formats.touche import (
        ToucheComparativeStance,
        ToucheQualityComparativeStanceQrel,
        ToucheQualityQrel,
    )

    classes = (EhealthQrel, MisinfoQrel, ToucheQualityQrel, ToucheQualityComparativeStanceQrel)
    return {cls.__name__: cls for cls in classes} | {"Stance": ToucheComparativeStance}


@pytest.mark.filterwarnings("ignore:.*codes of categories:pt_multiaspect.MultiAspectWarning")
@pytest.mark.parametrize("origin", ["real", "own"])
@pytest.mark.parametrize("shape", ["list", "generator", "frame"])
@pytest.mark.parametrize(
    "name", ["EhealthQrel", "MisinfoQrel", "ToucheQualityQrel", "ToucheQualityComparativeStanceQrel"]
)
def test_qrels_of_ir_datasets(name: str, shape: str, origin: str) -> None:
    if origin == "real":
        pytest.importorskip("ir_datasets")
    classes = _ir_datasets_classes() if origin == "real" else _own_classes()
    qrel_class: Any = classes[name]
    stances = list(classes["Stance"])  # type: ignore[call-overload]
    aspects = [field for field in qrel_class._fields if field not in ("query_id", "doc_id", "stance", "iteration")]
    rows = []
    for index, (qid, docno, relevance, readability) in enumerate(ROWS):
        values = {"query_id": qid, "doc_id": docno, "iteration": "0", "stance": stances[index % 2]}
        values |= {aspect: (relevance, readability, index % 4)[at] for at, aspect in enumerate(aspects)}
        rows.append(qrel_class(**{field: values[field] for field in qrel_class._fields}))
    expected_frame = pd.DataFrame(rows)[["query_id", "doc_id", *aspects]]
    misspelt = "redibility" in aspects
    if misspelt:
        aspects[-1] = "credibility"
        expected_frame = expected_frame.rename(columns={"redibility": "credibility"})
    measures = [NLRE @ 10, CAM, TOMA(aspects=dict(zip(aspects, (2, 3, 3), strict=False))) @ 10]
    qrels = {"list": rows, "generator": (row for row in rows), "frame": pd.DataFrame(rows)}[shape]
    assert ma.Judgments(rows).label_names == tuple(aspects)
    warned = pytest.warns(ma.MultiAspectWarning, match="redibility .* is read as credibility")
    with warned if misspelt else nullcontext():
        found = per_query(measures, qrels)
    assert found == per_query(measures, expected_frame)
    assert per_query([CAM, nDCG @ 10], rows)["q1", "nDCG@10"] == per_query([nDCG @ 10])["q1", "nDCG@10"]


# --- bases that ir-measures computes ------------------------------------------------------------


def rescored(run: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The run with scores n - rank + 1, on which the general road evaluates."""
    return {
        qid: {
            docno: float(place)
            for place, docno in enumerate(sorted(docs, key=lambda d: (np.float32(docs[d]), d)), 1)
        }
        for qid, docs in run.items()
    }


def share_found(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
    """How much of the relevance of a query the run holds."""
    found = qrels[qrels["doc_id"].isin(run["doc_id"])]["relevance"].clip(lower=0).sum()
    return float(found / max(qrels["relevance"].clip(lower=0).sum(), 1))


GENERAL = [
    "Compat",
    "Compat(p=0.8)",
    "Bpref",
    "infAP",
    "IPrec@0.2",
    "Judged@5",
    "Accuracy",
    "P(judged_only=True)@5",
    "NumRet",
    "INST(T=1.0,min_rel=0,max_rel=3)",
]


@pytest.mark.parametrize(
    "base",
    [*GENERAL, ir_measures.define_byquery(share_found), ir_measures.define_byquery(share_found) @ 3],
    ids=str,
)
def test_general_road(base: Any) -> None:
    if str(base).startswith("INST"):
        pytest.importorskip("cwl")  # of cwl-eval
    measure = ir_measures.parse_measure(base) if isinstance(base, str) else base
    on = {aspect: On(aspect=aspect, base=base) for aspect in HEALTH}
    cam, gam = CAM(base=base, aspects="relevance,readability"), GAM(base=base, aspects="relevance,readability")
    run = rescored(RUN)
    values = per_query([*on.values(), cam, gam])
    for aspect in HEALTH:
        column = IR_QRELS[["query_id", "doc_id"]].assign(relevance=IR_QRELS[aspect])
        for metric in ir_measures.iter_calc([measure], column, run):
            found = values[metric.query_id, str(on[aspect])]
            assert found == pytest.approx(metric.value, abs=1e-9), (aspect, metric)
    for qid in QIDS:
        each = [values[qid, str(on[aspect])] for aspect in HEALTH]
        assert values[qid, str(cam)] == pytest.approx(sum(each) / 2, abs=1e-12)
        assert values[qid, str(gam)] == pytest.approx((each[0] * each[1]) ** 0.5, abs=1e-12)
    if isinstance(base, str):
        assert ir_measures.parse_measure(str(cam)) == cam


def test_general_road_under_toma() -> None:
    """TOMA over a general base is the base on the classes."""
    classes = ma.DistanceOrder(HEALTH, "manhattan").classes(IR_QRELS[["relevance", "readability"]].to_numpy())
    column = IR_QRELS[["query_id", "doc_id"]].assign(relevance=classes)
    bases = [
        "Compat(p=0.8)",
        "Bpref",
        "infAP",
        "Judged@5",
        "IPrec@0.2",
        "nDCG@10",
        "AP",
        "RR",
        ir_measures.define_byquery(share_found),
    ]
    for base in bases:
        measure = TOMA(base=base, distance="manhattan", aspects=HEALTH)
        values = per_query([measure])
        plain = ir_measures.parse_measure(base) if isinstance(base, str) else base
        for metric in ir_measures.iter_calc([plain], column, rescored(RUN)):
            found = values[metric.query_id, str(measure)]
            assert found == pytest.approx(metric.value, abs=1e-9), (str(base), metric.query_id)


def test_a_base_in_pt_experiment_without_a_kernel() -> None:
    metrics = [CAM(base="Compat(p=0.8)", aspects=HEALTH), "On(aspect='readability',base='Bpref')", "Bpref"]
    table = experiment(metrics)
    assert set(table.columns) == {"name", *map(str, metrics)}
    assert table[[str(metric) for metric in metrics]].notna().all(axis=None)


# --- names, registration, entry point ---------------------------------------------------------


def test_strings_reach_pyterrier() -> None:
    for text, expected in {
        "map": AP,
        "P.5": P @ 5,
        "nDCG@10": nDCG @ 10,
        "TOMA@10": TOMA @ 10,
        "TOMA(distance=2)@10": TOMA @ 10,
        "CAM(base={'relevance':'nDCG','readability':'SetF'})": CAM(base={"relevance": nDCG, "readability": "SetF"}),
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
    assert ir_measures.parse_trec_measure is installed
    assert ir_measures.parse_trec_measure("TOMA@10") == [TOMA @ 10]


def test_registering_twice_changes_nothing() -> None:
    registry = dict(ir_measures.measures.registry)
    providers = list(ir_measures.DefaultPipeline.providers)
    provider.register()
    provider.register()
    assert ir_measures.measures.registry == registry
    assert ir_measures.DefaultPipeline.providers == providers


def test_pyterrier_alone_is_enough() -> None:
    found = in_python(
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
    assert found == ["pt_multiaspect", "TOMA@10", True, ["CAM@10"], True]


def test_import_order_does_not_matter() -> None:
    found = in_python(
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
    assert found == [True, True, True, ["TOMA@10"], 1]


def test_ir_measures_alone_is_enough() -> None:
    """Neither PyTerrier nor what only some doors need is imported with the package."""
    found = in_python(
        """
        import json, sys
        import pt_multiaspect as ma
        import ir_measures
        qrels = {"q": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
        value = ir_measures.calc_aggregate([ma.CAM(base="AP")], qrels, {"q": {"d1": 2.0, "d2": 1.0}})
        heavy = ("pyterrier", "sklearn", "scipy.optimize", "scipy.stats", "matplotlib", "joblib", "tqdm")
        print(json.dumps([list(value.values()), [name for name in heavy if name in sys.modules]]))
        """
    )
    assert found == [[0.75], []]


FOREIGN = """
    import json, warnings
    import ir_measures

    class Foreign(ir_measures.Measure):
        __name__ = "{name}"
        NAME = "{name}"
        PRETTY_NAME = "Another measure"
        SHORT_DESC = "Of another package."

    foreign = Foreign()
    ir_measures.measures.register(foreign)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        {imports}
        from pt_multiaspect.integration import provider, pyterrier
        provider.register()
        pyterrier.install()
    import pt_multiaspect as ma
    ours = [str(w.message) for w in caught if issubclass(w.category, ma.MultiAspectWarning)]
    qrels = {{"q": {{"d1": {{"relevance": 1, "credibility": 0}}, "d2": {{"relevance": 1, "credibility": 1}}}}}}
    run = {{"q": {{"d1": 2.0, "d2": 1.0}}}}
    registry = ir_measures.measures.registry
    print(json.dumps([
        registry["{name}"] is foreign,
        type(ir_measures.parse_measure("{name}")) is Foreign,
        all(registry[m.NAME] is m for m in ma.measures.ALL if m.NAME != "{name}"),
        ours,
        ma.{name}(base="AP", aspects={{"relevance": 1, "credibility": 1}}).calc_aggregate(qrels, run),
    ]))
"""


@pytest.mark.parametrize("imports", ["import pt_multiaspect", "import pyterrier"])
def test_a_name_that_another_package_has_stays_its_own(imports: str) -> None:
    found = in_python(FOREIGN.format(name="CAM", imports=imports))
    assert found[:3] == [True, True, True]
    (message,) = found[3]
    assert "CAM" in message
    assert "another package" in message
    assert "pt_multiaspect.CAM" in message
    assert found[4] == 0.75


def test_a_foreign_measure_of_our_name_is_not_ours() -> None:
    class Foreign(Measure):
        __name__ = "TOMA"
        NAME = "TOMA"

    assert not provider.MultiAspectProvider().supports(Foreign())
    assert provider.MultiAspectProvider().supports(TOMA)


# --- pickles ----------------------------------------------------------------------------------

UNPICKLE = """
    import base64, json, pickle, sys
    import ir_measures
    content = base64.b64decode(sys.stdin.read())
    measures, qrels, run = pickle.loads(content)
    import pt_multiaspect as ma
    print(json.dumps([
        [str(m) for m in measures],
        all(ir_measures.parse_measure(str(m)) == m for m in measures),
        sorted(((m.query_id, str(m.measure)), m.value) for m in ir_measures.iter_calc(measures, qrels, run)),
    ]))
"""


def test_pickled_measures_carry_the_names_they_print() -> None:
    named = Aspects({"relevance": 2, "readability": Aspect(3, threshold=2)}, name="pickled-health")
    order = Order({(0, 0): 0, (0, 1): 0, (1, 0): 1, (1, 1): 2}, ["relevance", "credibility"], name="pickled-order")
    measures: list[Measure] = [
        TOMA(aspects=named) @ 10,
        CAM(base=nDCG @ 10, aspects=named),
        MM(base={"relevance": AP, "readability": P @ 5}, aspects=named),
        URBP(p=0.7, aspects=named),
        NGRE(aspects=named),
    ]
    assert str(measures[0]) == "TOMA(aspects='pickled-health')@10"
    content = base64.b64encode(pickle.dumps((measures, IR_QRELS, RUN))).decode()
    printed, parsed, values = in_python(UNPICKLE, stdin=content, env={"PYTHONHASHSEED": "7"})
    assert printed == list(map(str, measures))
    assert parsed
    assert {tuple(key): value for key, value in values} == per_query(measures)

    binary = IR_QRELS.assign(relevance=(IR_QRELS["relevance"] > 0) * 1, credibility=IR_QRELS["readability"] % 2)
    with_order = [TOMA(order=order) @ 10]
    assert str(with_order[0]) == "TOMA(order='pickled-order')@10"
    content = base64.b64encode(pickle.dumps((with_order, binary, RUN))).decode()
    printed, parsed, values = in_python(UNPICKLE, stdin=content)
    assert printed == list(map(str, with_order))
    assert parsed
    assert {tuple(key): value for key, value in values} == per_query(with_order, binary)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol(protocol: int) -> None:
    for measure in [*ALL, *DECLARED]:
        again = pickle.loads(pickle.dumps(measure, protocol))
        assert again == measure
        assert str(again) == str(measure)
        assert type(again) is type(measure)
    judgments = pickle.loads(pickle.dumps(ma.Judgments(QRELS), protocol))
    evaluator = provider.MultiAspectProvider().evaluator([TOMA_10], judgments)
    assert {(m.query_id, str(m.measure)): m.value for m in evaluator.iter_calc(RUN)} == per_query([TOMA_10])


def _qrel_iterator() -> Iterator[ReadableQrel]:
    yield from (ReadableQrel(*row) for row in ROWS)


def test_a_generator_is_used_up_once() -> None:
    """An evaluator keeps the judgments, so that a second run finds them still there."""
    evaluator = ir_measures.evaluator([TOMA_10, nDCG @ 10], _qrel_iterator())
    assert evaluator.calc_aggregate(RUN) == evaluator.calc_aggregate(RUN)


@pytest.mark.parametrize("kind", [str, "category", object])
def test_labels_read_as_text_are_labels_all_the_same(kind: Any) -> None:
    frame = pd.DataFrame(
        {
            "qid": "q",
            "docno": ["a", "b"],
            "label": [1, 0],
            "credibility": [0, 2],
            "url": ["x", "7"],
            "note": [None, None],
        }
    )
    as_text = frame.assign(credibility=frame["credibility"].astype(str).astype(kind))
    assert ma.Judgments(as_text).label_names == ("relevance", "credibility")
    measure, run = ma.CAM(base="AP"), {"q": {"b": 2.0, "a": 1.0}}
    assert measure.calc_aggregate(as_text, run) == measure.calc_aggregate(frame, run) == 0.75


def test_warnings_of_other_processes_are_given_once_and_here() -> None:
    frame = pd.DataFrame({"qid": "q", "docno": ["a", "b"], "label": [1, 0], "credibility": [0, 2]})
    runs = {str(i): {"q": {"a": 1.0}} for i in range(4)}
    for n_jobs in (1, 2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ma.evaluate(runs, frame, ma.TOMA(distance=3), n_jobs=n_jobs, progress=False)
        ours = [one for one in caught if issubclass(one.category, ma.MultiAspectWarning)]
        assert len(ours) <= 1
        assert all(one.filename == __file__ for one in ours)
        if n_jobs == 1:
            assert "as in TOMA(distance=3,aspects={'relevance': 1, 'credibility': 2})" in str(ours[0].message)
