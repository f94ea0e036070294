"""Laws of all measures, on collections that are likely to violate them."""

from __future__ import annotations

import itertools
import json
import math
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
import reference as ref
from comparison import Reference, Values, compare, evaluate
from hypothesis import Phase, assume, given
from hypothesis import strategies as st
from strategies import (
    NAMES,
    Collection,
    aspect_sets,
    collections,
    examples,
    measures,
    orders,
    scaled_collections,
    scales,
    weights,
)  # fmt: skip

from pt_multiaspect import (
    CAM,
    GAM,
    MDCU,
    MM,
    NGRE,
    NLRE,
    NWCS,
    TOMA,
    WHAM,
    Aspect,
    Aspects,
    DistanceOrder,
    Measure,
    MultiAspectError,
    On,
    Order,
    nMDCU,
    uERR,
    unDCG,
    uRBP,
    uRBPgr,
)  # fmt: skip
from pt_multiaspect.kernels import means
from pt_multiaspect.measures import ALL

#: A run of other queries only is one of the things drawn.
pytestmark = [
    # The scales drawn need not reach the rel of a base.
    pytest.mark.filterwarnings("ignore:rel="),
    pytest.mark.filterwarnings(
        "ignore:the run and the qrels have no query:pt_multiaspect.MultiAspectWarning"
    ),
    pytest.mark.filterwarnings(
        "ignore:(the threshold|no label|all labels) of:pt_multiaspect.MultiAspectWarning"
    ),
    pytest.mark.filterwarnings("ignore:every judged document:pt_multiaspect.MultiAspectWarning"),
    pytest.mark.filterwarnings(
        "ignore:the qrels have no label of:pt_multiaspect.MultiAspectWarning"
    ),
    # Some of the scores drawn differ by less than 32-bit floats can.
    pytest.mark.filterwarnings("ignore:.*most scores of:pt_multiaspect.MultiAspectWarning"),
]

inferred = pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")


def value_by_query(measure: Measure, qrels: Any, run: Any) -> dict[str, float]:
    return {
        metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, run)
    }


# -- ranges
# -----------------------------------------------------------------------------------------

SIMPLE_BASES = (
    "nDCG", "nDCG@2", "AP", "AP@2", "AP(rel=2)", "P@3", "R@3", "RR", "RR@2", "Rprec", "RBP(p=0.5)", "RBP@3", "ERR",
    "ERR@3", "Success@2", "SetP", "SetP(relative=True)", "SetR", "SetF", "SetF(beta=0.5)", "SetAP",
)  # fmt: skip
DISTANCES = ("euclidean", "manhattan", "chebyshev", 3, 2.5, 0.5, 1e-2, 30)


def requires(measure: Measure) -> bool:
    """Return whether a measure cannot be computed with the default parameters."""
    return any(param.required for param in measure.SUPPORTED_PARAMS.values())


def every_measure(names: Sequence[str]) -> list[Measure]:
    """Every multi-aspect measure in many forms, on aspects of these names."""
    uneven = {name: index for index, name in enumerate(names)}
    shares = uneven if len(names) > 1 else {names[0]: 0.1}
    with_aspects = [measure for measure in ALL if "aspects" in measure.SUPPORTED_PARAMS]
    many: list[Measure] = [measure for measure in with_aspects if not requires(measure)]
    means = [CAM, MM, GAM, *([WHAM] if len(names) == 2 else [])]
    if len(names) != 2:
        many.remove(WHAM)
    for base in SIMPLE_BASES:
        many += [
            TOMA(base=base),
            On(aspect=names[-1], base=base),
            *(mean(base=base) for mean in means),
        ]
        many += [mean(base=base, weights=shares, empty="drop") for mean in means]
    for distance in DISTANCES:
        many += [
            TOMA(distance=distance, weighting=weighting, positives=positives, gate=gate, weights=weights, base=base)
            for weighting in ("classes", "normalized", "exponential")
            for positives, gate in (("nonzero", None), ("top-half", names[0]))
            for weights, base in ((None, "nDCG@3"), (shares, "AP"))
        ]  # fmt: skip
    many += [TOMA(base=f"nDCG(dcg='exp-log2'){at}") for at in ("", "@2")]
    for base in ("nDCG", "nDCG@2", "RBP", "P@2", "R@2", "Rprec"):
        many += [
            CAM(base=base, normalized=True),
            CAM(base=base, normalized=True, empty="drop", weights=shares),
        ]
    bases = ("nDCG", "P@2", "Rprec", "nDCG@2")
    many.append(CAM(base=dict(zip(names, bases, strict=False)), normalized=True))
    for p in (0, 0.5, 0.99):
        many += [uRBP(p=p), uRBPgr(p=p), uRBPgr(p=p) @ 2]
    for s in (0.1, 3, 2000):
        many += [unDCG(s=s), uERR(s=s), unDCG(s=s) @ 2]
    for ideal in ("joint", "separate", "judged"):
        many += [NWCS(ideal=ideal), NWCS(ideal=ideal, weights=shares), NWCS(ideal=ideal) @ 2]
    if len(names) > 1:
        many += [
            measure(themes=names[1:], usability=names[0], overlap=1.1)
            for measure in (MDCU, nMDCU, nMDCU @ 2)
        ]
    for mu, nu in ((0.5, 0), (0, 3)):
        many += [
            error(mu=mu, nu=nu)(cutoff=cutoff) for error in (NLRE, NGRE) for cutoff in (None, 3)
        ]
    if len(names) == 1:
        many = [measure for measure in many if measure.params.get("mu", 0.5) != 0]
    return many


ON_NAMES = {n: every_measure(NAMES[:n]) for n in (1, 2, 3, 4)}


def check_ranges(values: Values) -> None:
    for (measure, qid), value in values.items():
        low, high = measure.range
        assert isinstance(value, float)
        assert low <= value <= high, (measure, qid)  # NaN is not


def declare_aspects(some: Sequence[Measure], aspects: Aspects) -> list[Measure]:
    return [measure(aspects=aspects) for measure in some]


@pytest.fixture(scope="module")
def _all_numpy_errors() -> Any:
    with np.errstate(all="raise", under="ignore"):
        yield


def sample_measures(n_aspects: int, part: int) -> list[Measure]:
    """A quarter of all measures, on the first n of `NAMES`; the parts 0 to 3 make all."""
    return ON_NAMES[n_aspects][part::4]


@given(scaled_collections(max_aspects=4), st.integers(0, 3))
@examples(35)
@pytest.mark.filterwarnings("ignore:the qrels have no label of .* counts such an intent")
@pytest.mark.usefixtures("_all_numpy_errors")
def test_ranges(drawn: tuple[Collection, dict[str, Aspect], Any], part: int) -> None:
    """Values are within the range that a measure states, one for each judged topic."""
    collection, aspects, _ = drawn
    measures_of_part = sample_measures(len(aspects), part)
    some = declare_aspects(measures_of_part, Aspects(aspects))
    values = evaluate(some, collection.qrels, collection.run)
    n_measures = len(set(some))
    n_topics = len(collection.labels)
    assert len(values) == n_measures * n_topics
    check_ranges(values)


