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
    """Return the code of each single tuple of labels: relevance, correctness, and credibility if any."""
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
    """More useful documents have lower codes if they are incorrect, as they do more harm."""
    _, order, codes = track
    assert order.allow_violations
    with pytest.raises(MultiAspectError, match="negative weights"):
        Order(codes, order.aspects)
    # Without negative codes, an incorrect useful document still has no more than a useless one.
    not_negative = {labels: max(code, 0) for labels, code in codes.items()}
    with pytest.raises(MultiAspectError, match="violate the partial order"):
        Order(not_negative, order.aspects)


def test_orders_without_incorrect_documents_violate_nothing(track):
    _, order, codes = track
    codes_of_others = {}
    for labels, code in codes.items():
        _, correctness_label, *_ = labels
        if correctness_label != INCORRECT:
            codes_of_others[labels] = code
    Order(codes_of_others, order.aspects)


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
    """Of one document per tuple of labels: by the order, as by its codes as labels."""
    _, order, codes = track
    qrels = as_qrels(order, codes)
    code_by_docno = dict(zip(qrels["docno"], codes.values(), strict=True))
    rng = np.random.default_rng(4)
    for size in (1, len(codes) // 2, len(codes)):
        run = ranking(rng.permutation(qrels["docno"])[:size])
        for measure in (HelpfulCompat, HarmfulCompat, HelpfulMinusHarmful):
            by_order = measure(order=order).calc_aggregate(qrels, run)
            by_codes = measure.calc_aggregate({"q": code_by_docno}, run)
            assert by_order == by_codes


@pytest.mark.every(3)
def test_rankings_by_code_are_ideal(track):
    """The highest codes first are the most helpful, the lowest codes first the most harmful."""
    _, order, codes = track
    qrels = as_qrels(order, codes)
    code_by_docno = dict(zip(qrels["docno"], codes.values(), strict=True))
    by_code = sorted(code_by_docno, key=code_by_docno.get)
    helpful = HelpfulCompat(order=order).calc_aggregate(qrels, ranking(reversed(by_code)))
    assert helpful == pytest.approx(1)
    harmful = HarmfulCompat(order=order).calc_aggregate(qrels, ranking(by_code))
    assert harmful == pytest.approx(1)


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
    """Nor does a document that is judged as useless and no further."""
    _, order, _ = track
    best = tuple(scale.grades[-1] for scale in order.scales)
    n_further_aspects = len(best) - 1
    unjudged = (np.nan, *[np.nan] * n_further_aspects)
    useless = (0, *[np.nan] * n_further_aspects)
    qrels = as_qrels(order, [best, unjudged, useless])  # d00, d01, d02
    run = ranking(["d01", "d02", "not in the qrels", "d00"])
    assert HarmfulCompat(order=order).calc_aggregate(qrels, run) == 0
    only_best = qrels[qrels["docno"] == "d00"]
    for measure in (HelpfulCompat(order=order), TOMA(order=order), TOMA(base=AP, order=order)):
        assert measure.calc_aggregate(qrels, run) == measure.calc_aggregate(only_best, run)


@pytest.mark.parametrize("not_judged", [np.nan, -1, -2])
def test_useful_documents_not_judged_further_are_not_harmful(track, not_judged):
    """They have the code 1 of documents that say nothing of the answer, as the tracks have it."""
    _, order, codes = track
    n_further_aspects = len(order.names) - 1
    assert codes[(1, *[-1] * n_further_aspects)] == 1
    qrels = as_qrels(order, [(1, *[not_judged] * n_further_aspects)])
    labels = aggregate_labels(qrels, TOMA(order=order), missing="lowest").values["label"]
    assert labels.tolist() == [1]
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
    """With equal axes, one step of relevance 0-2 is as much as five of 0-10."""
    order = DistanceOrder(UNEVEN)
    assert order.axes == "equal"
    off_topic, good, unreadable = order.classes([(0, 10, 10), (2, 8, 8), (2, 0, 10)]).tolist()
    # The gaps to the best are (1, 0, 0), (0, 0.2, 0.2) and (0, 1, 0) times the length of an axis.
    assert off_topic == unreadable < good
    weights = {"relevance": 5, "understandability": 1, "trust": 1}
    as_weights = DistanceOrder(UNEVEN, axes="gains", weights=weights)
    assert order.to_list() == as_weights.to_list()


def test_a_longer_scale_is_a_weight_with_axes_of_gains() -> None:
    """An off-topic document is nearer to the best than a good one, by two steps of each other aspect."""
    order = DistanceOrder(UNEVEN, axes="gains")
    assert order.axes == "gains"
    squared_distances = {
        a**2 + b**2 + c**2 for a, b, c in itertools.product(range(3), range(11), range(11))
    }
    assert order.n_classes == len(squared_distances) == 124
    # Class 123 is the best. The squared distances up to 8 are 0, 1, 2, 3, 4, 5, 6 and 8.
    off_topic, good = (0, 10, 10), (2, 8, 8)  # at squared distances 2² = 4 and 2² + 2² = 8
    assert order.classes([off_topic, good]).tolist() == [123 - 4, 123 - 7]


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
    """An aspect of one grade, or of equal gains, has an axis of length 0: relevance alone decides."""
    flat = {"relevance": 3, "one": Aspect([1]), "flat": Aspect(2, gains=[1, 1, 1])}
    order = DistanceOrder(flat, "manhattan")
    class_by_tuple = {(0, 1, 0): 0, (1, 1, 2): 1, (3, 1, 0): 3, (3, 1, 2): 3}
    assert order.classes(list(class_by_tuple)).tolist() == list(class_by_tuple.values())
    assert DistanceOrder({"one": Aspect([1])}).n_classes == 1


def test_a_gate_whose_gains_are_equal() -> None:
    """It closes at its lowest grade, whatever the gain: the tuple is in the lowest class."""
    flat = {"relevance": 3, "one": Aspect([1]), "flat": Aspect(2, gains=[1, 1, 1])}
    order = DistanceOrder(flat, "manhattan", gate="flat")
    class_by_tuple = {(3, 1, 0): 0, (3, 1, 1): 3, (2, 1, 1): 2}
    assert order.classes(list(class_by_tuple)).tolist() == list(class_by_tuple.values())


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


def test_there_is_one_class_per_distance() -> None:
    """The number of different sums of squared gaps, for grades 0 to 2, 3, 4 and 5."""
    scales = {"a": 2, "b": 3, "c": 4, "d": 5}
    by_gains, by_equal_axes = set(), set()
    for a, b, c, d in itertools.product(range(3), range(4), range(5), range(6)):
        by_gains.add(a**2 + b**2 + c**2 + d**2)
        by_equal_axes.add(
            Fraction(a, 2) ** 2 + Fraction(b, 3) ** 2 + Fraction(c, 4) ** 2 + Fraction(d, 5) ** 2
        )
    assert DistanceOrder(scales, axes="gains").n_classes == len(by_gains) == 52
    assert DistanceOrder(scales).n_classes == len(by_equal_axes) == 236


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["manhattan", "euclidean"])
def test_too_many_classes_of_equal_axes_name_both_ways_out(distance: str) -> None:
    """Scales of prime lengths have a class for nearly each of some 4 · 10^9 tuples."""
    scales = {f"a{top}": top for top in (7, 11, 13, 17, 19, 23, 29, 31)}
    order = DistanceOrder(scales, distance)
    with pytest.raises(ma.MultiAspectError, match=r"normalized.*axes='gains'"):
        _ = order.n_classes
    assert DistanceOrder(scales, distance, axes="gains").n_classes <= 10**4
    # Whether a tuple is above the worst one needs no classes.
    worst, better = [0, 0, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7, 8]
    assert order.above_worst(np.array([worst, better])).tolist() == [False, True]


