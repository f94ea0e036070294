"""PyTerrier beside plugins that wrap its functions, before and after this package."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from door_world import FIRST, IR_QRELS, IR_RUN, QRELS, SCORES, TOPICS, Readable, run_python

import pt_multiaspect as ma
import pt_multiaspect_pyterrier
from pt_multiaspect.integration import pyterrier

pytestmark = pytest.mark.filterwarnings("ignore:There are shared pipeline components")

FUNCTIONS = ("Experiment", "GridScan", "GridSearch", "KFoldGridSearch")


def wrap_with_wraps(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def log_call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return log_call


def wrap_barely(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: function(*args, **kwargs)


def wrap_with_an_option(function: Callable[..., Any]) -> Callable[..., Any]:
    def track_call(*args: Any, tracker: object = None, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return track_call


class Proxy:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


WRAPPERS = {
    "wraps": wrap_with_wraps,
    "bare": wrap_barely,
    "option": wrap_with_an_option,
    "partial": functools.partial,
    "partial of bare": lambda function: functools.partial(wrap_barely(function)),
    "object": Proxy,
}


@pytest.fixture(autouse=True)
def restore_pyterrier() -> Iterator[None]:
    pyterrier.uninstall()
    modules = {(pt, name): getattr(pt, name) for name in FUNCTIONS}
    modules[ir_measures, "parse_trec_measure"] = ir_measures.parse_trec_measure
    assert not pt_multiaspect_pyterrier._originals
    yield
    pt_multiaspect_pyterrier._originals.clear()
    for (module, name), function in modules.items():
        setattr(module, name, function)
    pyterrier.install()


def install_beside(wrap: Callable[..., Any], order: str) -> None:
    """Let another plugin wrap the functions, and install the patches again, as the import of the package does."""
    if order == "after":
        pyterrier.install()
    for name in FUNCTIONS:
        setattr(pt, name, wrap(getattr(pt, name)))
    pyterrier.install()
    pyterrier.install()


BESIDE = [
    pytest.mark.parametrize("order", ["before", "after"]),
    pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS),
]


def mark_beside(test: Callable[..., Any]) -> Callable[..., Any]:
    for mark in BESIDE:
        test = mark(test)
    return test


CG, ESL = ma.CG @ 10, ma.ESL(rel=1)
MEASURES: list[Any] = ["map", ir_measures.nDCG @ 10, CG, "ESL(rel=1)"]


def grid() -> tuple[pt.Transformer, Readable, dict[Any, Any]]:
    readable = Readable()
    return FIRST >> readable, readable, {readable: {"weight": [0.0, 20.0]}}


@pytest.mark.every(6)
@mark_beside
def test_experiments(wrap: Any, order: str) -> None:
    names = [str(measure) for measure in MEASURES]
    expected = ma.aggregate(ma.evaluate({"run": SCORES}, QRELS, MEASURES, progress=False))[names]
    install_beside(wrap, order)
    for _ in range(2):
        by_position = pt.Experiment([SCORES], TOPICS, QRELS, MEASURES, ["run"])
        by_name = pt.Experiment(
            retr_systems=[SCORES], topics=TOPICS, qrels=QRELS, eval_metrics=MEASURES, names=["run"]
        )
        for table in (by_position, by_name):
            pd.testing.assert_frame_equal(table[names], expected, check_names=False)
        standard = pt.Experiment([SCORES], TOPICS, QRELS, ["map", "P_5"], names=["run"])
        assert standard["map"].item() == expected["map"].item()
    values = pt.Experiment([SCORES], TOPICS, QRELS, MEASURES, names=["run"], perquery=True)
    pd.testing.assert_frame_equal(ma.aggregate(values)[names], expected, check_names=False)


@pytest.mark.every(4)
@mark_beside
def test_warnings_come_once(wrap: Any, order: str) -> None:
    install_beside(wrap, order)
    with pytest.warns(ma.MultiAspectWarning, match="baseline= counts") as caught:
        pt.Experiment([FIRST, FIRST >> Readable(5.0)], TOPICS, QRELS, [ESL, CG], baseline=0)
    assert len([warning for warning in caught if warning.category is ma.MultiAspectWarning]) == 1
    pipeline, _, params = grid()
    with pytest.warns(ma.MultiAspectWarning, match="pt.GridSearch selects the highest") as caught:
        pt.GridSearch(pipeline, params, TOPICS, QRELS, ESL)
    assert len([warning for warning in caught if warning.category is ma.MultiAspectWarning]) == 1


@pytest.mark.every(8)
@mark_beside
def test_grids(wrap: Any, order: str) -> None:
    measure = ma.TOMA(aspects={"relevance": 2, "readability": 3}) @ 10
    label = ma.alias("ours", measure)
    pyterrier.install()
    pipeline, _, params = grid()
    expected = pt.GridScan(pipeline, params, TOPICS, QRELS, [label, "map"])
    pyterrier.uninstall()
    install_beside(wrap, order)
    for _ in range(2):
        table = pt.GridScan(pipeline, params, TOPICS, QRELS, [measure, "map"])
        assert table[str(measure)].tolist() == expected["ours"].tolist()
        assert table["map"].tolist() == expected["map"].tolist()
        assert (
            pt.GridScan(pipeline, params, TOPICS, QRELS)["map"].tolist() == expected["map"].tolist()
        )
        for metric in (measure, label, str(measure)):
            best, _ = pt.GridSearch(
                pipeline, params, TOPICS, QRELS, metric, return_type="best_setting"
            )
            assert best == expected["ours"].max()
        _, settings = pt.KFoldGridSearch(
            pipeline, params, [TOPICS[:3], TOPICS[3:]], QRELS, metric=measure
        )
        assert len(settings) == 2


@pytest.mark.every(3)
@mark_beside
def test_errors_are_those_of_pyterrier(wrap: Any, order: str) -> None:
    """Calls with wrong arguments raise what Python raises for PyTerrier's functions."""
    install_beside(wrap, order)
    with pytest.raises(TypeError, match=r"missing 2"):
        pt.Experiment([SCORES], TOPICS)
    with pytest.raises(TypeError, match=r"multiple values|unknown"):
        pt.Experiment([SCORES], TOPICS, QRELS, ["map"], eval_metrics=["map"])
    pipeline, _, params = grid()
    with pytest.raises(TypeError, match=r"multiple values|unknown"):
        pt.GridScan(pipeline, params, TOPICS, QRELS, ["map"], unknown=1)