@inferred
@given(collections(junk_only=True), st.integers(0, 3))
@examples(15)
@pytest.mark.usefixtures("_all_numpy_errors")
def test_ranges_on_inferred_scales(collection: Collection, part: int) -> None:
    some = sample_measures(len(collection.names), part)
    check_ranges(evaluate(some, collection.pt_qrels, collection.run_frame))


@inferred
@given(collections(fractional=True, junk_only=True), st.integers(0, 3))
@examples(15)
@pytest.mark.usefixtures("_all_numpy_errors")
def test_ranges_on_fractional_labels(collection: Collection, part: int) -> None:
    some = sample_measures(len(collection.names), part)
    check_ranges(evaluate(some, collection.qrels, collection.run_frame))


HOSTILE = {
    "huge grades": {"relevance": [0, 1, 10**9], "credibility": [0, 5e300]},
    "tiny grades": {"relevance": [0, 1e-300], "credibility": [0, 1e-12, 1]},
    "single grades": {"relevance": [0], "credibility": [5]},
    "negative scales": {"relevance": [-3, -2, -1], "credibility": [-1, 0, 1]},
    "equal values": {
        "relevance": Aspect([0, 1, 2], gains=[0, 0, 0], probabilities=[0, 0, 0]),
        "credibility": Aspect([0, 1], gains=[3, 3], probabilities=[1, 1]),
    },
    "negative values": {
        "relevance": Aspect([0, 1, 2], gains=[-5, -1, 2]),
        "credibility": Aspect([0, 1], gains=[-3, -2]),
    },
    "turned": {
        "relevance": Aspect([1, 2, 3], greater_is_better=False),
        "credibility": Aspect([0, 20.5], greater_is_better=False, gains=[7, 0]),
    },
    "late thresholds": {
        "relevance": Aspect(4, threshold=4),
        "credibility": Aspect([0, 2, 3], threshold=3),
    },
    "probabilities": {
        "relevance": Aspect([0, 0.25, 1], probabilities="identity"),
        "credibility": Aspect([0, 0.5, 0.999999], probabilities="identity"),
    },
    "hundred grades": {"relevance": 100, "credibility": 150},
}