# -- from a track's codes to labels
# ----------------------------------------------------------------------


def track_qrels(column: str, codes: list[float], **more: object) -> pd.DataFrame:
    """Return one row per code and topic, 7 and 3, in reversed order, with an index of its own."""
    rows = [(qid, f"d{n}", 1, code) for qid in ("7", "3") for n, code in enumerate(codes)]
    frame = pd.DataFrame(rows, columns=["qid", "docno", "label", column]).assign(**more)
    frame.index = range(100, 100 + len(frame))
    return frame.iloc[::-1]


def values_of_topic(values: pd.Series, qrels: pd.DataFrame, qid: str) -> list[float]:
    """Return the values of a topic in the order of the codes that `track_qrels` was given."""
    reversed_values = values[qrels["qid"] == qid].tolist()
    return reversed_values[::-1]


@pytest.mark.parametrize(
    ("track", "column", "codes", "answers", "expected_of_7", "expected_of_3"),
    [
        # -1: not judged, 0: unclear, 1: yes or helpful, 2: no or unhelpful
        (2020, "answer", [-1, 0, 1, 2], {"7": "yes", "3": "no"}, [-1, 1, 2, 0], [-1, 1, 0, 2]),
        # -2 and -1: not judged, 0: dissuades, 1: neutral, 2: supports
        (2021, "supportiveness", [-2, -1, 0, 1, 2], {"7": "helpful", "3": "Unhelpful "},
         [-1, -1, 0, 1, 2], [-1, -1, 2, 1, 0]),
        # -1: not judged, 0: no, 1: yes, 2: unclear
        (2022, "answer", [-1, 0, 1, 2, np.nan], {"7": "yes", "3": "NO"}, [-1, 0, 2, 1, -1], [-1, 2, 0, 1, -1]),
    ],
)  # fmt: skip
def test_correctness_by_the_answers_of_topics(
    track, column, codes, answers, expected_of_7, expected_of_3
) -> None:
    """A document is correct (2), neither (1) or incorrect (0) by the answer of its topic; −1 unjudged."""
    qrels = track_qrels(column, codes)
    labels = correctness(qrels, answers, track)
    assert labels.index.equals(qrels.index)
    assert labels.name == "correctness"
    assert values_of_topic(labels, qrels, "7") == expected_of_7
    assert values_of_topic(labels, qrels, "3") == expected_of_3
    assert correctness(qrels, pd.Series(answers), track).equals(labels)
    assert correctness(qrels, answers, float(track)).equals(labels)


