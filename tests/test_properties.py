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


def sample_measures(some: Sequence[Measure], part: int) -> list[Measure]:
    """Every fourth measure; four parts make all."""
    return list(some[part::4])


@given(scaled_collections(max_aspects=4), st.integers(0, 3))
@examples(35)
@pytest.mark.filterwarnings("ignore:the qrels have no label of .* counts such an intent")
@pytest.mark.usefixtures("_all_numpy_errors")
def test_ranges(drawn: tuple[Collection, dict[str, Aspect], Any], part: int) -> None:
    collection, aspects, _ = drawn
    some = declare_aspects(sample_measures(ON_NAMES[len(aspects)], part), Aspects(aspects))
    values = evaluate(some, collection.qrels, collection.run)
    assert len(values) == len(set(some)) * len(collection.labels)
    check_ranges(values)


@inferred
@given(collections(junk_only=True), st.integers(0, 3))
@examples(15)
@pytest.mark.usefixtures("_all_numpy_errors")
def test_ranges_on_inferred_scales(collection: Collection, part: int) -> None:
    some = sample_measures(ON_NAMES[len(collection.names)], part)
    check_ranges(evaluate(some, collection.pt_qrels, collection.run_frame))


@inferred
@given(collections(fractional=True, junk_only=True), st.integers(0, 3))
@examples(15)
@pytest.mark.usefixtures("_all_numpy_errors")
def test_ranges_on_fractional_labels(collection: Collection, part: int) -> None:
    some = sample_measures(ON_NAMES[len(collection.names)], part)
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


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_ranges_on_hostile_scales(name: str) -> None:
    aspects = Aspects(HOSTILE[name])
    rng = random.Random(1)
    rows, run = [], []
    for qid in ("a", "b", "c", "d"):
        for docno in "uvwxyz":
            labels = [
                rng.choice([*aspect.grades, aspect.grades[0], None]) for aspect in aspects.values()
            ]  # type: ignore[misc]
            rows.append((qid, docno, *([None, None] if qid == "d" else labels)))
        run += [(qid, docno, rng.choice([1.0, 2.0])) for docno in rng.sample("uvwxyzZ", 5)]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", "label", "credibility"])
    frame = pd.DataFrame(run, columns=["qid", "docno", "score"]).rename(
        columns={"qid": "query_id", "docno": "doc_id"}
    )
    some = [
        measure for measure in declare_aspects(ON_NAMES[2], aspects)
        # Exponents of such gaps are beyond any number.
        if not (name in ("huge grades", "tiny grades") and measure.params.get("distance") == 30)
    ]  # fmt: skip
    if name == "negative values":
        some = [measure for measure in some if not is_refused(measure, qrels, frame)]
        assert len(some) > 150
    check_ranges(evaluate(some, qrels, frame))


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
    collection, aspects, theirs = drawn
    gate = collection.names[-1] if gated else None
    stretch = data.draw(weights(collection.names))
    parameters = {"distance": distance, "weights": stretch, "gate": gate}
    measure = TOMA(aspects=Aspects(aspects), weighting=weighting, cutoff=cutoff, **parameters)
    order = ref.toma_classes(theirs, **parameters)
    ((qid, judged),) = collection.labels.items()
    classes = {docno: order.index[ref.toma_tuple(judged, docno, theirs, gate)] for docno in judged}
    documents = list(judged)
    rng.shuffle(documents)  # within a class any order will do
    documents.sort(key=lambda docno: -classes[docno])
    some_weight = max(classes.values()) > 0
    ideal = {docno: float(-rank) for rank, docno in enumerate([*documents, "unjudged"])}
    assert value_by_query(measure, collection.qrels, {qid: ideal}) == {
        qid: 1.0 if some_weight else 0.0
    }

    rng.shuffle(documents)
    scores = {docno: float(-rank) for rank, docno in enumerate(documents)}
    (value,) = value_by_query(measure, collection.qrels, {qid: scores}).values()
    ranked, best = (
        [classes[docno] for docno in documents[:cutoff]],
        sorted(classes.values(), reverse=True)[:cutoff],
    )
    assert 0.0 <= value <= 1.0
    if some_weight:
        assert (value == 1.0) == (ranked == best)


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
    aspects = Aspects({"relevance": 2, "credibility": 3})
    tuples = list(itertools.product(range(3), range(4)))
    classes = DistanceOrder(aspects, distance, axes=axes).classes(tuples).tolist()
    order = Order(zip(tuples, classes, strict=True), aspects)
    for base in ("nDCG@3", "AP", "AP(rel=2)", "SetF", "Bpref", "Compat"):
        measure = TOMA(base=base, weighting=weighting, positives=positives)
        first, second = (
            value_by_query(variant, collection.qrels, collection.run)
            for variant in (
                measure(distance=distance, axes=axes, aspects=aspects),
                measure(order=order),
            )
        )
        assert first == pytest.approx(second, abs=1e-12), measure


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
    """All permutations of n grades that all aspects share, each as a query of its own."""
    names = NAMES[:n_aspects]
    rows, run = [], []
    for index, grades in enumerate(itertools.permutations(range(n))):
        rows += [
            (f"{index:04}", f"d{rank}", *[grade] * n_aspects) for rank, grade in enumerate(grades)
        ]
        run += [(f"{index:04}", f"d{rank}", -float(rank)) for rank in range(n)]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", *names])
    frame = pd.DataFrame(run, columns=["query_id", "doc_id", "score"])
    aspects = Aspects(dict.fromkeys(names, n - 1))
    for constants in CONSTANTS:
        mu = constants["mu"]
        given_mu = {name: mu[name] for name in names} if isinstance(mu, dict) else mu
        for error in (NLRE, NGRE):
            measure = error(aspects=aspects, **{**constants, "mu": given_mu})
            values = value_by_query(measure, qrels, frame).values()
            assert min(values) == pytest.approx(0, abs=1e-12), measure
            assert max(values) == 1.0, measure
            assert all(0.0 <= value <= 1.0 for value in values), measure