def draw_hostile_collection(aspects: Aspects) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Qrels and a run with ties and an unjudged document (Z): four topics, of which d has no labels."""
    rng = random.Random(1)
    judgments: list[tuple[Any, ...]] = []
    ranking: list[tuple[Any, ...]] = []
    for qid in ("a", "b", "c", "d"):
        for docno in "uvwxyz":
            labels = []
            for aspect in aspects.values():
                # The lowest grade twice as often as others; None is a missing label.
                labels.append(rng.choice([*aspect.grades, aspect.grades[0], None]))  # type: ignore[misc]
            if qid == "d":
                labels = [None, None]
            judgments.append((qid, docno, *labels))
        for docno in rng.sample("uvwxyzZ", 5):
            ranking.append((qid, docno, rng.choice([1.0, 2.0])))
    qrels = pd.DataFrame(judgments, columns=["qid", "docno", "label", "credibility"])
    run = pd.DataFrame(ranking, columns=["query_id", "doc_id", "score"])
    return qrels, run


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_ranges_on_hostile_scales(name: str) -> None:
    """Values are within their range on scales that tempt to overflow, divide by 0 or turn signs around."""
    aspects = Aspects(HOSTILE[name])
    qrels, run = draw_hostile_collection(aspects)
    some = declare_aspects(ON_NAMES[2], aspects)
    if name in ("huge grades", "tiny grades"):
        # Such gaps to the power of 30 are beyond any number.
        some = [measure for measure in some if measure.params.get("distance") != 30]
    if name == "negative values":
        some = [measure for measure in some if not is_refused(measure, qrels, run)]
        assert len(some) > 150
    check_ranges(evaluate(some, qrels, run))


def is_refused(measure: Measure, qrels: pd.DataFrame, run: pd.DataFrame) -> bool:
    """Return whether a measure rejects negative gains."""
    try:
        measure.calc_aggregate(qrels, run)
    except MultiAspectError as error:
        if "requires gains of at least 0" not in str(error):
            raise
        return True
    return False


@pytest.mark.slow
@inferred
@pytest.mark.parametrize("labels", [[None, None], [0, 0], [-1, -2], [3, None]])
def test_one_query_with_hardly_a_label(labels: list[float | None]) -> None:
    qrels = pd.DataFrame(
        {"qid": ["q", "q"], "docno": ["a", "b"], "label": [1, 0], "credibility": labels}
    )
    qrels["credibility"] = qrels["credibility"].astype(float)
    for run in ({}, {"q": {}}, {"q": {"x": 1.0}}, {"q": {"a": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}):
        check_ranges(evaluate(ON_NAMES[2], qrels, run))


# -- TOMA over nDCG
# -----------------------------------------------------------------------------------


@given(
    scaled_collections(junk_only=True, max_queries=1),
    st.sampled_from(DISTANCES[:6]),
    st.sampled_from(["classes", "normalized", "exponential"]),
    st.booleans(),
    st.sampled_from([None, 1, 3]),
    st.randoms(use_true_random=False),
    st.data(),
)
@examples(35)
def test_toma_over_ndcg_is_one_for_a_ranking_in_class_order(
    drawn: tuple[Collection, dict[str, Aspect], dict[str, ref.RefAspect]],
    distance: Any,
    weighting: str,
    gated: bool,
    cutoff: int | None,
    rng: random.Random,
    data: st.DataObject,
) -> None:
    """The value is 1 if and only if the classes of the documents are ideal at each rank up to the cutoff.

    Within a class any order will do. The classes are those of the reference.
    """
    collection, aspects, theirs = drawn
    gate = collection.names[-1] if gated else None
    axis_weights = data.draw(weights(collection.names))
    parameters = {"distance": distance, "weights": axis_weights, "gate": gate}
    measure = TOMA(aspects=Aspects(aspects), weighting=weighting, cutoff=cutoff, **parameters)
    order = ref.toma_classes(theirs, **parameters)
    ((qid, judged),) = collection.labels.items()
    classes = {docno: order.index[ref.toma_tuple(judged, docno, theirs, gate)] for docno in judged}
    any_gain = max(classes.values()) > 0

    def value_of(ranking: Sequence[str]) -> float:
        run = {qid: {docno: -float(rank) for rank, docno in enumerate(ranking)}}
        (value,) = value_by_query(measure, collection.qrels, run).values()
        return value

    documents = list(judged)
    rng.shuffle(documents)
    ideal = sorted(documents, key=lambda docno: classes[docno], reverse=True)
    assert value_of([*ideal, "unjudged"]) == (1.0 if any_gain else 0.0)

    rng.shuffle(documents)
    value = value_of(documents)
    assert 0.0 <= value <= 1.0
    if any_gain:
        classes_of_ranking = [classes[docno] for docno in documents[:cutoff]]
        classes_of_ideal = [classes[docno] for docno in ideal[:cutoff]]
        assert (value == 1.0) == (classes_of_ranking == classes_of_ideal)


@given(
    collections(grades=[(0, 1, 2), (0, 1, 2, 3)]),
    st.sampled_from(DISTANCES[:6]),
    st.sampled_from(["classes", "exponential"]),
    st.sampled_from(["nonzero", "top-half"]),
    st.sampled_from(["equal", "gains"]),
)
@examples(20)
def test_the_order_of_a_distance_given_outright_is_the_distance(
    collection: Collection, distance: Any, weighting: str, positives: str, axes: str
) -> None:
    """TOMA with an explicit order, the classes of a distance, equals TOMA with the distance."""
    aspects = Aspects({"relevance": 2, "credibility": 3})
    label_tuples = list(itertools.product(range(3), range(4)))
    classes = DistanceOrder(aspects, distance, axes=axes).classes(label_tuples).tolist()
    class_by_tuple = dict(zip(label_tuples, classes, strict=True))
    order = Order(class_by_tuple.items(), aspects)
    for base in ("nDCG@3", "AP", "AP(rel=2)", "SetF", "Bpref", "Compat"):
        measure = TOMA(base=base, weighting=weighting, positives=positives)
        by_distance = measure(distance=distance, axes=axes, aspects=aspects)
        by_order = measure(order=order)
        expected = value_by_query(by_distance, collection.qrels, collection.run)
        values = value_by_query(by_order, collection.qrels, collection.run)
        assert values == pytest.approx(expected, abs=1e-12), measure


# -- rank errors
# ----------------------------------------------------------------------------------------

CONSTANTS = [
    {"mu": 0.5, "nu": 0.5},
    {"mu": 0, "nu": 1},
    {"mu": 2, "nu": 0},
    {"mu": {"relevance": 0, "credibility": 0.25, "understandability": 0, "mood": 3}},
]


@pytest.mark.every(4)
@pytest.mark.parametrize("n_aspects", [2, 3, 4])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_rank_errors_attain_both_ends(n: int, n_aspects: int) -> None:
    """Some ranking of n documents has the value 0, some has 1, with any constants.

    Each permutation of n grades, the same on all aspects, is the ranking of a topic of its own.
    """
    names = NAMES[:n_aspects]
    judgments: list[tuple[Any, ...]] = []
    ranking = []
    for number, grades in enumerate(itertools.permutations(range(n))):
        qid = f"{number:04}"
        for rank, grade in enumerate(grades):
            judgments.append((qid, f"d{rank}", *[grade] * n_aspects))
            ranking.append((qid, f"d{rank}", -float(rank)))
    qrels = pd.DataFrame(judgments, columns=["query_id", "doc_id", *names])
    run = pd.DataFrame(ranking, columns=["query_id", "doc_id", "score"])
    aspects = Aspects(dict.fromkeys(names, n - 1))
    for constants in CONSTANTS:
        mu = constants["mu"]
        if isinstance(mu, dict):  # a constant per aspect
            mu = {name: mu[name] for name in names}
        for error in (NLRE, NGRE):
            measure = error(aspects=aspects, **{**constants, "mu": mu})
            values = value_by_query(measure, qrels, run).values()
            assert min(values) == pytest.approx(0, abs=1e-12), measure
            assert max(values) == 1.0, measure
            assert all(0.0 <= value <= 1.0 for value in values), measure


@pytest.mark.parametrize("n", [2, 3, 4])
def test_rank_errors_of_any_pair_of_orders_stay_in_range(n: int) -> None:
    """The maximum by which errors are divided is none too small, for any two orders of n documents.

    Each pair of orders, one per aspect, is a topic of its own, whose ranking is d0, d1, ...
    """
    relevance, credibility = NAMES[:2]
    grades_by_topic = {}
    permutations = list(itertools.permutations(range(n)))
    for number, pair in enumerate(itertools.product(permutations, repeat=2)):
        grades_by_topic[f"{number:04}"] = pair
    judgments = []
    ranking = []
    for qid, (first_grades, second_grades) in grades_by_topic.items():
        for rank in range(n):
            judgments.append((qid, f"d{rank}", first_grades[rank], second_grades[rank]))
            ranking.append((qid, f"d{rank}", -float(rank)))
    qrels = pd.DataFrame(judgments, columns=["query_id", "doc_id", relevance, credibility])
    run = pd.DataFrame(ranking, columns=["query_id", "doc_id", "score"])
    aspects = {relevance: n - 1, credibility: n - 1}

    for mu, nu in ((0.5, 0.5), (0, 1), (1, 0), (3, 0.1)):
        for error in (NLRE, NGRE):
            values = value_by_query(error(mu=mu, nu=nu, aspects=aspects), qrels, run)
            unclipped = {
                qid: 1 - _rank_error(error.NAME, grades, mu, nu)
                for qid, grades in grades_by_topic.items()
            }
            assert min(unclipped.values()) > -1e-12
            assert min(unclipped.values()) == pytest.approx(0, abs=1e-12)
            assert values == pytest.approx(unclipped, abs=1e-12)


def _rank_error(
    name: str, grades: tuple[Sequence[int], Sequence[int]], mu: float, nu: float
) -> float:
    """Return the error divided by its maximum, unclipped, for the distinct grades by rank on two aspects."""
    n = len(grades[0])
    ideal_positions = [[n - grade for grade in of_aspect] for of_aspect in grades]
    error, maximum = (ref.lre, ref.c_lre) if name == "NLRE" else (ref.gre, ref.c_gre)
    return error(ideal_positions, [mu, nu]) / maximum(n, [mu, nu])


# -- independence of order
# ----------------------------------------------------------------------------

#: Bases that ir-measures computes.
ELSEWHERE = ("Bpref", "infAP", "Compat", "IPrec@0.1", "NumRet(rel=1)")


# Not shrunk, which takes minutes with so many measures: the failing values name the measure.
@given(collections(min_aspects=2), st.randoms(use_true_random=False), st.integers(0, 3))
@examples(15, phases=[Phase.explicit, Phase.generate])
def test_the_order_of_rows_does_not_matter(
    collection: Collection, rng: random.Random, part: int
) -> None:
    """Nor does the order of measures, or that judgments are given twice."""
    some = sample_measures(len(collection.names), part)
    for base in ELSEWHERE[part::4]:
        some += [TOMA(base=base), CAM(base=base)]
    some = declare_aspects(some, Aspects(dict.fromkeys(collection.names, 4)))
    qrels, run = collection.qrels, collection.run_frame

    def shuffle_rows(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.iloc[rng.sample(range(len(frame)), len(frame))].reset_index(drop=True)

    values = evaluate(some, qrels, run)
    assert evaluate(some, shuffle_rows(qrels), run) == values
    assert evaluate(some, qrels, shuffle_rows(run)) == values
    assert evaluate(list(reversed(some)), shuffle_rows(qrels), shuffle_rows(run)) == values
    each_judgment_twice = shuffle_rows(pd.concat([qrels, qrels]))
    assert evaluate(some, each_judgment_twice, run) == values


@given(collections(min_aspects=2, max_queries=2), st.integers(0, 3))
@examples(15)
def test_the_shape_of_qrels_and_run_does_not_matter(collection: Collection, part: int) -> None:
    """Qrels may be a frame, dicts of labels by aspect, dicts of tuples or rows; a run a dict or a frame."""
    # Tuples without a label of an aspect do not tell its name.
    assume(collection.qrels[list(collection.names)].notna().any().all())
    aspects = Aspects(dict.fromkeys(collection.names, 4))
    some = declare_aspects(sample_measures(len(collection.names), part), aspects)

    qrels_as_tuples = {
        qid: {docno: tuple(label.values()) for docno, label in documents.items()}
        for qid, documents in collection.labels.items()
    }
    qrels_as_rows = list(collection.qrels.itertuples(index=False))

    values = evaluate(some, collection.qrels, collection.run)
    assert evaluate(some, collection.labels, collection.run) == values
    assert evaluate(some, qrels_as_tuples, collection.run_frame) == values
    assert evaluate(some, qrels_as_rows, collection.run) == values


def test_the_best_cam_does_not_depend_on_the_order_of_rows() -> None:
    """Under different discounts documents are assigned to ranks; sums must not follow the rows."""
    rows = [("q", "d0", 4, 0, 3), ("q", "d1", 2, 0, 0), ("q", "d2", 1, 4, 3)]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", *NAMES[:3]])
    measure = CAM(base="Rprec", normalized=True, aspects=dict.fromkeys(NAMES[:3], 4))
    run = {"q": {"d0": 1.0, "d1": 2.0}}
    assert measure.calc_aggregate(qrels, run) == measure.calc_aggregate(qrels.iloc[::-1], run)


SCRIPT = """
import json, sys, warnings
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")
import ir_measures
from ir_measures import AP, nDCG
from test_properties import ON_NAMES
labels = [[{"relevance": (q * d) % 3, "credibility": (q + d) % 2} for d in range(7)] for q in range(5)]
qrels = {str(q): {f"d{d}": label for d, label in enumerate(docs)} for q, docs in enumerate(labels)}
run = {str(q): {f"d{d}": float((q + 3 * d) % 4) for d in range(2, 9)} for q in range(6)}
some = [*ON_NAMES[2], ON_NAMES[2][0] @ 3]
for metric in ir_measures.iter_calc(some, qrels, run):
    print(metric.query_id, metric.measure, repr(metric.value))
