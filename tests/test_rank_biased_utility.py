"""RBU: the authors' figures, the reference, and what it states of itself."""

from __future__ import annotations

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
    """Relevance: ½ at rank 1, and ¼ · ½ at rank 2, where half of the users are satisfied already."""
    relevance = 0.5 * (0.5 + 0.5 * 0.25)
    credibility = 0.5 * (0.5 * 0.5)
    effort = 0.1 * 0.5 * (1 + 0.5)
    value = RBU(p=0.5, effort=0.1, aspects=BOTH).calc_aggregate(QRELS, RUN)
    assert value == pytest.approx((relevance + credibility) / 2 - effort, abs=1e-15)


def test_every_retrieved_document_costs_effort_and_nothing_retrieved_costs_nothing() -> None:
    measure = RBU(p=0.5, effort=0.2, aspects=BOTH)
    nobody_judged = {"q": {f"x{number}": 1.0 for number in range(3)}}
    assert measure.calc_aggregate(QRELS, nobody_judged) == pytest.approx(
        -0.2 * (1 - 0.5**3), abs=1e-15
    )
    assert (measure @ 1).calc_aggregate(QRELS, nobody_judged) == pytest.approx(-0.1, abs=1e-15)
    values = ma.evaluate(
        {"run": {"other": {"a": 1.0}, "q": {}}},
        {**QRELS, "other": {"a": {"relevance": 1}}},
        measure,
        progress=False,
    )
    assert values.set_index("qid")["value"]["q"] == 0


def test_the_top_of_the_scale_counts_and_not_that_of_the_labels() -> None:
    declared = RBU(p=0, effort=0, aspects={"relevance": 3})
    assert declared.calc_aggregate({"q": {"a": 1}}, {"q": {"a": 1.0}}) == pytest.approx(1 / 8)
    with pytest.warns(ma.MultiAspectWarning, match=r"RBU depends on.*scales"):
        RBU(p=0, effort=0, aspects="relevance").calc_aggregate({"q": {"a": 1}}, {"q": {"a": 1.0}})


@given(scaled_collections(), st.sampled_from([None, 1, 3]), st.data())
@examples(25)
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
def test_against_the_reference(
    drawn: tuple[Collection, dict[str, Aspect], dict[str, ref.RefAspect]],
    cutoff: int | None,
    data: st.DataObject,
) -> None:
    collection, aspects, theirs = drawn
    cases = {}
    settings_of = st.tuples(st.sampled_from([0, 0.5, 0.8, 0.99]), st.sampled_from([0, 0.05, 2]))
    for p, effort in data.draw(st.lists(settings_of, min_size=2, max_size=2)):
        shares = data.draw(weights(collection.names))
        cases[RBU(p=p, effort=effort, weights=shares, aspects=Aspects(aspects), cutoff=cutoff)] = (
            lambda run, judged, p=p, effort=effort, shares=shares: ref.rbu(
                run, judged, theirs, p, effort, shares, cutoff
            )
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
def test_statements_of_its_terms() -> None:
    check_measure(RankBiasedStopping(0.8, None))
    assert Effort(0.8, 2) == Effort(0.8, None).at(2) != RankBiasedStopping(0.8, 2)
    check_measure(Effort(0.8, None))


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
    labels = ma.aggregate_labels(
        QRELS, RBU(weights={"relevance": 3, "credibility": 1}, aspects=BOTH)
    ).values
    assert labels["label"].tolist() == [0.375, 0.5]


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
