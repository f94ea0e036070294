"""Aliases of measures: `ma.alias`, at every door."""

from __future__ import annotations

import pickle
from typing import Any

import ir_measures
import pandas as pd
import pyterrier as pt
import pytest
from door_world import (
    CAM_10,
    FIRST,
    HEALTH,
    QRELS,
    SYSTEM_NAMES,
    SYSTEMS,
    TOMA_10,
    TOPICS,
    Readable,
)
from frame_world import evaluate_in_processes
from ir_measures import nDCG

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

OVERALL = ma.alias("overall", CAM_10)
NAMED = dict(zip(SYSTEM_NAMES, SYSTEMS, strict=True))


def test_an_alias_is_a_text_that_carries_its_measure() -> None:
    for read in (OVERALL, pickle.loads(pickle.dumps(OVERALL))):
        assert isinstance(read, str)
        assert read == "overall" == str(read)
        assert ir_measures.parse_trec_measure(read) == [CAM_10]


@pytest.mark.every(3)
@pytest.mark.parametrize("perquery", [False, True, "both"])
def test_an_alias_is_the_column_in_an_experiment(perquery) -> None:
    def tables(metrics: list[Any]) -> list[pd.DataFrame]:
        result: Any = pt.Experiment(
            SYSTEMS, TOPICS, QRELS, metrics, names=SYSTEM_NAMES, perquery=perquery
        )
        return list(result) if perquery == "both" else [result]

    plain = tables([nDCG @ 10, CAM_10, TOMA_10, "map"])
    labelled = tables([nDCG @ 10, OVERALL, TOMA_10, "map"])
    for result, expected in zip(labelled, plain, strict=True):
        wanted = expected.rename(columns={str(CAM_10): "overall"})
        if "measure" in wanted:
            wanted["measure"] = wanted["measure"].replace(str(CAM_10), "overall")
            keys = ["name", "qid", "measure"]
            result, wanted = (
                frame.sort_values(keys, ignore_index=True) for frame in (result, wanted)
            )
        pd.testing.assert_frame_equal(result[wanted.columns.tolist()], wanted, check_dtype=False)


def test_options_of_an_experiment_by_alias() -> None:
    metrics = [OVERALL, "nDCG@10"]
    table = pt.Experiment(
        SYSTEMS, TOPICS, QRELS, metrics, names=SYSTEM_NAMES, baseline=0, round={"overall": 2}
    )
    assert "overall p-value" in table
    assert (table["overall"] == table["overall"].round(2)).all()


def grid() -> tuple[Any, dict[Any, Any]]:
    readable = Readable()
    return FIRST >> readable, {readable: {"weight": [0.0, 5.0, 20.0, 80.0]}}


@pytest.fixture
def measure_and_alias(jobs: int) -> tuple[ma.Measure, ma.Measure]:
    """Return a measure with named scales and its alias, both made when the processes already run."""
    pipeline, params = grid()
    pt.GridScan(pipeline, params, TOPICS, QRELS, ["map"], jobs=jobs)  # starts the processes
    scales = ma.Aspects(
        {"relevance": 2, "readability": ma.Aspect(3, threshold=1)}, name=f"test-labels-{jobs}"
    )
    measure = ma.CAM(aspects=scales) @ 5
    return measure, ma.alias("late", measure)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_grid_scans(jobs: int, measure_and_alias: tuple[ma.Measure, ma.Measure]) -> None:
    measure, alias = measure_and_alias
    pipeline, params = grid()
    scan = pt.GridScan(pipeline, params, TOPICS, QRELS, [alias, nDCG @ 10], jobs=jobs)
    expected = pt.GridScan(pipeline, params, TOPICS, QRELS, [measure, nDCG @ 10])
    assert scan["late"].tolist() == expected[str(measure)].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_grid_searches(jobs: int, measure_and_alias: tuple[ma.Measure, ma.Measure]) -> None:
    pipeline, params = grid()
    by_measure, by_alias = [
        pt.GridSearch(
            pipeline, params, TOPICS, QRELS, metric=metric, jobs=jobs, return_type="best_setting"
        )
        for metric in measure_and_alias
    ]
    assert str(by_alias) == str(by_measure)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_grid_searches_with_folds(
    jobs: int, measure_and_alias: tuple[ma.Measure, ma.Measure]
) -> None:
    measure, alias = measure_and_alias
    pipeline, params = grid()
    folds = [TOPICS[:3], TOPICS[3:]]
    expected_results, expected_settings = pt.KFoldGridSearch(
        pipeline, params, folds, QRELS, metric=measure, jobs=jobs
    )
    results, settings = pt.KFoldGridSearch(pipeline, params, folds, QRELS, metric=alias, jobs=jobs)
    pd.testing.assert_frame_equal(results, expected_results)
    assert str(settings) == str(expected_settings)