def test_correctness_by_codes_of_the_callers() -> None:
    """The caller says which answer a code stands for, None for no stance; negative codes are unjudged."""
    answer_of_code = {1: "unhelpful", 2: None, 3: "helpful", -1: None}
    answers = {"7": "helpful", "3": "unhelpful"}
    qrels = track_qrels("decision", [1, 2, 3, -1, -2])
    labels = correctness(qrels, answers, answer_of_code, "decision")
    assert values_of_topic(labels, qrels, "7") == [INCORRECT, NEITHER, CORRECT, NEITHER, UNJUDGED]
    # Keys may be texts, as in JSON.
    answer_of_text = {"1": "unhelpful", "2": None, "3": "helpful", "-1": None}
    assert correctness(qrels, answers, answer_of_text, "decision").equals(labels)


@pytest.mark.parametrize(
    ("wrong_argument", "parts_of_message"),
    [
        ({"codes": 2019}, ["2020, 2021, 2022", "2019"]),
        ({"column": "Answer"}, ["'Answer'", "qid, docno, label, answer"]),
        ({"answers": {"7": "yes"}}, ["expected an answer", "got none for 3"]),
        ({"answers": {"7": "yes", "3": "helpful"}}, ["expected answers (no, yes)", "helpful"]),
        ({"qrels": track_qrels("answer", [0, 4, 9])}, ["'answer'", "-2, -1, 0, 1, 2", "4, 9"]),
        ({"qrels": track_qrels("answer", ["no", "yes"])}, ["'answer'", "numbers", "'no'"]),
    ],
)
def test_codes_without_a_meaning_are_errors(wrong_argument, parts_of_message) -> None:
    right_arguments = {
        "qrels": track_qrels("answer", [0, 1]),
        "answers": {"7": "yes", "3": "no"},
        "codes": 2022,
    }
    with pytest.raises(MultiAspectError) as caught:
        correctness(**right_arguments | wrong_argument)
    for part in parts_of_message:
        assert part in str(caught.value)


def test_an_order_is_applied_row_by_row() -> None:
    """`apply` adds the column code, and changes nothing else."""
    qrels = track_qrels("answer", [0, 1, 2, -1])  # no, yes, unclear, not judged
    qrels["correctness"] = correctness(qrels, {"7": "yes", "3": "no"}, 2022)
    before = qrels.copy()
    coded = trec_misinfo_2022().apply(qrels)
    pd.testing.assert_frame_equal(qrels, before)
    pd.testing.assert_frame_equal(coded.drop(columns="code"), qrels)
    assert coded["code"].dtype == np.int64
    # All documents have the usefulness 1: incorrect ones have the code -1, correct ones 3.
    assert values_of_topic(coded["code"], coded, "7") == [-1, 3, 1, 1]


@pytest.mark.parametrize("measure", [HelpfulCompat, HarmfulCompat], ids=str)
def test_codes_as_labels_give_what_the_order_gives(measure) -> None:
    qrels = track_qrels("answer", [0, 1, 2, -1])
    qrels["correctness"] = correctness(qrels, {"7": "yes", "3": "no"}, 2022)
    order = trec_misinfo_2022()
    labels = qrels[["qid", "docno"]].assign(label=order.apply(qrels)["code"])
    run = pd.DataFrame({"qid": "7", "docno": ["d0", "d1", "d2"], "score": [3.0, 2.0, 1.0]})
    by_codes = measure.calc_aggregate(labels, run)
    assert by_codes == measure(order=order).calc_aggregate(qrels, run)


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


DISTANCE_QRELS = pd.DataFrame(
    {"qid": "q", "docno": ["a", "b", "c"], "label": [2, 1, 0], "credibility": [0, 2, 3]}
)
DISTANCE_RUN = pd.DataFrame({"qid": "q", "docno": ["c", "a", "b"], "score": [3.0, 2.0, 1.0]})


