"""Measures through ir-measures: forms of qrels and runs, bases, registration, pickles, and no need of PyTerrier."""

from __future__ import annotations

import base64
import pickle
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
from door_world import (
    CAM_10,
    DECLARED,
    HEALTH,
    IR_QRELS,
    IR_RUN,
    QIDS,
    QRELS,
    RUN,
    SCORES,
    TOMA_10,
    experiment,
    per_query,
    run_python,
)
from ir_measures import AP, Measure, P, nDCG

import pt_multiaspect as ma
from pt_multiaspect import CAM, GAM, MM, NGRE, NLRE, TOMA, Aspect, Aspects, On, Order
from pt_multiaspect import uRBP as URBP
from pt_multiaspect.integration import provider
from pt_multiaspect.measures import ALL

# --- ir-measures ------------------------------------------------------------------------------


@pytest.mark.slow
def test_aggregates_are_means_of_the_values() -> None:
    values = per_query(DECLARED)
    assert len(values) == len(DECLARED) * len(QIDS)
    aggregates = ir_measures.calc_aggregate(DECLARED, IR_QRELS, IR_RUN)
    both = ir_measures.calc(DECLARED, IR_QRELS, IR_RUN)
    evaluator = ir_measures.evaluator(DECLARED, IR_QRELS)
    assert (
        both.aggregated
        == aggregates
        == evaluator.calc_aggregate(IR_RUN)
        == evaluator.calc(IR_RUN).aggregated
    )
    assert {(m.query_id, str(m.measure)): m.value for m in both.per_query} == values
    assert {(m.query_id, str(m.measure)): m.value for m in evaluator.iter_calc(IR_RUN)} == values
    for measure in DECLARED:
        mean = sum(values[qid, str(measure)] for qid in QIDS) / len(QIDS)
        assert aggregates[measure] == pytest.approx(mean, abs=1e-12)
        assert measure.calc_aggregate(IR_QRELS, IR_RUN) == aggregates[measure]
        assert measure.calc(IR_QRELS, IR_RUN).aggregated == aggregates[measure]
        assert measure.evaluator(IR_QRELS).calc_aggregate(IR_RUN) == {measure: aggregates[measure]}
        for metric in measure.iter_calc(IR_QRELS, IR_RUN):
            assert type(metric.value) is float
            assert metric.value == values[metric.query_id, str(measure)]


def test_an_evaluator_takes_any_number_of_runs() -> None:
    evaluator = ir_measures.evaluator([*DECLARED, nDCG @ 10], IR_QRELS)
    first, again = evaluator.calc_aggregate(IR_RUN), evaluator.calc_aggregate(RUN)
    assert first == again
    other = IR_RUN.assign(score=-IR_RUN["score"])
    assert evaluator.calc_aggregate(other) == ir_measures.calc_aggregate(
        [*DECLARED, nDCG @ 10], IR_QRELS, other
    )
    assert evaluator.calc_aggregate(IR_RUN) == first


def test_combinations_are_those_of_their_parts() -> None:
    parts = {a: On(aspect=a, base=nDCG @ 10, aspects=HEALTH) for a in HEALTH}
    values = per_query([CAM_10, *parts.values(), MM(base=nDCG, aspects=HEALTH) @ 10])
    for qid in QIDS:
        relevance, readability = (values[qid, str(part)] for part in parts.values())
        assert values[qid, str(CAM_10)] == pytest.approx((relevance + readability) / 2, abs=1e-12)
        harmonic = 2 * relevance * readability / (relevance + readability)
        assert values[qid, str(MM(base=nDCG, aspects=HEALTH) @ 10)] == pytest.approx(
            harmonic, abs=1e-12
        )
    plain = per_query([nDCG @ 10])
    for qid in QIDS:
        assert values[qid, str(parts["relevance"])] == pytest.approx(
            plain[qid, "nDCG@10"], abs=1e-9
        )


@pytest.mark.filterwarnings("ignore:.* is lower-is-better")
@pytest.mark.parametrize("measure", [*ALL, *DECLARED], ids=str)
def test_measures_parse_from_what_they_print(measure: Measure) -> None:
    for parsed in (
        ir_measures.parse_measure(str(measure)),
        *ir_measures.parse_trec_measure(str(measure)),
    ):
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
        assert all(
            isinstance(param.desc, str) and param.desc
            for param in measure.SUPPORTED_PARAMS.values()
        )
        if not any(param.required for param in measure.SUPPORTED_PARAMS.values()):
            assert ir_measures.DefaultPipeline.supports(measure)
    assert [type(p).__name__ for p in ir_measures.DefaultPipeline.providers].count(
        "MultiAspectProvider"
    ) == 1