@pytest.mark.slow
def test_tables_and_reports_define_aliases_in_a_note() -> None:
    values = ma.evaluate(NAMED, QRELS, [OVERALL, nDCG @ 10], topics=TOPICS)
    assert values["measure"].unique().tolist() == ["overall", "nDCG@10"]
    assert {type(label) for label in values["measure"]} == {str}
    table = ma.systems_table(values, notes="full")
    assert str(CAM_10) in "".join(str(table).split())
    assert "overall" in table.to_latex()
    experiment = pt.Experiment(
        SYSTEMS, TOPICS, QRELS, [OVERALL, nDCG @ 10], names=SYSTEM_NAMES, perquery=True
    )
    assert str(CAM_10) in "".join(str(ma.systems_table(experiment, notes="full")).split())
    report = ma.report(NAMED, QRELS, [OVERALL], aspects=HEALTH, topics=TOPICS, progress=False)
    assert "overall" in report.labels
    assert str(CAM_10) in "".join(str(report).split())


def test_other_doors() -> None:
    run = {"first": FIRST.transform(TOPICS)}
    assert str(ma.explain(OVERALL, run, QRELS, "q1")).startswith("overall\n")
    assert ma.analysis.upper_bound(QRELS, OVERALL)["bound"].tolist() == (
        ma.analysis.upper_bound(QRELS, CAM_10)["bound"].tolist()
    )
    assert ma.describe(QRELS, HEALTH, measures=[OVERALL]).measures["measure"].unique().tolist() == [
        "overall"
    ]
    labelled, plain = (evaluate_in_processes(run, QRELS, measure) for measure in (OVERALL, CAM_10))
    assert labelled["value"].tolist() == plain["value"].tolist()
    effort = ma.alias("effort", ma.ESL)
    assert pt.Experiment(list(run.values()), TOPICS, QRELS, [effort]).columns.tolist() == [
        "name",
        "effort",
    ]
    pipeline, params = grid()
    with pytest.warns(ma.MultiAspectWarning, match="effort: lower is better"):
        pt.GridSearch(pipeline, params, TOPICS, QRELS, metric=effort)


@pytest.mark.parametrize("name", ["overall", "readability", "scaled sum"])
def test_targets(name) -> None:
    """Also with the name of an aspect, which is a target too."""
    labels, expected = (
        ma.aggregate_labels(QRELS, target).values for target in (ma.alias(name, CAM_10), CAM_10)
    )
    pd.testing.assert_frame_equal(labels, expected)


@pytest.mark.parametrize(
    ("name", "measure", "message"),
    [
        (
            "CAM@10",
            TOMA_10,
            r"'CAM@10' is the name of a measure .*; use another name, such as 'TOMA@10'",
        ),
        (
            "TOMA@5",
            TOMA_10,
            r"'TOMA@5' is the name of a measure .*; use another name, such as 'TOMA@10'",
        ),
        ("TOMA(distance=1)", TOMA_10, "is the name of a measure"),
        ("AP(rel=2)", "AP", r"is the name of a measure .*, such as 'AP'"),
        ("AP", ma.On(base="AP", aspect="credibility"), "is the name of a measure"),
        ("map", CAM_10, r"'map' is the name of a measure \(AP\)"),
        ("P", CAM_10, r"'P' is the name of a measure \(P@5, P@10, P@15\)"),
        ("P@5", "P@7", "'P@5' is the name of a measure"),
        ("cam_map", CAM_10, "'cam_map' is the name of a measure"),
        ("cam", TOMA_10, "'cam' is the name of a measure"),
        ("", CAM_10, "expected a name that is not empty, got ''"),
        (" ", CAM_10, "expected a name that is not empty"),
        (CAM_10, "overall", r"expected the name first, as in alias\('mine', CAM"),
        ("mrt", CAM_10, "'mrt' of a measure is the name of another column"),
        ("name", CAM_10, "'name' of a measure is the name of another column"),
        ("overall", "P", "expected one measure, but 'P' expands to 9"),
        ("overall", "nDGC", "the nearest names are"),
        ("overall", 3, "expected a measure or a string"),
    ],
)
def test_wrong_aliases(name, measure, message) -> None:
    with pytest.raises(MultiAspectError, match=message):
        ma.alias(name, measure)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("TOMA", TOMA_10),
        ("TOMA@10", TOMA_10),
        (str(CAM_10), CAM_10),
        ("CAM(base=nDCG@10)", CAM_10),
        ("CAM@5", ma.CAM(base="nDCG@5", weights={"relevance": 1, "readability": 2})),
        ("nDCG@10", ma.On(base="nDCG@10")),
        ("map", "AP(rel=2)"),
        ("P", "P@10"),
        ("P", "P@7"),
        ("P", "P(rel=2)@7"),
    ],
)
def test_an_alias_may_be_a_name_of_the_measure(name: str, measure: Any) -> None:
    named = ma.alias(name, measure)
    assert named == name
    values = [
        ma.evaluate(NAMED, QRELS, [given], topics=TOPICS, progress=False)
        for given in (named, measure)
    ]
    assert values[0]["value"].tolist() == values[1]["value"].tolist()
    table = pt.Experiment(SYSTEMS, TOPICS, QRELS, [named], names=SYSTEM_NAMES)
    assert table[name].tolist() == pytest.approx(ma.aggregate(values[0])[name].tolist())