@pytest.mark.parametrize("n", [2, 3, 4])
def test_rank_errors_of_any_pair_of_orders_stay_in_range(n: int) -> None:
    """Every ranking of n documents against every pair of orders, zero constants included."""
    rows, run = [], []
    for index, (first, second) in enumerate(
        itertools.product(itertools.permutations(range(n)), repeat=2)
    ):
        rows += [
            (f"{index:04}", f"d{rank}", *grades)
            for rank, grades in enumerate(zip(first, second, strict=True))
        ]
        run += [(f"{index:04}", f"d{rank}", -float(rank)) for rank in range(n)]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", *NAMES[:2]])
    frame = pd.DataFrame(run, columns=["query_id", "doc_id", "score"])
    for mu, nu in ((0.5, 0.5), (0, 1), (1, 0), (3, 0.1)):
        for error in (NLRE, NGRE):
            values = value_by_query(
                error(mu=mu, nu=nu, aspects=dict.fromkeys(NAMES[:2], n - 1)), qrels, frame
            )
            raw = [
                1 - _rank_error(error.NAME, n, rows[i * n : (i + 1) * n], mu, nu)
                for i in range(len(values))
            ]
            assert min(raw) > -1e-12
            assert min(raw) == pytest.approx(0, abs=1e-12)
            assert list(values.values()) == pytest.approx(raw, abs=1e-12)


def _rank_error(name: str, n: int, rows: Sequence[tuple[Any, ...]], mu: float, nu: float) -> float:
    """Return the error divided by its maximum, unclipped; positions are those of distinct grades."""
    positions = [[n - row[2 + aspect] for row in rows] for aspect in (0, 1)]
    error, greatest = (ref.lre, ref.c_lre) if name == "NLRE" else (ref.gre, ref.c_gre)
    return error(positions, [mu, nu]) / greatest(n, [mu, nu])


# -- independence of order
# ----------------------------------------------------------------------------

ELSEWHERE = ("Bpref", "infAP", "Compat", "IPrec@0.1", "NumRet(rel=1)")