"""


@pytest.mark.slow
def test_results_do_not_depend_on_the_hash_seed() -> None:
    """Python's order of sets depends on the seed; what another process prints does not."""
    here = Path(__file__).resolve().parent
    printed = []
    for seed in ("1", "271"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(here)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(here.parent)},
            capture_output=True, text=True, check=True, cwd=here.parent,
        )  # fmt: skip
        printed.append(done.stdout)
    first, second = printed
    # `SCRIPT` prints a line per measure and topic: five topics, and one measure with a cutoff, too.
    n_measures = len({*ON_NAMES[2], ON_NAMES[2][0] @ 3})
    assert first.count("\n") == n_measures * 5
    assert first == second


PYTREC_EVAL_ON_JUNK = """
import random, sys
import ir_measures, pandas as pd
from pt_multiaspect import On
rng = random.Random(1)
measure = On(base=sys.argv[1], aspects={"relevance": 4})
for _ in range(150):
    qrels, run = [], []
    for qid in "12345":
        for docno in rng.sample("abcdefgh", rng.randint(1, 5)):
            qrels.append((qid, docno, rng.choice([-1, 0, 1, 4]) if rng.random() < 0.6 else -1))
        run += [(qid, docno, rng.random()) for docno in rng.sample("abcdefgh", rng.randint(1, 5))]
    qrels = pd.DataFrame(qrels, columns=["query_id", "doc_id", "relevance"])
    list(ir_measures.iter_calc([measure], qrels, pd.DataFrame(run, columns=["query_id", "doc_id", "score"])))
"""


@pytest.mark.slow
@pytest.mark.parametrize("base", ["nDCG(judged_only=True)", "Bpref", "infAP"])
def test_queries_with_nothing_but_junk_do_not_hang_pytrec_eval(base: str) -> None:
    """pytrec_eval 0.5.11 reads beyond its memory where the highest label of a query is below 0."""
    here = Path(__file__).resolve().parent
    subprocess.run(
        [sys.executable, "-c", PYTREC_EVAL_ON_JUNK, base],
        env={**os.environ, "PYTHONPATH": str(here.parent)}, check=True, timeout=100,
    )  # fmt: skip


# -- names and pickles
# ------------------------------------------------------------------------------


@given(measures())
@examples(180)
def test_measures_are_read_back_from_what_they_print(measure: Measure) -> None:
    read = ir_measures.parse_measure(str(measure))
    assert read == measure
    assert str(read) == str(measure)
    assert hash(read) == hash(measure)
    assert type(read) is type(measure)
    pickled = pickle.loads(pickle.dumps(measure))
    assert pickled == measure
    for again in (read, pickled):
        assert str(again(**again.params)) == str(measure)


@inferred
@given(
    collections(min_aspects=2, max_aspects=2, grades=[(0, 1, 2), (0, 1)], max_queries=2), measures()
)
@examples(60)
def test_a_measure_read_back_computes_the_same(collection: Collection, measure: Measure) -> None:
    """A measure that is parsed from its name or unpickled has the same values or is refused as well."""
    copies = [ir_measures.parse_measure(str(measure)), pickle.loads(pickle.dumps(measure))]
    try:
        values = value_by_query(measure, collection.qrels, collection.run)
    except ValueError:  # this base does not go with these parameters or labels
        for copy in copies:
            with pytest.raises(ValueError):  # noqa: PT011
                value_by_query(copy, collection.qrels, collection.run)
        return

    for copy in copies:
        assert value_by_query(copy, collection.qrels, collection.run) == values
    assert not any(math.isnan(value) for value in values.values())
    has_range_of_its_base = measure.NAME == "On" and "base" in measure.params
    if not has_range_of_its_base:
        low, high = measure.RANGE
        assert all(low <= value <= high for value in values.values()), measure


@given(aspect_sets())
@examples(60)
def test_aspects_are_read_back(aspects: Aspects) -> None:
    assert Aspects(json.loads(aspects.to_json()), name=aspects.name) == aspects
    assert pickle.loads(pickle.dumps(aspects)) == aspects
    for name, aspect in aspects.items():
        assert Aspect.from_spec(aspect.to_spec()) == aspect, name
        first, second = Aspect.from_spec(aspect.to_spec()).scale, aspect.scale
        for part in ("grades", "gains", "probabilities"):
            assert getattr(first, part).tolist() == getattr(second, part).tolist()
        assert first.threshold == second.threshold


@given(orders())
@examples(35)
def test_orders_are_read_back(order: Order) -> None:
    again = Order.from_json(order.to_json(), name=order.name)
    assert again == order
    tuples = list(itertools.product(range(3), range(2)))
    assert again.weigh(tuples).tolist() == order.weigh(tuples).tolist()
    assert pickle.loads(pickle.dumps(order)) == order


# -- distance orders
# -----------------------------------------------------------------------------------

STEPS = {
    "halves": [Fraction(1, 2), Fraction(1), Fraction(3, 2)],
    "tenths": [Fraction(n, 10) for n in (1, 2, 3, 7)],
    "thirds": [Fraction(1, 3), Fraction(2, 3), Fraction(1), Fraction(1, 7)],
    "nothing": [Fraction(0), Fraction(1)],
}