def test_an_alias_beside_a_measure_of_its_name() -> None:
    """They are two measures."""
    gated = ma.alias("TOMA", "TOMA(gate='relevance')@5")
    for evaluate in (pt.Experiment, ma.evaluate):
        inputs = (SYSTEMS, TOPICS, QRELS) if evaluate is pt.Experiment else (NAMED, QRELS)
        with pytest.raises(MultiAspectError, match=r"two different measures .*'TOMA'"):
            evaluate(*inputs, [gated, "TOMA"])


def test_an_alias_of_an_alias_renames_it() -> None:
    assert ir_measures.parse_trec_measure(ma.alias("all", OVERALL)) == [CAM_10]


def test_one_alias_of_two_measures() -> None:
    with pytest.raises(MultiAspectError, match=r"two different.*'overall'"):
        ma.evaluate(NAMED, QRELS, [OVERALL, ma.alias("overall", TOMA_10)], topics=TOPICS)


@pytest.mark.parametrize("door", ["Experiment", "GridScan"])
def test_one_alias_of_two_measures_in_pyterrier(door) -> None:
    """PyTerrier would show the values of one of them."""
    systems = (SYSTEMS,) if door == "Experiment" else grid()
    with pytest.raises(MultiAspectError, match=r"two different.*'overall'"):
        getattr(pt, door)(*systems, TOPICS, QRELS, [OVERALL, ma.alias("overall", TOMA_10)])


@pytest.mark.parametrize(
    ("name", "measure"),
    [("overall", CAM_10), ("overall", "CAM@10"), ("map", nDCG @ 10)],
    ids=["an object", "a string", "a name that is a measure"],
)
def test_a_mapping_of_aliases_in_pyterrier_names_the_function(name: str, measure: Any) -> None:
    """PyTerrier takes keys for measures: the error says to use [pt_multiaspect.alias('overall', …)].

    Without it, 'overall' would be unknown, and the values of 'map' would be those of AP.
    """
    message = rf"'{name}' is an alias here.*\[pt_multiaspect\.alias\('{name}', "
    with pytest.raises(MultiAspectError, match=message):
        pt.Experiment([FIRST], TOPICS, QRELS, {name: measure})
    pipeline, params = grid()
    with pytest.raises(MultiAspectError, match=message):
        pt.GridScan(pipeline, params, TOPICS, QRELS, {name: measure})


def test_a_mapping_that_pyterrier_reads_remains() -> None:
    for metrics in ({"map": 1, "P_5": 2}, {"map": ir_measures.AP}, {"map": "AP"}):
        assert pt.Experiment([FIRST], TOPICS, QRELS, metrics, names=["first"])["map"].item() > 0


@pytest.mark.parametrize("other", [ma.alias("second", CAM_10), str(CAM_10)], ids=["alias", "name"])
def test_two_aliases_of_a_measure_in_pyterrier(other: str) -> None:
    """PyTerrier shows the last one only."""
    expected = f"has the alias 'overall' and is also given as {other!r}"
    with pytest.raises(MultiAspectError) as caught:
        pt.Experiment([FIRST], TOPICS, QRELS, [OVERALL, "map", other])
    assert expected in str(caught.value)
    pipeline, params = grid()
    with pytest.raises(MultiAspectError) as caught:
        pt.GridScan(pipeline, params, TOPICS, QRELS, [OVERALL, other])
    assert expected in str(caught.value)


def test_an_alias_beside_its_measure_and_given_twice() -> None:
    table = pt.Experiment([FIRST], TOPICS, QRELS, [CAM_10, OVERALL, OVERALL], names=["first"])
    assert table.columns.tolist() == ["name", "overall"]
    twice = [OVERALL, ma.alias("second", CAM_10)]
    values = ma.evaluate({"first": FIRST}, QRELS, twice, topics=TOPICS, progress=False)
    assert set(values["measure"]) == {"overall", "second"}