# Not shrunk, which takes minutes with so many measures: the failing values name the measure.
@given(collections(min_aspects=2), st.randoms(use_true_random=False), st.integers(0, 3))
@examples(15, phases=[Phase.explicit, Phase.generate])
def test_the_order_of_rows_does_not_matter(
    collection: Collection, rng: random.Random, part: int
) -> None:
    aspects = Aspects(dict.fromkeys(collection.names, 4))
    some = sample_measures(ON_NAMES[len(collection.names)], part)
    some += [measure(base=base) for measure in (TOMA, CAM) for base in ELSEWHERE[part::4]]
    some = declare_aspects(some, aspects)
    qrels, run = collection.qrels, collection.run_frame
    values = evaluate(some, qrels, run)

    def shuffle_rows(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.iloc[rng.sample(range(len(frame)), len(frame))].reset_index(drop=True)

    assert evaluate(some, shuffle_rows(qrels), run) == values
    assert evaluate(some, qrels, shuffle_rows(run)) == values
    assert evaluate(list(reversed(some)), shuffle_rows(qrels), shuffle_rows(run)) == values
    twice = shuffle_rows(pd.concat([qrels, qrels]))  # equal judgments are merged
    assert evaluate(some, twice, run) == values


@given(collections(min_aspects=2, max_queries=2), st.integers(0, 3))
@examples(15)
def test_the_shape_of_qrels_and_run_does_not_matter(collection: Collection, part: int) -> None:
    aspects = Aspects(dict.fromkeys(collection.names, 4))
    some = declare_aspects(sample_measures(ON_NAMES[len(collection.names)], part), aspects)
    values = evaluate(some, collection.qrels, collection.run)
    assert evaluate(some, collection.labels, collection.run) == values
    tuples = {
        qid: {docno: tuple(label.values()) for docno, label in docs.items()}
        for qid, docs in collection.labels.items()
    }
    assert evaluate(some, tuples, collection.run_frame) == values
    assert evaluate(some, list(collection.qrels.itertuples(index=False)), collection.run) == values


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
    here = Path(__file__).resolve().parent
    printed = []
    for seed in ("1", "271"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(here)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(here.parent)},
            capture_output=True, text=True, check=True, cwd=here.parent,
        )  # fmt: skip
        printed.append(done.stdout)
    assert printed[0].count("\n") == len({*ON_NAMES[2], ON_NAMES[2][0] @ 3}) * 5
    assert printed[0] == printed[1]


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
    same = [ir_measures.parse_measure(str(measure)), pickle.loads(pickle.dumps(measure))]
    try:
        values = value_by_query(measure, collection.qrels, collection.run)
    except ValueError:  # this base does not go with these parameters or labels
        for again in same:
            with pytest.raises(ValueError):  # noqa: PT011
                value_by_query(again, collection.qrels, collection.run)
    else:
        for again in same:
            assert value_by_query(again, collection.qrels, collection.run) == values
        base_is_ranged = "base" not in measure.params or measure.NAME != "On"
        assert not any(math.isnan(value) for value in values.values())
        if base_is_ranged:
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
    stretch: Any,
    gated: bool,
    axes: str,
) -> None:
    ours, theirs = drawn
    names = list(ours)
    gate = names[-1] if gated else None
    given_weights = stretch and dict(zip(names, stretch, strict=False))
    assume(given_weights is None or any(given_weights.values()))
    # 1/3 is read as a third, not as the decimal it prints as, so that thirds add up.
    exact_weights = given_weights and {
        name: Fraction(weight).limit_denominator(1000) for name, weight in given_weights.items()
    }
    wanted = ref.toma_classes(theirs, distance, exact_weights, gate, axes)
    order = DistanceOrder(ours, distance, axes=axes, weights=given_weights, gate=gate)
    assert order.n_classes == wanted.n_classes
    tuples = list(wanted.index)
    assert order.classes(tuples).tolist() == list(wanted.index.values())
    grades = np.array(tuples, dtype=np.intp).reshape(len(tuples), len(names))
    closeness = order.closeness(grades).tolist()
    assert closeness == pytest.approx([wanted.normalized[labels] for labels in tuples], abs=1e-9)
    assert order.above_worst(grades).tolist() == [index > 0 for index in wanted.index.values()]
    if gate is not None:
        impossible = [
            labels
            for labels in itertools.product(*(a.grades for a in theirs.values()))
            if labels not in wanted.index
        ]
        assert not impossible or set(order.classes(impossible).tolist()) == {0}
    listed = order.to_list()
    assert len(listed) == wanted.n_classes
    assert {
        labels: wanted.n_classes - 1 - i for i, group in enumerate(listed) for labels in group
    } == wanted.index