@st.composite
def embeddings(draw: st.DrawFn) -> tuple[dict[str, Aspect], dict[str, ref.RefAspect]]:
    """Scales of one to four aspects whose values are sums of like fractions."""
    steps = STEPS[draw(st.sampled_from(sorted(STEPS)))]
    ours, theirs = {}, {}
    for name in NAMES[: draw(st.integers(1, 4))]:
        given_steps = draw(st.lists(st.sampled_from(steps), max_size=3))
        values = list(itertools.accumulate(given_steps, initial=Fraction(0)))
        grades = list(range(len(values)))
        ours[name] = Aspect(grades, gains=[float(value) for value in values])
        theirs[name] = ref.ref_aspect(grades, gains=values)
    return ours, theirs


@given(
    embeddings(),
    st.sampled_from(["manhattan", "euclidean", "chebyshev", 3, 2.5, 0.5]),
    st.sampled_from(
        [None, (1, 1, 1, 1), (1, 2, 0, 3), (0.1, 0.3, 0.7, 1), (1 / 3, 2 / 3, 1, 1 / 7)]
    ),
    st.booleans(),
    st.sampled_from(["equal", "gains"]),
)
@examples(150)
def test_distance_orders_against_all_tuples(
    drawn: tuple[dict[str, Aspect], dict[str, ref.RefAspect]],
    distance: Any,
    weights_of_four: tuple[float, ...] | None,
    gated: bool,
    axes: str,
) -> None:
    """The classes and closenesses of all label tuples are those of the reference, in exact arithmetic."""
    ours, theirs = drawn
    names = list(ours)
    gate = names[-1] if gated else None
    axis_weights = exact_weights = None
    if weights_of_four is not None:
        axis_weights = dict(zip(names, weights_of_four, strict=False))  # of the first aspects
        assume(any(axis_weights.values()))
        # 1/3 is read as a third, not as the decimal it prints as, so that thirds add up.
        exact_weights = {
            name: Fraction(weight).limit_denominator(1000) for name, weight in axis_weights.items()
        }

    expected = ref.toma_classes(theirs, distance, exact_weights, gate, axes)
    order = DistanceOrder(ours, distance, axes=axes, weights=axis_weights, gate=gate)

    assert order.n_classes == expected.n_classes
    label_tuples = list(expected.index)
    expected_classes = list(expected.index.values())
    assert order.classes(label_tuples).tolist() == expected_classes
    grades = np.array(label_tuples, dtype=np.intp).reshape(len(label_tuples), len(names))
    expected_closeness = [expected.normalized[labels] for labels in label_tuples]
    assert order.closeness(grades).tolist() == pytest.approx(expected_closeness, abs=1e-9)
    assert order.above_worst(grades).tolist() == [number > 0 for number in expected_classes]

    if gate is not None:
        # Tuples that the gate does not let through are of the lowest class.
        all_tuples = itertools.product(*(aspect.grades for aspect in theirs.values()))
        gated_tuples = [labels for labels in all_tuples if labels not in expected.index]
        if gated_tuples:
            assert set(order.classes(gated_tuples).tolist()) == {0}

    # The list begins with the highest class.
    from_lowest = order.to_list()[::-1]
    assert len(from_lowest) == expected.n_classes
    class_by_tuple = {}
    for number, labels_of_class in enumerate(from_lowest):
        class_by_tuple |= dict.fromkeys(labels_of_class, number)
    assert class_by_tuple == expected.index


def test_three_aspects_in_tenths_have_ten_manhattan_classes() -> None:
    tenths = Aspect(3, gains=[0, 0.1, 0.2, 0.3])
    assert DistanceOrder(dict.fromkeys(NAMES[:3], tenths), "manhattan").n_classes == 10
    thirds = Aspect(3, gains=[0, 1 / 3, 2 / 3, 1])
    assert DistanceOrder(dict.fromkeys(NAMES[:3], thirds), "manhattan").n_classes == 10


@pytest.mark.parametrize("exponent", [2.5, 0.5, 1.1])
def test_sums_of_irrational_powers_do_not_fall_apart(exponent: float) -> None:
    """Rounding does not divide tuples of equal distance, such as (0, 1, 2, 3) and (3, 2, 1, 0).

    On four aspects of four even grades, each multiset of grades is a class.
    """
    tenths = Aspect(3, gains=[0, 0.1, 0.2, 0.3])
    order = DistanceOrder(dict.fromkeys(NAMES, tenths), exponent)
    n_aspects, n_grades = 4, 4
    n_multisets = math.comb(n_grades + n_aspects - 1, n_aspects)  # 35 of 256 tuples
    assert order.n_classes == n_multisets
    for grades in itertools.combinations_with_replacement(range(n_grades), n_aspects):
        same_multiset = list(itertools.permutations(grades))
        classes = order.classes(same_multiset).tolist()
        assert len(set(classes)) == 1


# -- the best CAM
# ----------------------------------------------------------------------------------------

LINEAR: list[tuple[str, tuple[str, dict[str, Any]]]] = [
    ("nDCG", ("nDCG", {})),
    ("nDCG@2", ("nDCG", {"cutoff": 2})),
    ("nDCG(dcg='exp-log2')@3", ("nDCG", {"dcg": "exp-log2", "cutoff": 3})),
    ("RBP", ("RBP", {})),
    ("RBP(p=0.5)@2", ("RBP", {"p": 0.5, "cutoff": 2})),
    ("P@2", ("P", {"cutoff": 2})),
    ("P@10", ("P", {"cutoff": 10})),
    ("R@3", ("R", {"cutoff": 3})),
    ("Rprec", ("Rprec", {})),
    ("Rprec(rel=1)", ("Rprec", {"rel": 1})),
]


@given(
    scaled_collections(max_queries=2, max_judged=5),
    st.lists(st.sampled_from(LINEAR), min_size=3, max_size=3),
    st.booleans(),
    st.sampled_from(["zero", "drop"]),
    st.data(),
)
@examples(35)
def test_normalized_cam_against_all_permutations(
    drawn: tuple[Collection, dict[str, Aspect], dict[str, ref.RefAspect]],
    bases: list[tuple[str, tuple[str, dict[str, Any]]]],
    same: bool,
    empty: str,
    data: st.DataObject,
) -> None:
    """Normalised CAM equals the reference, and the best of all rankings has the value 1."""
    collection, aspects, theirs = drawn
    names = collection.names
    shares = data.draw(weights(names))
    # Either one base for all aspects, or one for each.
    base_of_aspect = {name: bases[0 if same else number] for number, name in enumerate(names)}
    our_bases = {name: text for name, (text, _) in base_of_aspect.items()}
    their_bases = {name: reference for name, (_, reference) in base_of_aspect.items()}
    our_base = our_bases[names[0]] if same else our_bases
    measure = CAM(
        base=our_base, normalized=True, weights=shares, empty=empty, aspects=Aspects(aspects)
    )

    values = value_by_query(measure, collection.qrels, collection.run)

    for qid, judged in collection.labels.items():
        run = collection.run.get(qid, {})
        expected = ref.cam(run, judged, theirs, their_bases, None, shares, empty, normalized=True)
        assert values[qid] == pytest.approx(expected, abs=1e-9), measure

        cam_by_ranking = {}
        for ranking in itertools.permutations(judged):
            scores = ref.scores_by_aspect(ranking, judged, theirs, their_bases, None, shares, empty)
            cam_by_ranking[ranking] = ref.arithmetic(scores)
        best = max(cam_by_ranking, key=cam_by_ranking.__getitem__)
        best_run = {qid: {docno: -float(rank) for rank, docno in enumerate(best)}}
        value_of_best = value_by_query(measure, collection.qrels, best_run)[qid]
        any_gain = cam_by_ranking[best] > 0
        assert value_of_best == pytest.approx(1.0 if any_gain else 0.0, abs=1e-12)