def test_what_the_provider_needs_is_told() -> None:
    assert set(ir_measures.run_inputs([TOMA_10])) == {"query_id", "doc_id", "score"}
    assert set(ir_measures.qrel_inputs([TOMA_10])) == {
        "query_id",
        "doc_id",
        "relevance",
        "readability",
    }


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


def label_mapper(*aspects: str) -> Callable[[int, int], dict[str, int]]:
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
    "dict of dicts": lambda: nested(label_mapper("relevance", "readability")),
    "dict of dicts in PyTerrier's words": lambda: nested(label_mapper("label", "readability")),
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


@pytest.mark.every(4)
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
    "generator of ScoredDocs": lambda: (
        ir_measures.ScoredDoc(*row) for row in IR_RUN.itertuples(index=False)
    ),
    "integer scores": lambda: SCORES.astype({"score": int}),
    "read-only": lambda: SCORES.copy(deep=True),
}


@pytest.mark.every(2)
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
            "EhealthQrel",
            [*common, ("trustworthiness", int), ("understandability", int), ("iteration", str)],
        ),
        "MisinfoQrel": NamedTuple(
            "MisinfoQrel", [*common, ("effectiveness", int), ("redibility", int)]
        ),
        "ToucheQualityQrel": NamedTuple(
            "ToucheQualityQrel", [*common, ("quality", int), ("iteration", str)]
        ),
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


@pytest.mark.every(5)
@pytest.mark.filterwarnings("ignore:.*codes of categories:pt_multiaspect.MultiAspectWarning")
@pytest.mark.parametrize("origin", ["real", "own"])
@pytest.mark.parametrize("shape", ["list", "generator", "frame"])
@pytest.mark.parametrize(
    ("name", "fields", "aspects"),
    [
        (
            "EhealthQrel",
            ["relevance", "trustworthiness", "understandability"],
            ["relevance", "trustworthiness", "understandability"],
        ),
        # ir_datasets misspells the last field.
        (
            "MisinfoQrel",
            ["relevance", "effectiveness", "redibility"],
            ["relevance", "effectiveness", "credibility"],
        ),
        ("ToucheQualityQrel", ["relevance", "quality"], ["relevance", "quality"]),
        ("ToucheQualityComparativeStanceQrel", ["relevance", "quality"], ["relevance", "quality"]),
    ],
    ids=["Ehealth", "Misinfo", "ToucheQuality", "ToucheQualityComparativeStance"],
)
def test_qrels_of_ir_datasets(
    name: str, fields: list[str], aspects: list[str], shape: str, origin: str
) -> None:
    """Rows of the classes of ir_datasets are qrels, of which the fields with labels are aspects."""
    if origin == "real":
        pytest.importorskip("ir_datasets")
    classes = _ir_datasets_classes() if origin == "real" else _own_classes()
    qrel_class: Any = classes[name]
    stances = list(classes["Stance"])  # type: ignore[call-overload]
    rows = []
    for index, (qid, docno, relevance, readability) in enumerate(ROWS):
        labels = dict(zip(fields, (relevance, readability, index % 4), strict=False))
        values = {
            "query_id": qid,
            "doc_id": docno,
            "iteration": "0",
            "stance": stances[index % 2],
            **labels,
        }
        rows.append(qrel_class(**{field: values[field] for field in qrel_class._fields}))
    qrels: Any = rows
    if shape == "generator":
        qrels = (row for row in rows)
    elif shape == "frame":
        qrels = pd.DataFrame(rows)

    def warns_if_misspelt() -> Any:
        """A context that expects a warning of the misspelt field, if there is one."""
        if fields == aspects:
            return nullcontext()
        message = "redibility .* is read as credibility"
        return pytest.warns(ma.MultiAspectWarning, match=message)

    assert ma.Judgments(rows).label_names == tuple(aspects)
    scales = dict(zip(aspects, (2, 3, 3), strict=False))
    measures = [NLRE @ 10, CAM, TOMA(aspects=scales) @ 10]
    with warns_if_misspelt():
        values_of_rows = per_query(measures, qrels)
    expected_frame = pd.DataFrame(rows)[["query_id", "doc_id", *fields]]
    expected_frame.columns = ["query_id", "doc_id", *aspects]
    assert values_of_rows == per_query(measures, expected_frame)
    # Measures of ir-measures, which take the relevance, beside those of this package.
    with warns_if_misspelt():
        mixed = per_query([CAM, nDCG @ 10], rows)
    assert mixed["q1", "nDCG@10"] == per_query([nDCG @ 10])["q1", "nDCG@10"]