def test_three_aspects_in_tenths_have_ten_manhattan_classes() -> None:
    tenths = Aspect(3, gains=[0, 0.1, 0.2, 0.3])
    assert DistanceOrder(dict.fromkeys(NAMES[:3], tenths), "manhattan").n_classes == 10
    thirds = Aspect(3, gains=[0, 1 / 3, 2 / 3, 1])
    assert DistanceOrder(dict.fromkeys(NAMES[:3], thirds), "manhattan").n_classes == 10


@pytest.mark.parametrize("exponent", [2.5, 0.5, 1.1])
def test_sums_of_irrational_powers_do_not_fall_apart(exponent: float) -> None:
    """Four aspects of four even grades: as many classes as there are multisets of gaps, not 4^4."""
    tenths = Aspect(3, gains=[0, 0.1, 0.2, 0.3])
    order = DistanceOrder(dict.fromkeys(NAMES, tenths), exponent)
    assert order.n_classes == math.comb(4 + 4 - 1, 4)
    for gaps in itertools.product(range(4), repeat=4):
        assert len(set(order.classes(list(itertools.permutations(gaps))).tolist())) == 1


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
    collection, aspects, theirs = drawn
    shares = data.draw(weights(collection.names))
    chosen = {name: bases[0 if same else i] for i, name in enumerate(collection.names)}
    our_base = (
        chosen[collection.names[0]][0] if same else {name: base[0] for name, base in chosen.items()}
    )
    their_base = {name: base[1] for name, base in chosen.items()}
    measure = CAM(
        base=our_base, normalized=True, weights=shares, empty=empty, aspects=Aspects(aspects)
    )
    values = value_by_query(measure, collection.qrels, collection.run)
    for qid, judged in collection.labels.items():
        run = collection.run.get(qid, {})
        wanted = ref.cam(run, judged, theirs, their_base, None, shares, empty, normalized=True)
        assert values[qid] == pytest.approx(wanted, abs=1e-9), measure
        # The best ranking attains 1, and none more.
        rankings = [
            (
                ref.arithmetic(
                    ref.scores_by_aspect(order, judged, theirs, their_base, None, shares, empty)
                ),
                order,
            )
            for order in itertools.permutations(judged)
        ]
        best, ranking = max(rankings)
        top = {qid: {docno: -float(rank) for rank, docno in enumerate(ranking)}}
        assert value_by_query(measure, collection.qrels, top)[qid] == pytest.approx(
            float(best > 0), abs=1e-12
        )