# -- everything against the reference
# --------------------------------------------------------------------


def fix_arguments(function: Any, *arguments: Any, **options: Any) -> Reference:
    """Return a reference function of the run and the judgments of a topic; its further arguments are fixed."""

    def value_of_topic(run: ref.Run, judged: ref.Judgments) -> float:
        return function(run, judged, *arguments, **options)

    return value_of_topic


#: Bases: as ours are spelt, and the name and parameters of the reference.
REFERENCE_BASES: list[tuple[str, str, dict[str, Any]]] = [
    ("nDCG", "nDCG", {}),
    ("nDCG@2", "nDCG", {"cutoff": 2}),
    ("nDCG(dcg='exp-log2')", "nDCG", {"dcg": "exp-log2"}),
    ("AP", "AP", {}),
    ("AP@2", "AP", {"cutoff": 2}),
    ("AP(rel=1)", "AP", {"rel": 1}),
    ("AP(rel=2)", "AP", {"rel": 2}),
    ("P@3", "P", {"cutoff": 3}),
    ("R@3", "R", {"cutoff": 3}),
    ("RR", "RR", {}),
    ("RR(rel=2)@2", "RR", {"rel": 2, "cutoff": 2}),
    ("Rprec", "Rprec", {}),
    ("RBP", "RBP", {}),
    ("RBP(p=0.5)@2", "RBP", {"p": 0.5, "cutoff": 2}),
    ("ERR", "ERR", {}),
    ("ERR@2", "ERR", {"cutoff": 2}),
    ("Success@2", "Success", {"cutoff": 2}),
    ("SetP", "SetP", {}),
    ("SetP(relative=True)", "SetP", {"relative": True}),
    ("SetR", "SetR", {}),
    ("SetF(beta=0.5)", "SetF", {"beta": 0.5}),
    ("SetAP", "SetAP", {}),
]


Drawn = tuple[Collection, dict[str, Aspect], dict[str, ref.RefAspect]]


@given(scaled_collections(), st.sampled_from(["zero", "drop"]), st.data())
@examples(35)
def test_means_against_the_reference(drawn: Drawn, empty: str, data: st.DataObject) -> None:
    """Means over aspects, and `On` for each aspect, of several bases."""
    collection, aspects, theirs = drawn
    ours = Aspects(aspects)
    shares = data.draw(weights(collection.names))
    means_and_references = [(CAM, ref.cam), (MM, ref.mm), (GAM, ref.gam)]
    if len(ours) == 2:
        means_and_references.append((WHAM, ref.wham))
    several_bases = st.lists(st.sampled_from(REFERENCE_BASES), min_size=4, max_size=6)

    cases: dict[Measure, Reference] = {}
    for text, base, params in data.draw(several_bases):
        for mean, reference in means_and_references:
            measure = mean(base=text, weights=shares, empty=empty, aspects=ours)
            cases[measure] = fix_arguments(reference, theirs, base, params, shares, empty)
        for name in ours:
            measure = On(aspect=name, base=text, aspects=ours)
            cases[measure] = fix_arguments(ref.on, theirs, name, base, params)
    compare(cases, collection)


@given(scaled_collections(), st.sampled_from(["zero", "drop"]), st.data())
@examples(35)
def test_means_of_a_base_per_aspect_against_the_reference(
    drawn: Drawn, empty: str, data: st.DataObject
) -> None:
    collection, aspects, theirs = drawn
    ours = Aspects(aspects)
    means_and_references = [(CAM, ref.cam), (MM, ref.mm), (GAM, ref.gam)]
    if len(ours) == 2:
        means_and_references.append((WHAM, ref.wham))
    our_bases = {}
    their_bases = {}
    for name in collection.names:
        text, base, params = data.draw(st.sampled_from(REFERENCE_BASES))
        our_bases[name] = text
        their_bases[name] = (base, params)

    cases: dict[Measure, Reference] = {}
    for mean, reference in means_and_references:
        measure = mean(base=our_bases, empty=empty, aspects=ours)
        cases[measure] = fix_arguments(reference, theirs, their_bases, empty=empty)
    compare(cases, collection)


def test_a_mean_of_equal_values_is_not_above_them() -> None:
    """The sum of these weights is below 1 by rounding, and the term of weight 0 is not counted."""
    values, weights_ = (
        np.array([[-1.0], [-1.0], [-1.0], [5.0]]),
        np.array([[0.7], [0.2], [0.1], [0.0]]),
    )
    assert (weights_ * values).sum() > -1
    assert means.arithmetic(values, weights_) == -1


@pytest.mark.parametrize("mean", ["harmonic", "geometric"])
def test_slopes_of_means_are_their_gradients(mean: str) -> None:
    """The slope of a weighted mean of three values equals its central differences."""
    function = getattr(means, mean)
    slope = getattr(means, f"{mean}_slope")
    values = np.array([[0.2], [0.7], [0.4]])
    weights_of_values = np.array([[0.5], [0.2], [0.3]])

    step = 1e-6
    steps = step * np.eye(3)  # column i changes value i only
    above = function(values + steps, weights_of_values)
    below = function(values - steps, weights_of_values)
    gradient = (above - below) / (2 * step)
    assert slope(values, weights_of_values)[:, 0] == pytest.approx(gradient, abs=1e-8)


@given(scaled_collections(), st.data())
@examples(60)
def test_toma_against_the_reference(drawn: Drawn, data: st.DataObject) -> None:
    """Three sets of parameters, each with three bases."""
    collection, aspects, theirs = drawn
    ours = Aspects(aspects)
    three_bases = st.lists(st.sampled_from(REFERENCE_BASES), min_size=3, max_size=3)

    cases: dict[Measure, Reference] = {}
    for _ in range(3):
        parameters = {
            "distance": data.draw(st.sampled_from(DISTANCES[:6])),
            "weights": data.draw(weights(collection.names)),
            "weighting": data.draw(st.sampled_from(["classes", "normalized", "exponential"])),
            "positives": data.draw(st.sampled_from(["nonzero", "top-half"])),
            "gate": data.draw(st.sampled_from([None, *collection.names])),
            "axes": data.draw(st.sampled_from(["equal", "gains"])),
        }
        for text, base, params in data.draw(three_bases):
            base_is_exponential = base == "ERR" or "dcg" in params
            if parameters["weighting"] == "exponential" and base_is_exponential:
                continue  # refused
            measure = TOMA(base=text, aspects=ours, **parameters)
            cases[measure] = fix_arguments(ref.toma, theirs, base, params, **parameters)
    assume(cases)
    compare(cases, collection)