@pytest.mark.parametrize("order", ["before", "after"])
def test_arguments_of_partial_functions(order: str) -> None:
    """The systems, the measures and options are already given."""

    def wrap(function: Any) -> Any:
        return functools.partial(function, [SCORES], round=2, eval_metrics=[CG], perquery=True)

    if order == "after":
        pyterrier.install()
    pt.Experiment = wrap(pt.Experiment)
    pyterrier.install()
    table = pt.Experiment(TOPICS, QRELS, names=["run"])
    assert set(table["measure"]) == {str(CG)}
    expected = ir_measures.calc_aggregate([CG], IR_QRELS, IR_RUN)[CG]
    assert ma.aggregate(table)[str(CG)].item() == pytest.approx(expected, abs=0.05)


def test_a_wrapper_with_parameters_of_its_own() -> None:
    """The measures of its `metrics` are read when it calls PyTerrier, as `eval_metrics` of that."""
    original = pt.Experiment

    def compare(systems: Any, *, metrics: Any, table: bool = True) -> Any:
        return original(systems, TOPICS, QRELS, metrics, names=["run"], dataframe=table)

    pt.Experiment = compare
    pyterrier.install()
    metrics = ["map", ma.alias("gained", CG)]
    expected = ma.aggregate(ma.evaluate({"run": SCORES}, QRELS, metrics, progress=False))
    table = pt.Experiment([SCORES], metrics=metrics)
    for label in ("map", "gained"):
        assert table[label].item() == pytest.approx(expected[label].item(), abs=1e-12)


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_wrappers_of_the_original_are_replaced(wrap: Any) -> None:
    """Another package put its wrapper of PyTerrier's function in the place of the replacement."""
    original = pt.Experiment
    pyterrier.install()
    pt.Experiment = wrap(original)
    pyterrier.install()
    expected = ma.aggregate(ma.evaluate({"run": SCORES}, QRELS, [CG], progress=False))[
        str(CG)
    ].item()
    table = pt.Experiment([SCORES], TOPICS, QRELS, [CG], names=["run"])
    assert table[str(CG)].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_names_that_other_plugins_read(wrap: Any, order: str) -> None:
    """Another plugin wraps the function that reads names, before or after this package, to read "mine"."""

    def read_more(function: Any) -> Any:
        wrapped = wrap(function)

        def read(name: str) -> Any:
            if name == "mine":
                return [ir_measures.AP @ 3]
            return wrapped(name)

        return read

    if order == "after":
        pyterrier.install()
    ir_measures.parse_trec_measure = read_more(ir_measures.parse_trec_measure)
    pyterrier.install()
    pyterrier.install()
    assert ir_measures.parse_trec_measure("TOMA@10") == [ma.TOMA @ 10]
    assert ir_measures.parse_trec_measure("map") == [ir_measures.AP]
    if order == "after":  # the plugin is the outermost
        assert ir_measures.parse_trec_measure("mine") == [ir_measures.AP @ 3]