# --- bases that ir-measures computes ------------------------------------------------------------


def rescore_run(run: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The run with scores n - rank + 1, on which the general road evaluates."""
    return {
        qid: {
            docno: float(rank)
            for rank, docno in enumerate(sorted(docs, key=lambda d: (np.float32(docs[d]), d)), 1)
        }
        for qid, docs in run.items()
    }


def share_found(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
    """The fraction of the relevance of a query that the run retrieves."""
    retrieved = qrels[qrels["doc_id"].isin(run["doc_id"])]["relevance"].clip(lower=0).sum()
    return float(retrieved / max(qrels["relevance"].clip(lower=0).sum(), 1))


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


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "base",
    [
        *GENERAL,
        ir_measures.define_byquery(share_found),
        ir_measures.define_byquery(share_found) @ 3,
    ],
    ids=str,
)
def test_general_road(base: Any) -> None:
    if str(base).startswith("INST"):
        pytest.importorskip("cwl")  # of cwl-eval
    measure = ir_measures.parse_measure(base) if isinstance(base, str) else base
    on = {aspect: On(aspect=aspect, base=base) for aspect in HEALTH}
    cam, gam = (
        CAM(base=base, aspects="relevance,readability"),
        GAM(base=base, aspects="relevance,readability"),
    )
    run = rescore_run(RUN)
    values = per_query([*on.values(), cam, gam])
    for aspect in HEALTH:
        column = IR_QRELS[["query_id", "doc_id"]].assign(relevance=IR_QRELS[aspect])
        for metric in ir_measures.iter_calc([measure], column, run):
            value = values[metric.query_id, str(on[aspect])]
            assert value == pytest.approx(metric.value, abs=1e-9), (aspect, metric)
    for qid in QIDS:
        scores = [values[qid, str(on[aspect])] for aspect in HEALTH]
        assert values[qid, str(cam)] == pytest.approx(sum(scores) / 2, abs=1e-12)
        assert values[qid, str(gam)] == pytest.approx((scores[0] * scores[1]) ** 0.5, abs=1e-12)
    if isinstance(base, str):
        assert ir_measures.parse_measure(str(cam)) == cam


def test_general_road_under_toma() -> None:
    """TOMA over a general base is the base on the classes."""
    classes = ma.DistanceOrder(HEALTH, "manhattan").classes(
        IR_QRELS[["relevance", "readability"]].to_numpy()
    )
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
        for metric in ir_measures.iter_calc([plain], column, rescore_run(RUN)):
            value = values[metric.query_id, str(measure)]
            assert value == pytest.approx(metric.value, abs=1e-9), (str(base), metric.query_id)


def test_a_base_in_pt_experiment_without_a_kernel() -> None:
    metrics = [
        CAM(base="Compat(p=0.8)", aspects=HEALTH),
        "On(aspect='readability',base='Bpref')",
        "Bpref",
    ]
    table = experiment(metrics)
    assert set(table.columns) == {"name", *map(str, metrics)}
    assert table[[str(metric) for metric in metrics]].notna().all(axis=None)


# --- names, registration, entry point ---------------------------------------------------------


def test_registering_twice_changes_nothing() -> None:
    registry = dict(ir_measures.measures.registry)
    providers = list(ir_measures.DefaultPipeline.providers)
    provider.register()
    provider.register()
    assert ir_measures.measures.registry == registry
    assert ir_measures.DefaultPipeline.providers == providers


@pytest.mark.slow
def test_ir_measures_alone_is_enough() -> None:
    """Neither PyTerrier nor what only some doors need is imported with the package."""
    result = run_python(
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
    assert result == [[0.75], []]


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
    qrels = {{"q": {{"d1": {{"relevance": 1, "credibility": 0}}, "d2": {{"relevance": 1, "credibility": 1}}}}}}
    run = {{"q": {{"d1": 2.0, "d2": 1.0}}}}
    own = ma.{name}(base="AP", aspects={{"relevance": 1, "credibility": 1}})
    registry = ir_measures.measures.registry
    print(json.dumps({{
        "registered is foreign": registry["{name}"] is foreign,
        "parsed is foreign": type(ir_measures.parse_measure("{name}")) is Foreign,
        "others are ours": all(registry[m.NAME] is m for m in ma.measures.ALL if m.NAME != "{name}"),
        "messages": [str(w.message) for w in caught if issubclass(w.category, ma.MultiAspectWarning)],
        "own value": own.calc_aggregate(qrels, run),
    }}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("imports", ["import pt_multiaspect", "import pyterrier"])
def test_a_name_that_another_package_has_stays_its_own(imports: str) -> None:
    """If another package has registered a measure CAM, ours is available from Python only."""
    # FOREIGN is a script that registers a measure, imports this package, and prints what it finds.
    result = run_python(FOREIGN.format(name="CAM", imports=imports))
    assert result["registered is foreign"]
    assert result["parsed is foreign"]
    assert result["others are ours"]
    (message,) = result["messages"]
    assert "CAM" in message
    assert "another package" in message
    assert "pt_multiaspect.CAM" in message
    # AP of relevance is 1; the only credible document is at rank 2.
    assert result["own value"] == (1 + 0.5) / 2


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


@pytest.mark.slow
def test_pickled_measures_carry_the_names_they_print() -> None:
    named = Aspects({"relevance": 2, "readability": Aspect(3, threshold=2)}, name="pickled-health")
    order = Order(
        {(0, 0): 0, (0, 1): 0, (1, 0): 1, (1, 1): 2},
        ["relevance", "credibility"],
        name="pickled-order",
    )
    measures: list[Measure] = [
        TOMA(aspects=named) @ 10,
        CAM(base=nDCG @ 10, aspects=named),
        MM(base={"relevance": AP, "readability": P @ 5}, aspects=named),
        URBP(p=0.7, aspects=named),
        NGRE(aspects=named),
    ]
    assert str(measures[0]) == "TOMA(aspects='pickled-health')@10"
    content = base64.b64encode(pickle.dumps((measures, IR_QRELS, RUN))).decode()
    printed, parsed, values = run_python(UNPICKLE, stdin=content, env={"PYTHONHASHSEED": "7"})
    assert printed == list(map(str, measures))
    assert parsed
    assert {tuple(key): value for key, value in values} == per_query(measures)

    binary = IR_QRELS.assign(
        relevance=(IR_QRELS["relevance"] > 0) * 1, credibility=IR_QRELS["readability"] % 2
    )
    with_order = [TOMA(order=order) @ 10]
    assert str(with_order[0]) == "TOMA(order='pickled-order')@10"
    content = base64.b64encode(pickle.dumps((with_order, binary, RUN))).decode()
    printed, parsed, values = run_python(UNPICKLE, stdin=content)
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
    assert {(m.query_id, str(m.measure)): m.value for m in evaluator.iter_calc(RUN)} == per_query(
        [TOMA_10]
    )


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


@pytest.mark.slow
def test_warnings_of_many_runs_are_given_once_and_here() -> None:
    """A warning about the qrels is given once per call, not once per run, for the line of the call."""
    frame = pd.DataFrame({"qid": "q", "docno": ["a", "b"], "label": [1, 0], "credibility": [0, 2]})
    runs = {str(i): {"q": {"a": 1.0}} for i in range(4)}

    def warnings_of_call() -> list[warnings.WarningMessage]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", message="TOMA has no gate")
            ma.evaluate(runs, frame, ma.TOMA(distance=3), progress=False)
        return [item for item in caught if issubclass(item.category, ma.MultiAspectWarning)]

    (warning,) = warnings_of_call()
    assert warning.filename == __file__
    assert "as in TOMA(distance=3,aspects={'relevance': 1, 'credibility': 2})" in str(
        warning.message
    )
    again = warnings_of_call()
    assert len(again) <= 1
    assert all(warning.filename == __file__ for warning in again)