@given(scaled_collections(zero=True), st.sampled_from([None, 1, 3]), st.data())
@examples(50)
def test_gain_family_against_the_reference(
    drawn: Drawn, cutoff: int | None, data: st.DataObject
) -> None:
    """The lowest grade has the gain and probability 0 here, which is also what an unjudged document has."""
    collection, aspects, theirs = drawn
    ours = Aspects(aspects)
    shares = data.draw(weights(collection.names))
    p = data.draw(st.sampled_from([0, 0.5, 0.8, 0.95]))
    s = data.draw(st.sampled_from([0.3, 1, 3]))
    both = {"aspects": ours, "cutoff": cutoff}

    cases: dict[Measure, Reference] = {
        uRBP(p=p, **both): fix_arguments(ref.urbp, theirs, p, cutoff),
        uRBPgr(p=p, **both): fix_arguments(ref.urbpgr, theirs, p, cutoff),
        unDCG(s=s, **both): fix_arguments(ref.undcg, theirs, s, cutoff),
        uERR(s=s, **both): fix_arguments(ref.uerr, theirs, s, cutoff),
    }
    for ideal in ("joint", "separate", "judged"):
        measure = NWCS(weights=shares, ideal=ideal, **both)
        cases[measure] = fix_arguments(ref.nwcs, theirs, shares, ideal, cutoff)
    compare(cases, collection)


@given(scaled_collections(), st.sampled_from([None, 1, 3]), st.data())
@examples(25)
def test_unjudged_documents_in_the_gain_family(
    drawn: Drawn, cutoff: int | None, data: st.DataObject
) -> None:
    """The probability of the lowest grade in uRBP and uRBPgr (MEASURES §1, "Labels"), 0 in uERR (§4)."""
    collection, aspects, theirs = drawn
    ours = Aspects(aspects)
    p, s = data.draw(st.sampled_from([0, 0.5, 0.8, 0.95])), data.draw(st.sampled_from([0.3, 1, 3]))
    compare(
        {
            uRBP(p=p, aspects=ours, cutoff=cutoff): lambda run, judged: ref.urbp(
                run, judged, theirs, p, cutoff
            ),
            uRBPgr(p=p, aspects=ours, cutoff=cutoff): lambda run, judged: ref.urbpgr(
                run, judged, theirs, p, cutoff
            ),
            uERR(s=s, aspects=ours, cutoff=cutoff): lambda run, judged: ref.uerr(
                run, judged, theirs, s, cutoff
            ),
        },
        collection,
    )


def test_every_unjudged_document_counts_where_the_lowest_grade_has_a_probability() -> None:
    """uRBPgr is (1 - p) Σ p^(rank - 1) P, with P = .2 for the documents x, y and z that nobody judged."""
    scale = {"relevance": Aspect([0, 1], probabilities=[0.2, 1])}
    qrels = {"q1": {"a": {"relevance": 1}}, "q2": {"a": {"relevance": 0}, "b": {"relevance": 1}}}
    run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"x": 4.0, "b": 3.0, "y": 2.0, "z": 1.0}}
    p = 0.5
    measure = uRBPgr(p=p, aspects=scale)

    values = value_by_query(measure, qrels, run)
    assert values["q1"] == pytest.approx((1 - p) * (0.2 + p * 1))  # x, a
    of_q2 = 0.2 + p * 1 + p**2 * 0.2 + p**3 * 0.2  # x, b, y, z
    assert values["q2"] == pytest.approx((1 - p) * of_q2)

    only_x = (1 - p) * 0.2
    assert value_by_query(measure @ 1, qrels, run) == pytest.approx({"q1": only_x, "q2": only_x})


@given(
    collections(junk_only=True),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([0, 0.25, 1, 3]),
    st.sampled_from([0, 0.25, 1, 3]),
)
@examples(35)
def test_rank_errors_against_the_reference(
    collection: Collection, cutoff: int | None, mu: float, nu: float
) -> None:
    assume(mu + nu > 0)
    assume(len(collection.names) > 1 or mu != 0)  # nu weighs pairs of aspects
    compare_rank_errors(collection, cutoff, mu, nu)


@given(collections(junk_only=True), st.sampled_from([None, 1, 3]), st.data())
@examples(35)
def test_rank_errors_with_a_constant_per_aspect_against_the_reference(
    collection: Collection, cutoff: int | None, data: st.DataObject
) -> None:
    mu = {name: data.draw(st.sampled_from([0, 0.25, 1, 3])) for name in collection.names}
    assume(any(mu.values()))
    compare_rank_errors(collection, cutoff, mu, nu=0.5)


def compare_rank_errors(
    collection: Collection, cutoff: int | None, mu: float | dict[str, float], nu: float
) -> None:
    """Compare NLRE and NGRE with the reference, on scales from 0 to 4."""
    ours = Aspects(dict.fromkeys(collection.names, 4))
    theirs = dict.fromkeys(collection.names, ref.ref_aspect([0, 1, 2, 3, 4]))
    options = {"mu": mu, "nu": nu, "aspects": ours, "cutoff": cutoff}
    compare(
        {
            NLRE(**options): fix_arguments(ref.nlre, theirs, mu, nu, cutoff),
            NGRE(**options): fix_arguments(ref.ngre, theirs, mu, nu, cutoff),
        },
        collection,
    )


@given(collections(junk_only=True, max_aspects=2), st.sampled_from([None, 2]))
@examples(25)
def test_junk_and_missing_labels_against_the_reference(
    collection: Collection, cutoff: int | None
) -> None:
    """Labels below 0 and missing ones, with the default parameters of the measures."""
    names = collection.names
    ours = Aspects(dict.fromkeys(names, 4))
    theirs = dict.fromkeys(names, ref.ref_aspect([0, 1, 2, 3, 4]))
    both = {"aspects": ours, "cutoff": cutoff}

    cases: dict[Measure, Reference] = {
        uRBPgr(**both): fix_arguments(ref.urbpgr, theirs, p=0.8, cutoff=cutoff),
        uRBP(**both): fix_arguments(ref.urbp, theirs, p=0.8, cutoff=cutoff),
        unDCG(**both): fix_arguments(ref.undcg, theirs, s=1, cutoff=cutoff),
        uERR(**both): fix_arguments(ref.uerr, theirs, s=1, cutoff=cutoff),
        NWCS(**both): fix_arguments(ref.nwcs, theirs, weights=None, ideal="joint", cutoff=cutoff),
    }
    for text, base, params in REFERENCE_BASES:
        toma = TOMA(base=text, aspects=ours)
        cases[toma] = fix_arguments(ref.toma, theirs, base, params)
        gam = GAM(base=text, aspects=ours, empty="drop")
        cases[gam] = fix_arguments(ref.gam, theirs, base, params, weights=None, empty="drop")
    compare(cases, collection)


@inferred
@given(collections(fractional=True, junk=False, max_aspects=2))
@examples(25)
def test_inferred_scales_against_the_reference(collection: Collection) -> None:
    """Without declared scales, the grades of an aspect are the labels in the qrels."""
    theirs = {}
    for name in collection.names:
        labels = []
        for documents in collection.labels.values():
            labels += [label[name] for label in documents.values()]
        assume(set(labels) != {None})  # no label at all
        theirs[name] = ref.inferred_aspect(labels)

    cases: dict[Measure, Reference] = {uRBP: fix_arguments(ref.urbp, theirs)}
    for text, base, params in REFERENCE_BASES:
        cases[TOMA(base=text)] = fix_arguments(ref.toma, theirs, base, params)
        cases[CAM(base=text)] = fix_arguments(ref.cam, theirs, base, params)
    compare(cases, collection)


