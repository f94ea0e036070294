"""RBU: the authors' figures, the reference, and what it states of itself."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import ir_measures
import pytest
import reference as ref
from comparison import compare
from hypothesis import given
from hypothesis import strategies as st
from shared_data import golden
from strategies import Collection, examples, scaled_collections, weights

import pt_multiaspect as ma
from pt_multiaspect import RBU, Aspect, Aspects, MultiAspectError
from pt_multiaspect.analysis import upper_bound
from pt_multiaspect.bases.cascade import Effort, RankBiasedStopping
from pt_multiaspect.testing import check_measure

BOTH = Aspects({"relevance": 1, "credibility": 1})
QRELS = {"q": {"a": {"relevance": 1, "credibility": 0}, "b": {"relevance": 1, "credibility": 1}}}
RUN = {"q": {"a": 2.0, "b": 1.0}}


# -- the authors' figures
# ------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", ["p=0.8,e=0.03", "p=0.99,e=0.05", "p=0.5,e=0.0"])
@pytest.mark.parametrize("as_string", [False, True], ids=["object", "string"])
def test_golden(setting: str, as_string: bool) -> None:
    content = golden("rbu.json")
    names = content["aspects"]
    p, effort = (float(part.partition("=")[2]) for part in setting.split(","))
    shares = dict(zip(names, content["weights"], strict=True))
    measure: Any = RBU(p=p, effort=effort, weights=shares, aspects=dict.fromkeys(names, 2))
    qrels = {
        qid: {docno: dict(zip(names, labels, strict=True)) for docno, labels in docs.items()}
        for qid, docs in content["qrels"].items()
    }
    run = {
        qid: {docno: -float(rank) for rank, docno in enumerate(docs)}
        for qid, docs in content["runs"].items()
    }
    if as_string:
        (parsed,) = ir_measures.parse_trec_measure(str(measure))
        assert parsed == measure
    given_as = str(measure) if as_string else measure
    table = ma.evaluate({"run": run}, qrels, given_as, progress=False).set_index("qid")["value"]
    by_query = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
    assert by_query == pytest.approx(table.to_dict())
    for qid, value in content["values"][setting].items():
        assert by_query[qid] == pytest.approx(value, abs=0.5e-4 + 1e-9), qid


# -- by hand and against the reference
# -----------------------------------------------------------------------


def test_by_hand() -> None:
    """By aspect, RBU sums (1 − p) p^(k−1) · P(stop at k), less the effort of examining each rank."""
    aspects = {"relevance": 1, "credibility": 1}
    first = {"relevance": 1, "credibility": 0}
    second = {"relevance": 1, "credibility": 1}

    measure = RBU(p=0.5, effort=0.1, aspects=aspects)
    value = measure.calc_aggregate({"q": {"a": first, "b": second}}, {"q": {"a": 2.0, "b": 1.0}})

    # Half of the users are satisfied by a document with the grade 1 of 1, as in ERR.
    weights = [0.5, 0.5 * 0.5]  # of ranks 1 and 2
    relevance = weights[0] * 0.5 + weights[1] * (0.5 * 0.5)  # half have stopped at rank 1
    credibility = weights[1] * 0.5
    effort = 0.1 * (weights[0] + weights[1])
    assert value == pytest.approx((relevance + credibility) / 2 - effort, abs=1e-15)


def test_every_retrieved_document_costs_effort() -> None:
    """Documents without labels have no gain; what they cost remains."""
    measure = RBU(p=0.5, effort=0.2, aspects=BOTH)
    without_labels = {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}
    value = measure.calc_aggregate(QRELS, without_labels)
    assert value == pytest.approx(-0.2 * (0.5 + 0.5**2 + 0.5**3), abs=1e-15)
    value_at_1 = (measure @ 1).calc_aggregate(QRELS, without_labels)
    assert value_at_1 == pytest.approx(-0.2 * 0.5, abs=1e-15)


def test_a_topic_with_nothing_retrieved_costs_nothing() -> None:
    measure = RBU(p=0.5, effort=0.2, aspects=BOTH)
    qrels = {**QRELS, "other": {"a": {"relevance": 1}}}
    run = {"other": {"a": 1.0}, "q": {}}
    values = ma.evaluate({"run": run}, qrels, measure, progress=False)
    assert values.set_index("qid")["value"]["q"] == 0


def test_the_top_of_the_scale_counts_and_not_that_of_the_labels() -> None:
    qrels = {"q": {"a": 1}}
    run = {"q": {"a": 1.0}}
    # The probability of stopping at grade 1 of 0 to 3, as in ERR.
    declared = RBU(p=0, effort=0, aspects={"relevance": 3})
    assert declared.calc_aggregate(qrels, run) == pytest.approx((2**1 - 1) / 2**3)
    # Without a declared scale, the only label would be the top grade.
    inferred = RBU(p=0, effort=0, aspects="relevance")
    with pytest.warns(ma.MultiAspectWarning, match=r"RBU depends on.*scales"):
        inferred.calc_aggregate(qrels, run)


@given(scaled_collections(), st.sampled_from([None, 1, 3]), st.data())
@examples(25)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_against_the_reference(
    drawn: tuple[Collection, dict[str, Aspect], dict[str, ref.RefAspect]],
    cutoff: int | None,
    data: st.DataObject,
) -> None:
    """Two measures with drawn parameters have the values of the reference on a drawn collection."""
    collection, aspects, reference_aspects = drawn
    cases = {}  # by measure, the function that returns the value for a run and judgments
    for _ in range(2):
        p = data.draw(st.sampled_from([0, 0.5, 0.8, 0.99]))
        effort = data.draw(st.sampled_from([0, 0.05, 2]))
        drawn_weights = data.draw(weights(collection.names))
        measure = RBU(
            p=p, effort=effort, weights=drawn_weights, aspects=Aspects(aspects), cutoff=cutoff
        )
        cases[measure] = functools.partial(
            ref.rbu,
            aspects=reference_aspects,
            p=p,
            effort=effort,
            weights=drawn_weights,
            cutoff=cutoff,
        )
    compare(cases, collection, 1e-12)


# -- what it states
# --------------------------------------------------------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "params",
    [
        {"p": 0},
        {"p": 0.5, "effort": 0},
        {"effort": 0, "weights": {"relevance": 1, "credibility": 3}},
    ],
)
def test_statements(params: dict[str, Any]) -> None:
    check_measure(RBU(**params))


@pytest.mark.slow
@pytest.mark.parametrize(
    "term",
    [
        pytest.param(RankBiasedStopping(0.8, None), id="stopping"),
        pytest.param(Effort(0.8, None), id="effort"),
    ],
)
def test_statements_of_its_terms(term: Any) -> None:
    """RBU sums two terms: where users stop, and what examining the ranks costs them."""
    check_measure(term)


def test_terms_are_equal_if_class_and_parameters_are() -> None:
    """Equal terms are computed once."""
    effort_at_2 = Effort(p=0.8, cutoff=2)
    assert effort_at_2 == Effort(p=0.8, cutoff=None).at(2)
    assert effort_at_2 != RankBiasedStopping(p=0.8, cutoff=2)


def test_upper_bound() -> None:
    """With effort, the best ranking may leave documents out: no bound of complete rankings is one."""
    table = upper_bound(QRELS, RBU(p=0.5, effort=0, aspects=BOTH))
    assert table["gap"].item() == pytest.approx(0, abs=1e-12)
    best = RBU(p=0.5, effort=0, aspects=BOTH).calc_aggregate(QRELS, {"q": {"b": 2.0, "a": 1.0}})
    assert table["value"].item() == pytest.approx(best)
    with pytest.raises(
        MultiAspectError, match=re.escape("the effort of RBU (bounds are known for effort=0)")
    ):
        upper_bound(QRELS, RBU(p=0.5, aspects=BOTH))


def test_labels_for_learning_to_rank() -> None:
    """A document's label is the weighted mean of its probabilities of stopping the user, by aspect."""
    qrels = {
        "q": {"a": {"relevance": 1, "credibility": 0}, "b": {"relevance": 1, "credibility": 1}}
    }
    measure = RBU(weights={"relevance": 3, "credibility": 1}, aspects=BOTH)
    labels = ma.aggregate_labels(qrels, measure).values
    # Grade 1 of 1 stops half of the users, grade 0 none.
    expected = [(3 * 0.5 + 1 * 0) / 4, (3 * 0.5 + 1 * 0.5) / 4]
    assert labels["label"].tolist() == expected


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: RBU(p=1), ["RBU", "p: expected a number of at least 0 and below 1", "1"]),
        (lambda: RBU(p=-0.1), ["RBU", "p", "-0.1"]),
        (lambda: RBU(effort=-1), ["RBU", "effort: expected a number of at least 0", "-1"]),
        (lambda: RBU(effort=float("inf")), ["RBU", "effort"]),
        (lambda: RBU(effort="low"), ["RBU", "effort", "'low'"]),
        (lambda: RBU(e=0.1), ["RBU: expected parameters", "effort"]),
        (lambda: ma.CAM(base=RBU), ["RBU cannot be a base"]),
        (lambda: RBU(aspects="relevance,mood").calc_aggregate(QRELS, RUN), ["RBU", "mood"]),
    ],
)
def test_bad_input(make: Callable[[], object], parts: list[str]) -> None:
    with pytest.raises(MultiAspectError) as caught:
        make()
    for part in parts:
        assert part in str(caught.value)