# -- everything against the reference
# --------------------------------------------------------------------

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
    collection, aspects, theirs = drawn
    ours = Aspects(aspects)
    shares = data.draw(weights(collection.names))
    cases: dict[Measure, Reference] = {}
    pairs = [
        (CAM, ref.cam),
        (MM, ref.mm),
        (GAM, ref.gam),
        *([(WHAM, ref.wham)] if len(ours) == 2 else []),
    ]
    for text, base, params in data.draw(
        st.lists(st.sampled_from(REFERENCE_BASES), min_size=4, max_size=6)
    ):
        for measure, function in pairs:
            cases[measure(base=text, weights=shares, empty=empty, aspects=ours)] = (
                lambda run, judged, function=function, base=base, params=params: function(
                    run, judged, theirs, base, params, shares, empty
                )
            )
        for name in ours:
            cases[On(aspect=name, base=text, aspects=ours)] = (
                lambda run, judged, name=name, base=base, params=params: ref.on(
                    run, judged, theirs, name, base, params
                )
            )
    chosen = {name: data.draw(st.sampled_from(REFERENCE_BASES)) for name in collection.names}
    for measure, function in pairs:
        cases[
            measure(
                base={name: choice[0] for name, choice in chosen.items()}, empty=empty, aspects=ours
            )
        ] = lambda run, judged, function=function: function(
            run,
            judged,
            theirs,
            {name: (choice[1], choice[2]) for name, choice in chosen.items()},
            None,
            None,
            empty,
        )
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
    function, slope = getattr(means, mean), getattr(means, f"{mean}_slope")
    values, weights_ = np.array([[0.2], [0.7], [0.4]]), np.array([[0.5], [0.2], [0.3]])
    steps = np.eye(3) * 1e-6
    differences = (function(values + steps, weights_) - function(values - steps, weights_)) / 2e-6
    assert slope(values, weights_)[:, 0] == pytest.approx(differences, abs=1e-8)


@given(scaled_collections(), st.data())
@examples(60)
def test_toma_against_the_reference(drawn: Drawn, data: st.DataObject) -> None:
    collection, aspects, theirs = drawn
    ours = Aspects(aspects)
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
        for text, base, params in data.draw(
            st.lists(st.sampled_from(REFERENCE_BASES), min_size=3, max_size=3)
        ):
            # ERR and exp-log2 exponentiate already.
            if parameters["weighting"] == "exponential" and (base == "ERR" or "dcg" in params):
                continue
            cases[TOMA(base=text, aspects=ours, **parameters)] = (
                lambda run, judged, base=base, params=params, parameters=parameters: ref.toma(
                    run, judged, theirs, base, params, **parameters
                )
            )
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
    p, s = data.draw(st.sampled_from([0, 0.5, 0.8, 0.95])), data.draw(st.sampled_from([0.3, 1, 3]))
    cases: dict[Measure, Reference] = {
        uRBP(p=p, aspects=ours, cutoff=cutoff): lambda run, judged: ref.urbp(
            run, judged, theirs, p, cutoff
        ),
        uRBPgr(p=p, aspects=ours, cutoff=cutoff): lambda run, judged: ref.urbpgr(
            run, judged, theirs, p, cutoff
        ),
        unDCG(s=s, aspects=ours, cutoff=cutoff): lambda run, judged: ref.undcg(
            run, judged, theirs, s, cutoff
        ),
        uERR(s=s, aspects=ours, cutoff=cutoff): lambda run, judged: ref.uerr(
            run, judged, theirs, s, cutoff
        ),
    }
    for ideal in ("joint", "separate", "judged"):
        cases[NWCS(weights=shares, ideal=ideal, aspects=ours, cutoff=cutoff)] = (
            lambda run, judged, ideal=ideal: ref.nwcs(run, judged, theirs, shares, ideal, cutoff)
        )
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
    """By hand: (1 - p) Σ p^(k - 1) P, with P = .2 for the documents x, y and z that nobody judged."""
    scale = {"relevance": Aspect([0, 1], probabilities=[0.2, 1])}
    qrels = {"q1": {"a": {"relevance": 1}}, "q2": {"a": {"relevance": 0}, "b": {"relevance": 1}}}
    run = {"q1": {"x": 2.0, "a": 1.0}, "q2": {"x": 4.0, "b": 3.0, "y": 2.0, "z": 1.0}}
    measure = uRBPgr(p=0.5, aspects=scale)
    values = {metric.query_id: metric.value for metric in measure.iter_calc(qrels, run)}
    assert values == pytest.approx(
        {"q1": (0.2 + 1 / 2) / 2, "q2": (0.2 + 1 / 2 + 0.2 / 4 + 0.2 / 8) / 2}
    )
    values = {metric.query_id: metric.value for metric in (measure @ 1).iter_calc(qrels, run)}
    assert values == pytest.approx({"q1": 0.1, "q2": 0.1})