def test_linear_probabilities_are_linear_in_the_label() -> None:
    """MEASURES §1: probabilities are "linear from 0 at l_0 to 1 at l_K", here 0, 1/4 and 1."""
    aspect = Aspect([0, 1, 4])
    assert aspect.scale.probabilities.tolist() == pytest.approx([0, 0.25, 1])


@given(scales())
@examples(35)
def test_declared_scales_against_the_reference(scale: Any) -> None:
    """The threshold is kept as the position of its grade."""
    ours, theirs = scale.aspect.scale, scale.reference
    assert ours.grades.tolist() == theirs.grades
    assert ours.gains.tolist() == theirs.gains
    assert ours.probabilities.tolist() == pytest.approx(theirs.probabilities)
    if len(theirs.grades) > 1:
        threshold_grade = theirs.grades[ours.threshold]
        assert threshold_grade == theirs.threshold


@st.composite
def mirrored_collections(
    draw: st.DrawFn,
) -> tuple[Collection, Collection, dict[str, Aspect], dict[str, Aspect]]:
    """Draw a collection on fractional scales from 0, and the same with some scales and their labels reversed."""
    upwards: dict[str, Aspect] = {}
    turned: dict[str, Aspect] = {}
    for name in NAMES[: draw(st.integers(1, 3))]:
        unit = draw(
            st.sampled_from([Fraction(1, 10), Fraction(1, 20), Fraction(1, 3), Fraction(1)])
        )
        steps = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
        places = [Fraction(0), *itertools.accumulate(unit * step for step in steps)]
        threshold = draw(st.sampled_from(places[1:]))
        upwards[name] = Aspect([float(grade) for grade in places], threshold=float(threshold))
        turned[name] = upwards[name]
        if draw(st.booleans()):
            down = [float(places[-1] - grade) for grade in places]
            turned[name] = Aspect(
                down, threshold=float(places[-1] - threshold), greater_is_better=False
            )
    collection = draw(
        collections(grades=[aspect.grades for aspect in upwards.values()], junk=False)
    )
    mirror = {
        name: dict(zip(aspect.grades, turned[name].grades, strict=True)) | {None: None}
        for name, aspect in upwards.items()
    }
    labels = {
        qid: {
            docno: {name: mirror[name][label] for name, label in row.items()}
            for docno, row in docs.items()
        }
        for qid, docs in collection.labels.items()
    }
    return collection, Collection(collection.names, labels, collection.run), upwards, turned


@given(mirrored_collections(), st.integers(0, 3))
@examples(25)
@pytest.mark.filterwarnings("ignore:the qrels have no label of .* counts such an intent")
def test_a_reversed_scale_with_mirrored_labels_changes_no_value(drawn: Any, part: int) -> None:
    """Labels on a scale whose lowest grade is best have the values of the same labels on one whose highest is."""
    collection, mirrored_collection, aspects, mirrored_aspects = drawn
    measures_of_part = sample_measures(len(aspects), part)
    # An explicit rel is compared with the labels as they are, which differ.
    some = [measure for measure in measures_of_part if "rel=" not in str(measure)]
    for distance in ("manhattan", 1.5):
        some.append(TOMA(base="CRP", distance=distance, weighting="normalized"))

    measures_before = declare_aspects(some, Aspects(aspects))
    measures_after = declare_aspects(some, Aspects(mirrored_aspects))
    before = evaluate(measures_before, collection.qrels, collection.run)
    after = evaluate(measures_after, mirrored_collection.qrels, mirrored_collection.run)

    for measure_before, measure_after in zip(measures_before, measures_after, strict=True):
        for qid in collection.labels:
            value_before = before[measure_before, qid]
            assert after[measure_after, qid] == value_before, (measure_before, qid)


@pytest.mark.parametrize("axes", ["equal", "gains"])
def test_a_scale_beside_the_same_reversed_has_the_classes_of_two_equal_ones(axes: str) -> None:
    """Gains of a reversed scale rise from its worst grade, so that both scales have the same steps.

    Rounding of .3 - .1 and the like must not make further classes.
    """
    grades = [0, 0.1, 0.2, 0.3]
    highest_is_best = Aspect(grades)
    lowest_is_best = Aspect(grades, greater_is_better=False)
    assert lowest_is_best.scale.gains.tolist() == [0, 0.1, 0.2, 0.3]
    expected = highest_is_best.scale.probabilities.tolist()
    assert lowest_is_best.scale.probabilities.tolist() == expected

    aspects = {"relevance": highest_is_best, "understandability": lowest_is_best}
    order = DistanceOrder(aspects, "manhattan", axes=axes)
    n_sums = len({i + j for i in range(4) for j in range(4)})  # of steps on both scales: 0 to 6
    assert order.n_classes == n_sums == 7


@pytest.mark.parametrize("distance", [0.5, 1.5, 2.5])
def test_tuples_of_one_class_are_equally_close(distance: float) -> None:
    """Sums of irrational powers differ in the last digit, which bases that compare gains must not see."""
    order = DistanceOrder(dict.fromkeys(NAMES[:3], Aspect([0, 0.1, 0.2, 0.3])), distance)
    grades = np.array(list(itertools.product(range(4), repeat=3)), dtype=np.intp)

    closeness = order.closeness(grades)

    assert len(np.unique(closeness)) == order.n_classes
    assert (closeness.min(), closeness.max()) == (0, 1)
    # The aspects are alike, so a tuple is as close as any permutation of it.
    permuted = grades[:, [1, 2, 0]]
    assert (order.closeness(permuted) == closeness).all()


NDCG_OF_RANK_2 = 1 / math.log2(3)


def test_an_aspect_is_empty_by_the_gains_its_base_maps_labels_to() -> None:
    """Credibility has labels above 0, but its base maps them to the gain 0: it is empty."""
    qrels = {
        "q": {"a": {"relevance": 1, "credibility": 1}, "b": {"relevance": 0, "credibility": 1}}
    }
    run = {"q": {"b": 2.0, "a": 1.0}}
    aspects = {"relevance": 1, "credibility": 1}
    base = {"relevance": "nDCG", "credibility": "nDCG(gains={1: 0})"}

    dropped = MM(base=base, empty="drop", aspects=aspects).calc_aggregate(qrels, run)
    on_relevance = On(base="nDCG", aspects=aspects).calc_aggregate(qrels, run)
    assert dropped == pytest.approx(on_relevance)
    assert on_relevance == pytest.approx(NDCG_OF_RANK_2)

    kept = MM(base=base, aspects=aspects).calc_aggregate(qrels, run)
    assert kept == 0


def test_an_aspect_is_not_empty_by_the_gains_its_base_maps_labels_to() -> None:
    """Relevance has no label above 0, but its base maps them to the gain 3: it is not dropped."""
    qrels = {
        "q": {"a": {"relevance": 0, "credibility": 1}, "b": {"relevance": 0, "credibility": 0}}
    }
    run = {"q": {"b": 2.0, "a": 1.0}}
    base = {"relevance": "nDCG(gains={0: 3})", "credibility": "nDCG"}
    measure = CAM(base=base, empty="drop", aspects={"relevance": 1, "credibility": 1})
    on_relevance = 1  # both documents have the same gain
    on_credibility = NDCG_OF_RANK_2
    value = measure.calc_aggregate(qrels, run)
    assert value == pytest.approx((on_relevance + on_credibility) / 2)
