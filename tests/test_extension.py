"""Measures and distances of users: a base, two means, a joint measure and a distance outside the package."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from comparison import by_force
from frame_world import evaluate_in_processes
from ir_measures import nDCG

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, TOMA, Aspect, Judgments, MultiAspectError, On
from pt_multiaspect.analysis import upper_bound
from pt_multiaspect.collection.rankings import Rankings
from pt_multiaspect.measures.registry import registered_measures
from pt_multiaspect.orders import registered as distances

# -- as users write them
# -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Halving:
    """Halves every few ranks."""

    half: float

    def __call__(self, rank):
        return 0.5 ** ((rank - 1) / self.half)


class _HLU(ma.LinearMeasure):
    """Half-life utility (Breese et al. 1998): gains halve every `half` ranks, over that of the ideal ranking."""

    SUPPORTED_PARAMS = {
        "half": ma.Param(ma.params.real("half", low=0, open_low=True), 5, "ranks"),
        "cutoff": ma.params.CUTOFF,
    }

    def linear(self, target):
        discount = Halving(self["half"])  # a frozen dataclass with __call__(rank)
        norm = target.best_sum(target.gain, discount, self.cutoff)
        return ma.forms.Linear(target, target.gain, discount, norm=norm, depth=self.cutoff)


class _PowerMean(ma.AspectMean):
    """The mean (Σ p_a √μ_a)², between CAM and GAM."""

    NONNEGATIVE = "power"

    def combine(self, values, weights):
        return (weights * np.sqrt(values)).sum(axis=0) ** 2

    def slope(self, values, weights):
        return weights * np.sqrt(self.combine(values, weights) / values)


class _WeakestAspect(ma.AspectMean):
    """The lowest value of any aspect; without a slope."""

    def combine(self, values, weights):
        return values.min(axis=0)


class _LowestGain(ma.JointMeasure):
    """nDCG of the lowest gain a document has in any aspect, times a factor."""

    SUPPORTED_PARAMS = {
        "factor": ma.Param(ma.params.count("factor"), 1, "what gains are multiplied by"),
        **ma.JointMeasure.SUPPORTED_PARAMS,
    }

    def base(self):
        return nDCG(dcg="exp-log2") if self.cutoff is None else nDCG(dcg="exp-log2") @ self.cutoff

    def joint(self, views):
        return ma.Joint(self["factor"] * np.min([view.target.gain for view in views], axis=0))


HLU = ma.register(_HLU)
PowerMean = ma.register(_PowerMean)
WeakestAspect = ma.register(_WeakestAspect)
LowestGain = ma.register(_LowestGain)


@ma.register_distance("relevance-first")
def relevance_first(gaps):
    return 10 * gaps[:, 0] + gaps[:, 1:].sum(axis=1)


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    """Register measures and distance again where a process takes up this module once more."""
    for measure in (_HLU, _PowerMean, _WeakestAspect, _LowestGain):
        ma.register(measure)
    ma.register_distance("relevance-first")(relevance_first)
    yield
    for measure in (HLU, PowerMean, WeakestAspect, LowestGain):
        ir_measures.measures.registry.pop(measure.NAME)
    distances._FUNCTIONS.pop("relevance-first")


BOTH = {"relevance": 2, "credibility": 2}
MEASURES = [
    HLU(half=2) @ 10,
    CAM(base=HLU(half=2), normalized=True, aspects=BOTH) @ 10,
    MM(base="HLU", aspects=BOTH),
    TOMA(base="HLU@5", aspects=BOTH),
    On(aspect="credibility", base=HLU @ 3, aspects=BOTH),
    PowerMean(base=nDCG @ 10, weights={"relevance": 2, "credibility": 1}, aspects=BOTH),
    WeakestAspect(base="AP", aspects=BOTH),
    LowestGain(factor=2, aspects=BOTH) @ 10,
    TOMA(distance="relevance-first", aspects=BOTH) @ 10,
]
QRELS = pd.DataFrame(
    {
        "qid": list("111222"),
        "docno": list("abcabd"),
        "label": [0, 1, 2, 2, 0, 1],
        "credibility": [1, 0, 2, 1, 2, 0],
    }
)
TOPICS = pd.DataFrame({"qid": ["1", "2"], "query": ["one", "two"]})
RUN = pd.DataFrame(
    {"qid": list("111222"), "docno": list("abcabd"), "score": [3.0, 2.0, 1.0, 2.0, 1.0, 3.0]}
)
RUN["rank"] = [0, 1, 2, 1, 2, 0]


def aggregate_value(measure: ma.Measure) -> float:
    return ir_measures.calc_aggregate([measure], QRELS.rename(columns={"label": "relevance"}), RUN)[
        measure
    ]


def run_python(script: str) -> object:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


class _ProductOfGains(ma.JointMeasure):
    """A measure of the product of the gains of all aspects."""

    SUPPORTED_PARAMS = {
        "base": ma.params.base_param("the measure of the products"),
        **ma.JointMeasure.SUPPORTED_PARAMS,
    }

    def base(self):
        return self["base"].one

    def joint(self, views):
        return ma.Joint(np.prod([view.target.gain for view in views], axis=0))


@pytest.mark.parametrize(
    ("base", "value"),
    [
        ("P@1", 0), ("P@2", 0.5), ("P@3", 2 / 3), ("AP", (1 / 2 + 2 / 3) / 2),
        ("P(rel=2)@2", 0), ("P(rel=2)@3", 1 / 3), ("RR(rel=4)", 1 / 3), ("RR(rel=5)", 0),
    ],
)  # fmt: skip
def test_binary_bases_count_joint_gains(base: str, value: float) -> None:
    """Documents with a gain above 0 are relevant, or with `rel`, those with at least that gain."""
    qrels = {
        "q": {docno: dict.fromkeys(BOTH, gain) for docno, gain in [("a", 0), ("b", 1), ("c", 2)]}
    }
    measure = _ProductOfGains(base=base, aspects=BOTH)
    assert measure.calc_aggregate(qrels, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}) == pytest.approx(
        value, abs=1e-12
    )


# -- at every door
# ---------------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_objects_and_strings_are_the_same(measure: ma.Measure) -> None:
    text = str(measure)
    assert ir_measures.parse_measure(text) == measure
    assert ir_measures.parse_trec_measure(text) == [measure]
    assert pickle.loads(pickle.dumps(measure)) == measure == copy.deepcopy(measure)
    for form in (measure, text):
        table = pt.Experiment([RUN], TOPICS, QRELS, [form], names=["run"])
        assert table.loc[0, text] == pytest.approx(aggregate_value(measure), abs=1e-12)
    assert 0 < aggregate_value(measure) <= 1


class _Weighted(pt.Transformer):
    """A run whose scores turn around with a parameter."""

    def __init__(self, sign: float) -> None:
        self.sign = sign

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        results = topics[["qid", "query"]].merge(RUN[["qid", "docno", "score"]])
        return pt.model.add_ranks(results.assign(score=results["score"] * self.sign))


@pytest.mark.every(3)
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_grid_search_by_name(measure: ma.Measure) -> None:
    """Scores are multiplied by 1 or -1, which turns rankings around; the search finds what is better."""
    values = {}
    for sign in (1.0, -1.0):
        run = RUN.assign(score=RUN["score"] * sign)
        table = pt.Experiment([run], TOPICS, QRELS, [measure])
        values[sign] = float(table[str(measure)].iloc[0])
    assert max(values.values()) > min(values.values())

    pipeline = _Weighted(1.0)
    value, setting = pt.GridSearch(
        pipeline,
        {pipeline: {"sign": [1.0, -1.0]}},
        TOPICS,
        QRELS,
        metric=str(measure),
        return_type="best_setting",
    )

    ((_pipeline, _parameter, best_sign),) = setting
    assert value == pytest.approx(max(values.values()))
    assert values[best_sign] == max(values.values())


@pytest.mark.slow
def test_evaluate_in_other_processes() -> None:
    runs = {"forth": RUN, "back": RUN.assign(score=-RUN["score"])}
    for form in (MEASURES, list(map(str, MEASURES))):
        here = ma.evaluate(runs, QRELS, form, progress=False)
        there = evaluate_in_processes(runs, QRELS, form)
        pd.testing.assert_frame_equal(here, there)


@pytest.mark.slow
def test_scorers_and_rankers() -> None:
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV, GroupKFold

    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(8), 6)
    x = rng.normal(size=(48, 3))
    y = pd.DataFrame(rng.integers(0, 3, (48, 2)), columns=["relevance", "credibility"]).set_index(
        pd.Index(qid, name="qid")
    )
    scores = []
    for scoring in (MEASURES[5], str(MEASURES[5])):
        ranker = ma.AspectRanker(Ridge(), target=TOMA(distance="relevance-first", aspects=BOTH))
        search = GridSearchCV(
            ranker, {"estimator__alpha": [0.1, 10]}, scoring=ma.ranking_scorer(scoring), cv=GroupKFold(2),
            n_jobs=2, error_score="raise",
        )  # fmt: skip
        scores.append(search.fit(x, y, groups=qid).cv_results_["mean_test_score"].tolist())
    assert scores[0] == scores[1]
    assert 0 < scores[0][0] < 1


# -- bounds against brute force
# -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "is_tight"),
    [
        (HLU(half=2), True),
        (CAM(base="HLU"), True),
        (MM(base=HLU), True),
        (PowerMean(base="HLU@3"), True),
        (WeakestAspect(base="HLU"), False),
        (LowestGain, True),
        (TOMA(distance="relevance-first"), True),
    ],
    ids=str,
)
def test_bounds_are_those_of_all_permutations(measure: ma.Measure, is_tight: bool) -> None:
    rng = np.random.default_rng(1)
    scale = Aspect([0, 1, 2], threshold=1)
    aspects = {"relevance": scale, "credibility": scale}
    measure = (
        measure.on("relevance", aspects) if measure.SINGLE_ASPECT else measure(aspects=aspects)
    )
    for _ in range(12):
        judged = {
            docno: dict(zip(aspects, rng.integers(0, 3, 2).tolist(), strict=True))
            for docno in "abcde"
        }
        best = by_force(measure, judged).max()
        table = upper_bound({"q": judged}, measure)
        assert table["bound"][0] >= best - 1e-9
        assert table["value"][0] <= best + 1e-9
        if is_tight:
            assert table["value"][0] == pytest.approx(best, abs=1e-9)
            assert table["gap"][0] == pytest.approx(0, abs=1e-9)


def test_normalisation_follows_from_the_form() -> None:
    judged = {"a": {"relevance": 2, "credibility": 0}, "b": {"relevance": 0, "credibility": 1}}
    assert by_force(CAM(base="HLU(half=2)", normalized=True, aspects=BOTH) @ 10, judged).max() == 1
    assert by_force(CAM(base="HLU(half=2)", aspects=BOTH) @ 10, judged).max() < 1


# -- registering
# -----------------------------------------------------------------------------------------


def test_the_package_is_registered_the_same_way() -> None:
    """`__all__` is what is registered, and names of classes, functions and modules."""
    names = {measure.NAME for measure in ma.measures.ALL}
    assert set(ma.measures.ALL) <= set(registered_measures())
    assert len(names) == len(ma.measures.ALL)
    for module in (ma, ma.measures):
        public = {name for name in module.__all__ if isinstance(getattr(module, name), ma.Measure)}
        assert public == names
        assert all(getattr(module, measure.NAME) is measure for measure in ma.measures.ALL)
    assert all(
        ir_measures.measures.registry[measure.NAME] is measure for measure in ma.measures.ALL
    )
    # What is registered from outside is not the package's.
    assert HLU not in ma.measures.ALL


def test_a_class_alone_says_its_name() -> None:
    assert (HLU.NAME, HLU.PRETTY_NAME, str(HLU(half=2) @ 5)) == ("HLU", "HLU", "HLU(half=2)@5")
    assert HLU.SHORT_DESC.startswith("Half-life utility")
    assert ma.register(_HLU) == HLU
    assert ma.register(_HLU()) == HLU


def define_class(name: str, **more: object) -> type[ma.Measure]:
    return type(
        f"_{name}", (_HLU,), {"__module__": "elsewhere", "__qualname__": f"_{name}", **more}
    )


def with_default_of_another_form() -> type[ma.Measure]:
    """A class whose parameter has the default "a,b", which its parser reads as an Aspects object."""
    parameter = ma.Param(ma.params.ASPECTS.parse, "a,b", "x")
    return define_class("X", SUPPORTED_PARAMS={"base": parameter})


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda: define_class("TOMA"), "taken by pt_multiaspect"),
        (lambda: define_class("AP"), "taken by ir_measures"),
        (lambda: define_class("HLU"), "taken by test_extension._HLU"),
        (lambda: define_class("map"), "name of trec_eval"),
        (lambda: define_class("P_10"), "name of trec_eval"),
        (lambda: define_class("cam"), "name of trec_eval"),
        (lambda: define_class("X", NAME="my measure"), "letters, digits and _"),
        (lambda: define_class("X", NAME="class"), "letters, digits and _"),
        (lambda: HLU(half=2), "default parameters"),
        (lambda: type("_Empty", (ma.LinearMeasure,), {}), "must define linear"),
        (lambda: type("_Empty", (ma.JointMeasure,), {}), "must define base, joint"),
        (lambda: type("_Empty", (ma.AspectMean,), {}), "must define combine"),
        (lambda: nDCG, r"subclass of pt_multiaspect\.Measure"),
        (lambda: int, r"subclass of pt_multiaspect\.Measure"),
        (with_default_of_another_form, "is read as .*give the latter"),
    ],
)
def test_what_cannot_be_registered(measure, message: str) -> None:
    registry = ir_measures.measures.registry
    before = dict(registry)
    with pytest.raises(MultiAspectError, match=message):
        ma.register(measure())
    assert registry == before


def test_what_prints_as_something_else_cannot_be_registered() -> None:
    """The printed form is what PyTerrier and tables go by."""
    double = ma.Param(lambda value: value, 1, "x")

    class _Odd(_HLU):
        SUPPORTED_PARAMS = {"half": double}

        def _spell(self) -> str:
            return "HLU"

    before = dict(ir_measures.measures.registry)
    with pytest.raises(MultiAspectError, match=r"Odd.*HLU"):
        ma.register(_Odd)
    assert ir_measures.measures.registry == before


# -- a cell run again
# ------------------------------------------------------------------------------------


def define(constant: float) -> ma.Measure:
    class _Redefined(ma.SingleAspectMeasure):
        """A constant."""

        SUPPORTED_PARAMS = {}

        def score(self, ranking, target):
            return np.full(target.n_queries, constant)

    return ma.register(_Redefined)


def test_a_cell_run_again_defines_another_measure() -> None:
    """Both definitions have one name; the measure of either keeps its own values."""
    qrels = {"q": {"a": {"relevance": 1, "credibility": 1}}}
    rankings = Rankings({"q": {"a": 1.0}}, Judgments(qrels))

    def value(measure: ma.Measure) -> float:
        (value_of_topic,) = measure.evaluate(rankings)
        return float(value_of_topic)

    old = define(0.25)  # a measure named Redefined, which is constant
    mean_of_old = CAM(base=old, aspects=BOTH)
    assert value(mean_of_old) == 0.25

    new = define(0.5)
    assert old != new
    assert str(old) == str(new)
    assert ir_measures.parse_measure("Redefined") == new
    mean_of_new = CAM(base="Redefined", aspects=BOTH)
    assert mean_of_new != mean_of_old
    assert value(mean_of_old) == value(old) == 0.25
    assert value(mean_of_new) == value(new) == 0.5
    ir_measures.measures.registry.pop("Redefined")


MAIN = """
    import json
    import numpy as np
    import pt_multiaspect as ma

    CELL = '''
    class _Cell(ma.SingleAspectMeasure):
        "A constant."
        SUPPORTED_PARAMS = {{"cutoff": ma.params.CUTOFF}}
        def score(self, ranking, target):
            return np.full(target.n_queries, CONSTANT)
    Cell = ma.register(_Cell)

    @ma.register_distance("cell")
    def cell(gaps):
        return (gaps * WEIGHTS).sum(axis=1)
    '''
    import sys
    import textwrap
    sys.path.insert(0, {tests!r})
    from frame_world import evaluate_in_processes
    BOTH = {{"relevance": 2, "credibility": 2}}
    qrels = {{"q": {{"a": {{"relevance": 2, "credibility": 0}}, "b": {{"relevance": 1, "credibility": 2}}}}}}
    runs = {{name: {{"q": {{"a": 2.0, "b": 1.0}}}} for name in ("one", "two")}}
    found = []
    if __name__ == "__main__":
        for CONSTANT, WEIGHTS in ((0.25, [10, 1]), (0.5, [1, 10])):
            source = textwrap.dedent(CELL).replace("CONSTANT", str(CONSTANT)).replace("WEIGHTS", str(WEIGHTS))
            exec(source, globals())
            for given in (
                [Cell @ 5, ma.CAM(base=Cell, aspects=BOTH), ma.TOMA(distance="cell", aspects=BOTH)],
                ["Cell@5", "CAM(base='Cell',aspects={{'relevance': 2, 'credibility': 2}})",
                 "TOMA(distance='cell',aspects={{'relevance': 2, 'credibility': 2}})"],
            ):
                for evaluate in (ma.evaluate, evaluate_in_processes):
                    table = evaluate(runs, qrels, given)
                    found.append(table["value"].round(6).tolist()[:3])
        print(json.dumps(found))