@given(collections(junk_only=True), st.sampled_from([None, 1, 3]), st.data())
@examples(35)
def test_rank_errors_against_the_reference(
    collection: Collection, cutoff: int | None, data: st.DataObject
) -> None:
    names = collection.names
    ours, theirs = (
        Aspects(dict.fromkeys(names, 4)),
        dict.fromkeys(names, ref.ref_aspect([0, 1, 2, 3, 4])),
    )
    constant = st.sampled_from([0, 0.25, 1, 3])
    mu: Any = data.draw(constant | st.fixed_dictionaries(dict.fromkeys(names, constant)))
    nu = 0.5 if isinstance(mu, dict) else data.draw(constant)
    assume(any(mu.values()) if isinstance(mu, dict) else mu + nu > 0)
    assume(len(names) > 1 or mu != 0)
    compare(
        {
            measure(mu=mu, nu=nu, aspects=ours, cutoff=cutoff): (
                lambda run, judged, function=function: function(run, judged, theirs, mu, nu, cutoff)
            )
            for measure, function in ((NLRE, ref.nlre), (NGRE, ref.ngre))
        },
        collection,
    )


@given(collections(junk_only=True, max_aspects=2), st.sampled_from([None, 2]))
@examples(25)
def test_junk_and_missing_labels_against_the_reference(
    collection: Collection, cutoff: int | None
) -> None:
    names = collection.names
    ours, theirs = (
        Aspects(dict.fromkeys(names, 4)),
        dict.fromkeys(names, ref.ref_aspect([0, 1, 2, 3, 4])),
    )
    cases: dict[Measure, Reference] = {
        uRBPgr(aspects=ours, cutoff=cutoff): lambda run, judged: ref.urbpgr(
            run, judged, theirs, 0.8, cutoff
        ),
        uRBP(aspects=ours, cutoff=cutoff): lambda run, judged: ref.urbp(
            run, judged, theirs, 0.8, cutoff
        ),
        unDCG(aspects=ours, cutoff=cutoff): lambda run, judged: ref.undcg(
            run, judged, theirs, 1, cutoff
        ),
        uERR(aspects=ours, cutoff=cutoff): lambda run, judged: ref.uerr(
            run, judged, theirs, 1, cutoff
        ),
        NWCS(aspects=ours, cutoff=cutoff): lambda run, judged: ref.nwcs(
            run, judged, theirs, None, "joint", cutoff
        ),
    }
    for text, base, params in REFERENCE_BASES:
        cases[TOMA(base=text, aspects=ours)] = lambda run, judged, base=base, params=params: (
            ref.toma(run, judged, theirs, base, params)
        )
        cases[GAM(base=text, aspects=ours, empty="drop")] = (
            lambda run, judged, base=base, params=params: ref.gam(
                run, judged, theirs, base, params, None, "drop"
            )
        )
    compare(cases, collection)


@inferred
@given(collections(fractional=True, junk=False, max_aspects=2))
@examples(25)
def test_inferred_scales_against_the_reference(collection: Collection) -> None:
    columns = {
        name: [label[name] for docs in collection.labels.values() for label in docs.values()]
        for name in collection.names
    }
    theirs = {
        name: ref.inferred_aspect(labels)
        for name, labels in columns.items()
        if set(labels) != {None}
    }
    assume(len(theirs) == len(columns))
    cases: dict[Measure, Reference] = {
        uRBP: lambda run, judged: ref.urbp(run, judged, theirs),
    }
    for text, base, params in REFERENCE_BASES:
        cases[TOMA(base=text)] = lambda run, judged, base=base, params=params: ref.toma(
            run, judged, theirs, base, params
        )
        cases[CAM(base=text)] = lambda run, judged, base=base, params=params: ref.cam(
            run, judged, theirs, base, params
        )
    compare(cases, collection)


def test_linear_probabilities_are_linear_in_the_label() -> None:
    """MEASURES §1: probabilities are "linear from 0 at l_0 to 1 at l_K", here 0, 1/4 and 1."""
    aspect = Aspect([0, 1, 4])
    assert aspect.scale.probabilities.tolist() == pytest.approx([0, 0.25, 1])