def test_a_registered_distance_in_measures(half_distance: str) -> None:
    """Half the Manhattan distance orders tuples as this does, so that the values are the same."""
    measure = TOMA(distance=half_distance, aspects=TWO) @ 5
    assert (
        str(measure)
        == "TOMA(distance='halved-manhattan',aspects={'relevance': 2, 'credibility': 3})@5"
    )
    assert ir_measures.parse_measure(str(measure)) == measure
    by_manhattan = TOMA(distance="manhattan", aspects=TWO) @ 5
    value = measure.calc_aggregate(DISTANCE_QRELS, DISTANCE_RUN)
    assert value == by_manhattan.calc_aggregate(DISTANCE_QRELS, DISTANCE_RUN)
    assert value < 1


def test_a_distance_that_is_registered_again(half_distance: str) -> None:
    """The name refers to the new function, also with judgments of before; a measure keeps its own."""
    measure = TOMA(distance=half_distance, aspects=TWO) @ 5
    judgments = Judgments(DISTANCE_QRELS)

    def evaluate(metric: object) -> float:
        return ma.evaluate(DISTANCE_RUN, judgments, metric, progress=False)["value"].item()

    before = evaluate(measure)
    assert before == measure.calc_aggregate(DISTANCE_QRELS, DISTANCE_RUN)

    def mostly_relevance(gaps: np.ndarray) -> np.ndarray:
        return gaps[:, 0] * 100 + gaps[:, 1]

    register_distance(half_distance)(mostly_relevance)
    assert evaluate(measure) == before
    assert evaluate(str(measure)) != before
    assert ir_measures.parse_measure(str(measure)) != measure


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


def test_the_error_of_a_distance_that_decreases_names_two_tuples() -> None:
    """At the gap .5 of relevance the distance is 4.5, at the gap 1 it is only 4."""
    aspects = {"relevance": Aspect(2), "credibility": Aspect(1)}
    expected = (
        r"decreases when the gap of relevance increases: "
        r"4\.5 for the gaps \[0\.5 1\. *\], 4 for \[1\. 1\.\]"
    )
    with pytest.raises(MultiAspectError, match=expected):
        Order.from_distance(aspects, lambda gaps: 5 - gaps[0])


def test_rounding_errors_of_large_distances_are_no_decrease() -> None:
    """0.1 + 0.2 is above 0.3 by a rounding error, which is 6e-8 here."""
    aspects = {"relevance": Aspect(2), "credibility": Aspect(1)}
    distance_of_gap = {0.0: 0.0, 0.5: 1e9 * (0.1 + 0.2), 1.0: 1e9 * 0.3}
    assert distance_of_gap[0.5] > distance_of_gap[1.0]
    order = Order.from_distance(aspects, lambda gaps: distance_of_gap[gaps[0]])
    tuple_weights = order.weights(np.array([[0, 1], [1, 1], [2, 1]]))
    assert tuple_weights[0] == tuple_weights[1] < tuple_weights[2]


def test_only_named_orders_are_printed_with_a_name() -> None:
    weights = {(1, 0): 1.0, (1, 1): 2.0}
    aspects = ["relevance", "credibility"]
    assert repr(Order(weights, aspects, name="named")).endswith("name='named')")
    assert "name=" not in repr(Order(weights, aspects))


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


def test_an_order_by_distance_as_a_table() -> None:
    """TWO has grades 0 to 2 of relevance and 0 to 3 of credibility: distances 0 to 5 from the best."""
    order = DistanceOrder(TWO, "manhattan", axes="gains", gate="relevance")
    frame = order.to_frame()
    assert list(frame.columns) == ["relevance", "credibility", "class", "weight"]
    assert len(frame) == 3 * 4 - 3  # not relevant documents have no credibility above 0
    best_tuple, highest_class, highest_weight = [2, 3], 5, 5
    assert frame.iloc[0].tolist() == [*best_tuple, highest_class, highest_weight]
    assert order.n_classes == 6
    assert order.top_weight == highest_weight


def test_both_orders_answer_alike() -> None:
    """An order by distance, and the explicit order of its tuples and weights."""
    by_distance = DistanceOrder(TWO, "manhattan", axes="gains", gate="relevance")
    frame = by_distance.to_frame()
    tuples = frame[["relevance", "credibility"]].itertuples(index=False, name=None)
    explicit = Order(dict(zip(tuples, frame["weight"].tolist(), strict=True)), TWO)
    pd.testing.assert_frame_equal(explicit.to_frame(), frame)
    assert explicit.n_classes == by_distance.n_classes
    assert explicit.top_weight == by_distance.top_weight
    grades = frame[["relevance", "credibility"]].to_numpy(dtype=np.intp)
    for method in ("class_index", "weights", "closeness", "above_worst", "is_possible"):
        of_distance = getattr(by_distance, method)(grades)
        of_explicit = getattr(explicit, method)(grades)
        assert of_explicit.tolist() == pytest.approx(of_distance.tolist()), method
    behind_the_gate = np.array([[0, 1]])
    assert not explicit.is_possible(behind_the_gate).any()


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