def test_uninstall_keeps_other_wrappers() -> None:
    pyterrier.install()
    ours = pt.GridScan
    pt.Experiment = wrapper = wrap_barely(pt.Experiment)
    pyterrier.uninstall()
    assert pt.Experiment is wrapper
    assert pt.GridScan is not ours
    assert pt.Experiment([SCORES], TOPICS, QRELS, ["map"], names=["run"])["map"].item() > 0
    pyterrier.install()
    assert pt.Experiment is wrapper


def test_signatures_are_those_of_pyterrier() -> None:
    before = inspect.signature(pt.Experiment)
    pyterrier.install()
    assert inspect.signature(pt.Experiment) == before


# --- real imports -----------------------------------------------------------------------------

NEIGHBOUR = """
import functools, json, sys
import pandas as pd
import ir_measures

def wrap(function):
    {wrapper}

def load():
    import pyterrier
    for name in ("Experiment", "GridScan", "GridSearch", "KFoldGridSearch"):
        setattr(pyterrier, name, wrap(getattr(pyterrier, name)))
    ir_measures.parse_trec_measure = wrap(ir_measures.parse_trec_measure)

import pyterrier as pt
if {first}:
    sys.modules["pt_multiaspect_pyterrier"].uninstall()
    load()
    sys.modules["pt_multiaspect_pyterrier"].load()
else:
    load()
qrels = pd.DataFrame([("q1", "d1", 1), ("q2", "d2", 1)], columns=["qid", "docno", "label"])
run = pd.DataFrame([("q1", "d1", 1.0), ("q2", "d1", 2.0), ("q2", "d2", 1.0)], columns=["qid", "docno", "score"])
topics = pd.DataFrame({{"qid": ["q1", "q2"], "query": "x"}})
values = []
for metrics in (["map", "P_1"], ["map", "CG"], ["map", "CG"]):
    table = pt.Experiment([run], topics, qrels, metrics)
    values.append(table.loc[0, metrics].tolist())
print(json.dumps([values, "pt_multiaspect" in sys.modules]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(
    "wrapper",
    [
        "return functools.wraps(function)(lambda *args, **kwargs: function(*args, **kwargs))",
        "return lambda *args, **kwargs: function(*args, **kwargs)",
        "return functools.partial(function)",
    ],
    ids=["wraps", "bare", "partial"],
)
def test_plugins_in_both_orders(wrapper: str, first: bool) -> None:
    """The package is imported by the first name of a measure of it, and patches PyTerrier again.

    The process evaluates map and P_1, then twice map and CG. Of its two topics, the first has the
    relevant document at rank 1, the second at rank 2.
    """
    values, is_imported = run_python(NEIGHBOUR.format(wrapper=wrapper, first=first))
    assert is_imported
    mean_ap, mean_p_1, mean_cg = (1 + 1 / 2) / 2, (1 + 0) / 2, 1
    expected = [[mean_ap, mean_p_1], [mean_ap, mean_cg], [mean_ap, mean_cg]]
    np.testing.assert_allclose(values, expected)