@given(scales())
@examples(35)
def test_declared_scales_against_the_reference(scale: Any) -> None:
    ours, theirs = scale.aspect.scale, scale.reference
    assert ours.grades.tolist() == theirs.grades
    assert ours.gains.tolist() == theirs.gains
    assert ours.probabilities.tolist() == pytest.approx(theirs.probabilities)
    if len(theirs.grades) > 1:
        assert theirs.grades[ours.threshold] == theirs.threshold


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
    collection, mirror, upwards, turned = drawn
    # An explicit rel is compared with the original labels.
    some = [
        measure
        for measure in sample_measures(ON_NAMES[len(upwards)], part)
        if "rel=" not in str(measure)
    ]
    some += [
        TOMA(base="CRP", distance=distance, weighting="normalized")
        for distance in ("manhattan", 1.5)
    ]
    before = evaluate(declare_aspects(some, Aspects(upwards)), collection.qrels, collection.run)
    after = evaluate(declare_aspects(some, Aspects(turned)), mirror.qrels, mirror.run)
    for measure in some:
        first, second = (measure(aspects=Aspects(aspects)) for aspects in (upwards, turned))
        for qid in collection.labels:
            assert after[second, qid] == before[first, qid], (measure, qid)


@pytest.mark.parametrize("axes", ["equal", "gains"])
def test_a_scale_beside_the_same_reversed_has_the_classes_of_two_equal_ones(axes: str) -> None:
    up, down = Aspect([0, 0.1, 0.2, 0.3]), Aspect([0, 0.1, 0.2, 0.3], greater_is_better=False)
    assert down.scale.gains.tolist() == [0, 0.1, 0.2, 0.3]
    assert down.scale.probabilities.tolist() == up.scale.probabilities.tolist()
    assert (
        DistanceOrder(
            {"relevance": up, "understandability": down}, "manhattan", axes=axes
        ).n_classes
        == 7
    )


@pytest.mark.parametrize("distance", [0.5, 1.5, 2.5])
def test_tuples_of_one_class_are_equally_close(distance: float) -> None:
    """Sums of irrational powers differ in the last digit, which bases that compare gains must not see."""
    order = DistanceOrder(dict.fromkeys(NAMES[:3], Aspect([0, 0.1, 0.2, 0.3])), distance)
    grades = np.array(list(itertools.product(range(4), repeat=3)), dtype=np.intp)
    closeness = order.closeness(grades)
    assert len(np.unique(closeness)) == order.n_classes
    assert (closeness.min(), closeness.max()) == (0, 1)
    assert (closeness[np.lexsort(grades.T)] == closeness[np.lexsort(grades[:, [1, 2, 0]].T)]).all()


def test_an_aspect_is_empty_by_the_gains_its_base_maps_labels_to() -> None:
    judged = {
        "q": {"a": {"relevance": 1, "credibility": 1}, "b": {"relevance": 0, "credibility": 1}}
    }
    run = {"q": {"b": 2.0, "a": 1.0}}
    aspects = dict.fromkeys(NAMES[:2], 1)
    worthless = {"relevance": "nDCG", "credibility": "nDCG(gains={1: 0})"}
    assert MM(base=worthless, empty="drop", aspects=aspects).calc_aggregate(
        judged, run
    ) == pytest.approx(On(base="nDCG", aspects=aspects).calc_aggregate(judged, run))
    assert MM(base=worthless, aspects=aspects).calc_aggregate(judged, run) == 0
    lowest = {
        "q": {"a": {"relevance": 0, "credibility": 1}, "b": {"relevance": 0, "credibility": 0}}
    }
    worthy = {"relevance": "nDCG(gains={0: 3})", "credibility": "nDCG"}
    assert CAM(base=worthy, empty="drop", aspects=aspects).calc_aggregate(
        lowest, run
    ) == pytest.approx((1 + 1 / math.log2(3)) / 2)
