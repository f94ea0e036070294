"""Named orders of tracks: every code of their descriptions, from the labels the tracks give."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
from fractions import Fraction

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, nDCG

import pt_multiaspect as ma
from pt_multiaspect import (
    TOMA,
    Aspect,
    DistanceOrder,
    HarmfulCompat,
    HelpfulCompat,
    HelpfulMinusHarmful,
    Judgments,
    MultiAspectError,
    Order,
    aggregate_labels,
    register_distance,
)
from pt_multiaspect.orders import (
    correctness,
    trec_misinfo_2020,
    trec_misinfo_2021,
    trec_misinfo_2022,
)

UNJUDGED, INCORRECT, NEITHER, CORRECT = -1, 0, 1, 2
ANY = (UNJUDGED, INCORRECT, NEITHER, CORRECT)
NO_STANCE = (UNJUDGED, NEITHER)

#: For each code of a track's description, the labels that have it, column by column.
CODES_2020 = {
    4: [1, CORRECT, 1],
    3: [1, CORRECT, (-1, 0)],
    2: [1, NO_STANCE, 1],
    1: [1, NO_STANCE, (-1, 0)],
    0: [0, ANY, (-1, 0, 1)],
    -1: [1, INCORRECT, (-1, 0)],
    -2: [1, INCORRECT, 1],
}
CODES_2021 = {
    12: [2, CORRECT, 2],
    11: [1, CORRECT, 2],
    10: [2, CORRECT, 1],
    9: [1, CORRECT, 1],
    8: [2, CORRECT, (-1, 0)],
    7: [1, CORRECT, (-1, 0)],
    6: [2, NO_STANCE, 2],
    5: [1, NO_STANCE, 2],
    4: [2, NO_STANCE, 1],
    3: [1, NO_STANCE, 1],
    2: [2, NO_STANCE, (-1, 0)],
    1: [1, NO_STANCE, (-1, 0)],
    0: [0, ANY, (-1, 0, 1, 2)],
    -1: [(1, 2), INCORRECT, (-1, 0)],
    -2: [(1, 2), INCORRECT, 1],
    -3: [(1, 2), INCORRECT, 2],
}
CODES_2022 = {
    4: [2, CORRECT],
    3: [1, CORRECT],
    2: [2, NO_STANCE],
    1: [1, NO_STANCE],
    0: [0, ANY],
    -1: [1, INCORRECT],
    -2: [2, INCORRECT],
}
TRACKS = {
    "trec-misinfo-2020": (trec_misinfo_2020, CODES_2020),
    "trec-misinfo-2021": (trec_misinfo_2021, CODES_2021),
    "trec-misinfo-2022": (trec_misinfo_2022, CODES_2022),
}


def expand(codes) -> dict[tuple[int, ...], int]:
    """The code of each single tuple of labels."""
    return {
        labels: code
        for code, columns in codes.items()
        for labels in itertools.product(
            *(column if isinstance(column, tuple) else (column,) for column in columns)
        )
    }


def as_qrels(order: Order, tuples, **more) -> pd.DataFrame:
    frame = pd.DataFrame(list(tuples), columns=list(order.names)).rename(
        columns={"relevance": "label"}
    )
    return frame.assign(qid="q", docno=[f"d{row:02d}" for row in range(len(frame))], **more)


def ranking(documents) -> dict[str, dict[str, float]]:
    return {"q": {document: 100.0 - rank for rank, document in enumerate(documents)}}


@pytest.fixture(params=TRACKS)
def track(request):
    make, codes = TRACKS[request.param]
    return request.param, make(), expand(codes)


def test_every_code_of_the_description(track):
    name, order, codes = track
    assert order.name == name
    assert order.n_tuples == len(codes)  # no combination of labels is left out
    assert order.weigh(list(codes)).tolist() == list(codes.values())
    assert order.worst_weight == 0
    assert order.top_weight == max(codes.values())


@pytest.mark.parametrize(
    ("weights", "expected"),
    [({(0, 0): 0.5, (1, 0): 1, (1, 1): 2}, 0.5), ({(1, 0): 1, (1, 1): 2}, 0)],
)
def test_the_weight_of_the_lowest_grades(weights, expected):
    order = ma.Order(weights, {"relevance": 1, "credibility": 1})
    assert order.worst_weight == expected


def test_violations_are_on_purpose(track):
    _, order, codes = track
    assert order.allow_violations
    with pytest.raises(MultiAspectError, match="negative weights"):
        Order(codes, order.aspects)
    harmless = {labels: max(code, 0) for labels, code in codes.items()}
    with pytest.raises(MultiAspectError, match="violate the partial order"):
        Order(harmless, order.aspects)
    # Without what is incorrect nothing is violated.
    Order({labels: code for labels, code in codes.items() if labels[1] != INCORRECT}, order.aspects)


def test_round_trips(track):
    name, order, codes = track
    make, _ = TRACKS[name]
    assert make() is order
    assert Order.registry.get(name) is order
    assert Order(codes, order.aspects, name=name, allow_violations=True) == order  # made twice
    assert Order.from_json(order.to_json(), name=name) == order
    assert pickle.loads(pickle.dumps(order)) == order
    for measure in (TOMA(order=order) @ 10, HelpfulMinusHarmful(order=order)):
        assert f"'{name}'" in str(measure)
        assert ir_measures.parse_measure(str(measure)) == measure
    assert TOMA(order=name) == TOMA(order=order)
    assert HelpfulCompat(order=name) == HelpfulCompat(order=order)


@pytest.mark.every(3)
def test_compatibility_is_that_of_the_codes(track):
    _, order, codes = track
    qrels = as_qrels(order, codes)
    coded = {"q": dict(zip(qrels["docno"], codes.values(), strict=True))}
    rng = np.random.default_rng(4)
    for size in (1, len(codes) // 2, len(codes)):
        run = ranking(rng.permutation(qrels["docno"])[:size])
        for measure in (HelpfulCompat, HarmfulCompat, HelpfulMinusHarmful):
            assert measure(order=order).calc_aggregate(qrels, run) == measure.calc_aggregate(
                coded, run
            )
    best = sorted(coded["q"], key=lambda doc: -coded["q"][doc])
    assert HelpfulCompat(order=order).calc_aggregate(qrels, ranking(best)) == pytest.approx(1)
    assert HarmfulCompat(order=order).calc_aggregate(qrels, ranking(best[::-1])) == pytest.approx(1)


def test_toma_takes_helpful_codes_as_classes(track):
    _, order, codes = track
    qrels = as_qrels(order, codes)
    helpful = {
        "q": {doc: max(code, 0) for doc, code in zip(qrels["docno"], codes.values(), strict=True)}
    }
    run = ranking(np.random.default_rng(5).permutation(qrels["docno"]))
    for base in (nDCG, nDCG @ 5, AP):
        value = TOMA(base=base, order=order).calc_aggregate(qrels, run)
        assert value == pytest.approx(base.calc_aggregate(helpful, run), abs=1e-9)


def test_what_is_not_judged_weighs_nothing(track):
    _, order, _ = track
    best = tuple(scale.grades[-1] for scale in order.scales)
    unjudged = (np.nan,) * len(best)
    qrels = as_qrels(order, [best, unjudged, (0, *unjudged[1:])])
    run = ranking(["d01", "d02", "not in the qrels", "d00"])
    assert HarmfulCompat(order=order).calc_aggregate(qrels, run) == 0
    alone = qrels[:1]
    for measure in (HelpfulCompat(order=order), TOMA(order=order), TOMA(base=AP, order=order)):
        assert measure.calc_aggregate(qrels, run) == measure.calc_aggregate(alone, run)


def test_useful_documents_not_judged_further_are_not_harmful(track):
    _, order, codes = track
    missing = (np.nan,) * (len(order.names) - 1)
    for skipped in (missing, (-1,) * len(missing), (-2,) * len(missing)):
        qrels = as_qrels(order, [(1, *skipped)])
        labels = aggregate_labels(qrels, TOMA(order=order), missing="lowest").values["label"]
        assert labels.tolist() == [codes[(1, *(-1,) * len(missing))]] == [1]
        assert HarmfulCompat(order=order).calc_aggregate(qrels, ranking(["d00"])) == 0


def test_judgments_that_failed_count_as_not_useful():
    qrels = as_qrels(trec_misinfo_2022(), [(-1, -1)])  # usefulness -1 in 2022
    assert HelpfulCompat(order=trec_misinfo_2022()).calc_aggregate(qrels, ranking(["d00"])) == 0
    assert HarmfulCompat(order=trec_misinfo_2022()).calc_aggregate(qrels, ranking(["d00"])) == 0


def test_labels_off_the_scales_are_refused():
    order = trec_misinfo_2020()
    with pytest.raises(MultiAspectError, match="credibility label 2"):
        Judgments(as_qrels(order, [(1, CORRECT, 2)])).views(order.aspects)
    with pytest.raises(MultiAspectError, match=r"expected a grade of .*, got 3$"):
        order.weigh([(1, 3, 1)])
    with pytest.raises(MultiAspectError, match="correctness"):
        HelpfulCompat(order=order).calc_aggregate({"q": {"d": 1}}, ranking(["d"]))


def test_thresholds_are_those_of_the_binary_qrels(track):
    _, order, codes = track
    views = Judgments(as_qrels(order, codes)).views(order.aspects)
    wanted = {"relevance": 1, "correctness": CORRECT, "credibility": 1}
    for view in views:
        assert (view.positive == (view.label >= wanted[view.name])).all()


@pytest.mark.slow
def test_the_names_are_known_from_the_start():
    code = 'import ir_measures, pt_multiaspect; print(ir_measures.parse_measure("{}"))'
    measure = "HelpfulMinusHarmful(order='trec-misinfo-2022')"
    done = subprocess.run(
        [sys.executable, "-c", code.format(measure)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == measure


# -- axes
# ----------------------------------------------------------------------------------------------


UNEVEN = {"relevance": 2, "understandability": 10, "trust": 10}


def test_a_longer_scale_is_no_weight() -> None:
    """One step of relevance 0-2 is as much as five of 0-10: an off-topic document is not nearly the best."""
    tuples = [(0, 10, 10), (2, 8, 8), (2, 0, 10)]
    gain_order, equal = DistanceOrder(UNEVEN, axes="gains"), DistanceOrder(UNEVEN)
    assert gain_order.classes(tuples[:2]).tolist() == [119, 116]  # the old default
    assert (gain_order.n_classes, gain_order.axes, equal.axes) == (124, "gains", "equal")
    off_topic, good, unreadable = equal.classes(tuples).tolist()
    assert off_topic == unreadable < good
    as_weights = DistanceOrder(
        UNEVEN, axes="gains", weights={"relevance": 5, "understandability": 1, "trust": 1}
    )
    assert equal.to_list() == as_weights.to_list()


def test_a_measure_of_uneven_scales_prefers_the_relevant_document() -> None:
    qrels = {"q": {"off topic": dict(zip(UNEVEN, (0, 10, 10), strict=True))}}
    qrels["q"]["good"] = dict(zip(UNEVEN, (2, 8, 8), strict=True))
    run = {"q": {"off topic": 2.0, "good": 1.0}}
    measure = TOMA(aspects=UNEVEN)
    assert measure(axes="gains").calc_aggregate(qrels, run) == 1.0  # the old default
    assert measure.calc_aggregate(qrels, run) < 0.95
    assert measure(axes="equal") == measure
    assert str(measure(axes="gains")).startswith("TOMA(axes='gains',")


def test_equal_axes_of_aspects_without_a_span() -> None:
    flat = {"relevance": 3, "one": Aspect([1]), "flat": Aspect(2, gains=[1, 1, 1])}
    order = DistanceOrder(flat, "manhattan")
    assert order.classes([(0, 1, 0), (1, 1, 2), (3, 1, 0), (3, 1, 2)]).tolist() == [0, 1, 3, 3]
    gated = DistanceOrder(flat, "manhattan", gate="flat")
    assert gated.classes([(3, 1, 0), (3, 1, 1), (2, 1, 1)]).tolist() == [
        0,
        3,
        2,
    ]  # the lowest grade, whatever its value
    assert DistanceOrder({"one": Aspect([1])}).n_classes == 1


def test_equal_axes_are_exact() -> None:
    """Thirds, fifths and sevenths of an axis add up: floats would see more classes."""
    scales = {"a": 3, "b": 5, "c": 7}
    order = DistanceOrder(scales, "manhattan")
    sums = {
        Fraction(a, 3) + Fraction(b, 5) + Fraction(c, 7)
        for a in range(4)
        for b in range(6)
        for c in range(8)
    }
    assert order.n_classes == len(sums)
    assert (
        order.classes([(3, 0, 0), (0, 5, 0), (0, 0, 7)]).tolist()
        == [order.classes([(3, 0, 0)])[0]] * 3
    )


def test_the_classes_of_tops_2_3_4_5() -> None:
    scales = {"a": 2, "b": 3, "c": 4, "d": 5}
    assert DistanceOrder(scales, axes="gains").n_classes == 52
    assert DistanceOrder(scales).n_classes == 236


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["manhattan", "euclidean"])
def test_too_many_classes_of_equal_axes_name_both_ways_out(distance: str) -> None:
    scales = {f"a{top}": top for top in (7, 11, 13, 17, 19, 23, 29, 31)}
    with pytest.raises(ma.MultiAspectError, match=r"normalized.*axes='gains'"):
        _ = DistanceOrder(scales, distance).n_classes
    assert DistanceOrder(scales, distance, axes="gains").n_classes <= 10**4
    grades = np.array([[0] * 8, list(range(1, 9))])
    assert DistanceOrder(scales, distance).above_worst(grades).tolist() == [
        False,
        True,
    ]  # needs no classes


# -- from a track's codes to labels
# ----------------------------------------------------------------------


def track_qrels(column: str, codes: list[float], **more: object) -> pd.DataFrame:
    """One row per code and topic, with an index and an order of its own."""
    rows = [(qid, f"d{n}", 1, code) for qid in ("7", "3") for n, code in enumerate(codes)]
    frame = pd.DataFrame(rows, columns=["qid", "docno", "label", column]).assign(**more)
    frame.index = range(100, 100 + len(frame))
    return frame.iloc[::-1]


@pytest.mark.parametrize(
    ("track", "column", "codes", "answers", "first", "second"),
    [
        (2020, "answer", [-1, 0, 1, 2], {"7": "yes", "3": "no"}, [-1, 1, 2, 0], [-1, 1, 0, 2]),
        (2021, "supportiveness", [-2, -1, 0, 1, 2], {"7": "helpful", "3": "Unhelpful "},
         [-1, -1, 0, 1, 2], [-1, -1, 2, 1, 0]),
        (2022, "answer", [-1, 0, 1, 2, np.nan], {"7": "yes", "3": "NO"}, [-1, 0, 2, 1, -1], [-1, 2, 0, 1, -1]),
    ],
)  # fmt: skip
def test_correctness_by_the_answers_of_topics(track, column, codes, answers, first, second) -> None:
    qrels = track_qrels(column, codes)
    labels = correctness(qrels, answers, track)
    assert labels.index.equals(qrels.index)
    assert labels.name == "correctness"
    by_topic = labels[::-1].groupby(qrels["qid"][::-1], sort=False).apply(list)
    assert by_topic["7"] == first
    assert by_topic["3"] == second
    assert correctness(qrels, pd.Series(answers), track).equals(labels)
    assert correctness(qrels, answers, float(track)).equals(labels)


def test_correctness_by_codes_of_the_callers() -> None:
    meaning = {1: "unhelpful", 2: None, 3: "helpful", -1: None}
    qrels = track_qrels("decision", [1, 2, 3, -1, -2])
    labels = correctness(qrels, {"7": "helpful", "3": "unhelpful"}, meaning, "decision")
    as_text = {str(code): answer for code, answer in meaning.items()}  # as JSON has keys
    assert correctness(qrels, {"7": "helpful", "3": "unhelpful"}, as_text, "decision").equals(
        labels
    )
    assert labels[qrels["qid"] == "7"].tolist()[::-1] == [0, 1, 2, 1, -1]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"codes": 2019}, ["2020, 2021, 2022", "2019"]),
        ({"column": "Answer"}, ["'Answer'", "qid, docno, label, answer"]),
        ({"answers": {"7": "yes"}}, ["expected an answer", "got none for 3"]),
        ({"answers": {"7": "yes", "3": "helpful"}}, ["expected answers (no, yes)", "helpful"]),
        ({"qrels": track_qrels("answer", [0, 4, 9])}, ["'answer'", "-2, -1, 0, 1, 2", "4, 9"]),
        ({"qrels": track_qrels("answer", ["no", "yes"])}, ["'answer'", "numbers", "'no'"]),
    ],
)
def test_codes_without_a_meaning_are_errors(change, shown) -> None:
    arguments = {
        "qrels": track_qrels("answer", [0, 1]),
        "answers": {"7": "yes", "3": "no"},
        "codes": 2022,
        **change,
    }
    with pytest.raises(MultiAspectError) as caught:
        correctness(**arguments)
    assert [part for part in shown if part not in str(caught.value)] == []


def test_an_order_is_applied_row_by_row() -> None:
    qrels = track_qrels("answer", [0, 1, 2, -1])
    qrels["correctness"] = correctness(qrels, {"7": "yes", "3": "no"}, 2022)
    before = qrels.copy()
    coded = trec_misinfo_2022().apply(qrels)
    pd.testing.assert_frame_equal(qrels, before)
    pd.testing.assert_frame_equal(coded.drop(columns="code"), qrels)
    assert coded["code"].dtype == np.int64
    assert coded.loc[coded["qid"] == "7", "code"].tolist()[::-1] == [-1, 3, 1, 1]
    # The codes as labels give what the order itself gives.
    run = pd.DataFrame({"qid": "7", "docno": ["d0", "d1", "d2"], "score": [3.0, 2.0, 1.0]})
    labels = coded[["qid", "docno"]].assign(label=coded["code"])
    for measure in (HelpfulCompat, HarmfulCompat):
        assert measure.calc_aggregate(labels, run) == measure(
            order=trec_misinfo_2022()
        ).calc_aggregate(qrels, run)


def test_applying_an_order_refuses_what_it_cannot_weigh() -> None:
    order = Order({(0, 0): 0, (1, 0): 0.5, (1, 1): 3}, ["relevance", "credibility"])
    qrels = pd.DataFrame(
        {"qid": "1", "docno": ["a", "b"], "label": [1, np.nan], "credibility": [1, -2]}
    )
    assert order.apply(qrels, "weight")["weight"].tolist() == [3.0, 0.0]
    for frame, shown in (
        (qrels.assign(credibility=[1, 7]), ["'credibility'", "0, 1", "7"]),
        (qrels.assign(label=[1, 0], credibility=[1, 1]), ["no weight", "(0, 1)"]),
        (qrels.drop(columns="credibility"), ["credibility", "qid, docno, label"]),
        (qrels.assign(code=1), ["'code'", "already"]),
        (qrels.assign(relevance=1), ["label", "relevance"]),
    ):
        with pytest.raises(MultiAspectError) as caught:
            order.apply(frame)
        assert [part for part in shown if part not in str(caught.value)] == []


# -- one protocol: by distance, registered, explicit
# -------------------------------------------------------


TWO = {"relevance": 2, "credibility": 3}


@pytest.fixture
def half_distance() -> str:
    """A distance registered for the length of a test: half the Manhattan distance."""

    @register_distance("halved-manhattan")
    def half(gaps: np.ndarray) -> np.ndarray:
        return gaps.sum(axis=1) / 2

    return "halved-manhattan"


@pytest.mark.parametrize("axes", ["equal", "gains"])
@pytest.mark.parametrize("gate", [None, "relevance"])
def test_a_registered_distance_is_the_built_in_one(
    half_distance: str, axes: str, gate: str | None
) -> None:
    weights = {"relevance": 2, "credibility": 1}
    ours = DistanceOrder(TWO, half_distance, axes=axes, weights=weights, gate=gate)
    built_in = DistanceOrder(TWO, "manhattan", axes=axes, weights=weights, gate=gate)
    assert ours.to_list() == built_in.to_list()
    pd.testing.assert_frame_equal(ours.to_frame(), built_in.to_frame())
    grades = np.array(list(itertools.product(range(3), range(4))))
    assert ours.closeness(grades) == pytest.approx(built_in.closeness(grades), abs=1e-12)
    assert ours.above_worst(grades).tolist() == built_in.above_worst(grades).tolist()


def test_a_registered_distance_in_measures(half_distance: str) -> None:
    measure = TOMA(distance=half_distance, aspects=TWO) @ 5
    assert (
        str(measure)
        == "TOMA(distance='halved-manhattan',aspects={'relevance': 2, 'credibility': 3})@5"
    )
    assert ir_measures.parse_measure(str(measure)) == measure
    qrels = pd.DataFrame(
        {"qid": "q", "docno": ["a", "b", "c"], "label": [2, 1, 0], "credibility": [0, 2, 3]}
    )
    run = pd.DataFrame({"qid": "q", "docno": ["c", "a", "b"], "score": [3.0, 2.0, 1.0]})
    value = measure.calc_aggregate(qrels, run)
    assert value == (TOMA(distance="manhattan", aspects=TWO) @ 5).calc_aggregate(qrels, run) < 1
    # If registered again, the name refers to the new function, also with cached judgments.
    # Measures made before keep theirs.
    judgments = Judgments(qrels)
    before = ma.evaluate(run, judgments, measure, progress=False)["value"].item()
    register_distance(half_distance)(lambda gaps: gaps[:, 0] * 100 + gaps[:, 1])
    kept = ma.evaluate(run, judgments, measure, progress=False)["value"].item()
    after = ma.evaluate(run, judgments, str(measure), progress=False)["value"].item()
    assert before == kept == value != after
    assert measure != ir_measures.parse_measure(str(measure))


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        (lambda gaps: -gaps.sum(axis=1), "finite numbers ≥ 0"),
        (lambda gaps: gaps[:, 0] * np.nan, "finite numbers ≥ 0"),
        (lambda gaps: 5 - gaps[:, 0], "decreases when the gap of relevance increases"),
        (lambda gaps: np.abs(gaps[:, 1] - 0.5), "decreases when the gap of credibility increases"),
        (lambda gaps: gaps, "one number per tuple"),
    ],
)
def test_registered_distances_are_checked(function, shown: str) -> None:
    register_distance("faulty")(function)
    with pytest.raises(MultiAspectError, match=shown):
        DistanceOrder(TWO, "faulty")
    for name in ("euclidean", "no name", ""):
        with pytest.raises(MultiAspectError, match=r"built-in|expected a name of letters"):
            register_distance(name)


@pytest.mark.parametrize("unit", [1e-20, 1e13, 1e20])
def test_classes_do_not_depend_on_the_unit_of_a_distance(half_distance: str, unit: float) -> None:
    """The best class was lost where the tolerance of rounding errors, which grows with the distances, exceeds 1."""
    register_distance(half_distance)(lambda gaps: gaps.sum(axis=1) * unit)
    ours, built_in = (DistanceOrder(TWO, name) for name in (half_distance, "manhattan"))
    assert ours.n_classes == built_in.n_classes
    assert ours.to_list() == built_in.to_list()
    assert Order.from_distance(TWO, lambda gaps: sum(gaps) * unit).n_classes == built_in.n_classes


def test_distances_and_orders_are_told_apart() -> None:
    order = Order(
        {(0, 0): 0, (1, 0): 1, (1, 1): 2}, ["relevance", "credibility"], name="told-apart"
    )
    for form in (order, "told-apart", order.to_json()):
        assert TOMA(order=form)["order"].to_dict() == order.to_dict()
        with pytest.raises(MultiAspectError, match="order="):
            TOMA(distance=form)
    assert str(TOMA(order=order) @ 5) == "TOMA(order='told-apart')@5"
    for measure in (TOMA, HelpfulCompat):
        with pytest.raises(MultiAspectError, match="distance="):
            measure(order="manhattan")
        with pytest.raises(MultiAspectError, match="axes, weights and gate"):
            measure(order=DistanceOrder(TWO))
    for form in ({"distance": "manhattan"}, {"axes": "gains"}, {"gate": "relevance"}):
        with pytest.raises(MultiAspectError, match=f"omit {next(iter(form))}"):
            TOMA(order=order, **form)


def test_both_orders_answer_alike() -> None:
    by_distance = DistanceOrder(TWO, "manhattan", axes="gains", gate="relevance")
    frame = by_distance.to_frame()
    assert list(frame.columns) == ["relevance", "credibility", "class", "weight"]
    assert len(frame) == 12 - 3  # the gate
    assert frame.iloc[0].tolist() == [2, 3, 5, 5]
    tuples = frame[["relevance", "credibility"]].itertuples(index=False, name=None)
    explicit = Order(dict(zip(tuples, frame["weight"].tolist(), strict=True)), TWO)
    pd.testing.assert_frame_equal(explicit.to_frame(), frame)
    grades = frame[["relevance", "credibility"]].to_numpy(dtype=np.intp)
    for ask in ("class_index", "weights", "closeness", "above_worst", "is_possible"):
        first, second = (getattr(order, ask)(grades).tolist() for order in (by_distance, explicit))
        assert first == pytest.approx(second), ask
    assert not explicit.is_possible(np.array([[0, 1]])).any()
    assert (
        (by_distance.top_weight, by_distance.n_classes)
        == (explicit.top_weight, explicit.n_classes)
        == (5, 6)
    )


def test_the_aspects_of_an_order_may_be_named_again() -> None:
    order = Order({(0, 0): 0, (1, 0): 1, (0, 1): 1, (1, 1): 3}, ["relevance", "credibility"])
    qrels = {
        "q": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}
    }
    run = {"q": {"d1": 2.0, "d2": 1.0}}
    expected = TOMA(order=order).calc_aggregate(qrels, run)
    assert (
        TOMA(order=order, aspects="credibility,relevance").calc_aggregate(qrels, run)
        == expected
        < 1
    )


def test_compatibility_takes_no_order_of_harm():
    weights = {(0, 0): 0, (0, 1): 0, (1, 0): 1, (1, 1): 0}
    harm = Order(weights, ["relevance", "correctness"], allow_violations=True, lower_is_better=True)
    with pytest.raises(MultiAspectError, match="got an order of harm"):
        HelpfulCompat(order=harm)
    assert TOMA(order=harm).lower_is_better


@pytest.mark.parametrize("base", ["P@1", "AP", "nDCG", "RR"])
@pytest.mark.parametrize("weighting", ["classes", "normalized"])
def test_no_document_is_positive_in_an_order_of_one_class(base: str, weighting: str) -> None:
    constant = {"relevance": Aspect([0, 1], gains=[2, 2])}
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1, "b": 0}}
    for params in ({"aspects": constant}, {"order": Order({(0,): 0, (1,): 0}, ["relevance"])}):
        measure = TOMA(base=base, weighting=weighting, positives="top-half", **params)
        assert measure.order(constant).n_classes == 1
        assert measure.calc_aggregate(qrels, run) == 0


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: ma.TOMA(distance=int("9" * 500)), "unknown distance"),
        (lambda: Order([None], ["a"]), "weights: expected pairs"),
        (lambda: Order([((1,), 1, 2)], ["a"]), "weights: expected pairs"),
    ],
)
def test_bad_values_are_named(make, shown: str) -> None:
    with pytest.raises(ma.MultiAspectError, match=shown):
        make()