"""


@pytest.mark.slow
def test_cells_of_a_notebook_in_other_processes() -> None:
    """A class and a distance are defined in ``__main__``, and again with other constants.

    MAIN evaluates a constant measure, CAM of it and TOMA with the distance, as objects and as
    strings, here and in workers, which stay the same: four lists of three values per definition.
    """
    lists = run_python(MAIN.format(tests=str(Path(__file__).parent)))
    of_first_definition, of_second_definition = lists[:4], lists[4:]
    constant, mean, toma = of_first_definition[0]
    assert of_first_definition == [[constant, mean, toma]] * 4
    assert (constant, mean) == (0.25, 0.25)
    assert toma == 1
    constant, mean, toma = of_second_definition[0]
    assert of_second_definition == [[constant, mean, toma]] * 4
    assert (constant, mean) == (0.5, 0.5)
    assert toma < 1


# -- distances
# --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_measure_carries_its_distance() -> None:
    """A pickled measure works in a process in which its distance is not registered."""
    script = """
        import pickle
        import json
        import pt_multiaspect as ma
        from pt_multiaspect.orders import registered
        try:
            import cloudpickle
        except ImportError:  # what joblib brings along, by version
            from joblib.externals import cloudpickle

        def steep(gaps):
            return (gaps ** 3).sum(axis=1)

        ma.register_distance("steep")(steep)
        measure = ma.TOMA(distance="steep", aspects={"relevance": 2, "credibility": 2})
        pickled = cloudpickle.dumps(measure)
        del registered._FUNCTIONS["steep"]  # as in another process
        unpickled = pickle.loads(pickled)
        print(json.dumps([str(unpickled), str(measure), str(ma.TOMA(distance="steep"))]))
    """
    unpickled, measure, by_name = run_python(script)
    assert unpickled == measure
    assert by_name == "TOMA(distance='steep')"


def test_distances_registered_again() -> None:
    ma.register_distance("again")(lambda gaps: 10 * gaps[:, 0] + gaps[:, 1])
    old = TOMA(distance="again", aspects=BOTH)
    ma.register_distance("again")(lambda gaps: gaps[:, 0] + 10 * gaps[:, 1])
    new = TOMA(distance="again", aspects=BOTH)
    assert old != new
    assert str(old) == str(new)
    judged = {
        "q": {"a": {"relevance": 2, "credibility": 0}, "b": {"relevance": 0, "credibility": 2}}
    }
    rankings = Rankings({"q": {"a": 2.0, "b": 1.0}}, Judgments(judged))
    values = [measure.evaluate(rankings)[0] for measure in (old, new, old)]
    assert values[0] == values[2] == 1 > values[1]
    distances._FUNCTIONS.pop("again")


def test_a_decreasing_distance_is_refused_with_the_violation() -> None:
    ma.register_distance("decreasing")(lambda gaps: 2 - gaps[:, 0] + gaps[:, 1])
    with pytest.raises(MultiAspectError, match=r"decreases.*relevance increases"):
        aggregate_value(TOMA(distance="decreasing", aspects=BOTH))
    distances._FUNCTIONS.pop("decreasing")
