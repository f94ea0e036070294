"""Names of aspect sets and orders that are declared again, as when a notebook's cell is edited and run again."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import ir_measures
import pytest
from frame_world import evaluate_in_processes
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import CAM, TOMA, Aspects, HelpfulCompat, Judgments, MultiAspectWarning, Order
from pt_multiaspect.collection.rankings import Rankings

QRELS = {"q": {"a": {"relevance": 1, "credibility": 0}, "b": {"relevance": 0, "credibility": 1}}}
RUN = {"q": {"a": 2.0, "b": 1.0}}
OLD, NEW = {"relevance": 1, "credibility": 1}, {"relevance": 4, "credibility": 1}


def order(weight_of_relevant: float) -> Order:
    """Return an order of relevance and credibility, always with the same name."""
    weights = {(0, 0): 0, (0, 1): 1, (1, 0): weight_of_relevant, (1, 1): 9}
    return Order(weights, list(OLD), name="edited-order")


@pytest.fixture
def edited_measures() -> Iterator[tuple[ma.Measure, ma.Measure]]:
    """A measure made before its name was declared again, and one made after."""
    Aspects(OLD, name="edited")
    before = TOMA(aspects="edited", base="DCG")
    with pytest.warns(MultiAspectWarning, match=r"'edited' now refers to .*4"):
        Aspects(NEW, name="edited")
    yield before, TOMA(aspects="edited", base="DCG")
    Aspects.registry._content.pop("edited")


def test_a_name_follows_the_new_content_and_measures_keep_theirs(edited_measures) -> None:
    before, after = edited_measures
    assert before["aspects"]["relevance"].grades == (0, 1)
    assert after["aspects"]["relevance"].grades == (0, 1, 2, 3, 4)
    assert ir_measures.parse_measure(str(before)) == after
    assert str(before) == str(after)


def test_measures_of_one_name_and_other_content_do_not_share_values(edited_measures) -> None:
    """They print alike: compared by what they print, the second got the values of the first."""
    before, after = edited_measures
    assert before != after
    alone = [
        measure.evaluate(Rankings(RUN, Judgments(QRELS))).tolist() for measure in edited_measures
    ]
    assert alone[0] != alone[1]
    together = Rankings(RUN, Judgments(QRELS))
    assert [measure.evaluate(together).tolist() for measure in edited_measures] == alone
    with pytest.warns(MultiAspectWarning, match="print as TOMA"):
        values = ir_measures.calc_aggregate([before, after], QRELS, RUN)
    assert [[values[measure]] for measure in edited_measures] == alone


def test_cam_of_one_name_and_other_content_does_not_share_terms() -> None:
    """A measure keeps the scales of its time, also in one evaluation with those declared later."""
    Aspects({"relevance": ma.Aspect([0, 1], gains=[0, 1]), "credibility": 1}, name="edited-cam")
    before = CAM(aspects="edited-cam", base="DCG")
    with pytest.warns(MultiAspectWarning, match="edited-cam"):
        Aspects({"relevance": ma.Aspect([0, 1], gains=[0, 5]), "credibility": 1}, name="edited-cam")
    after = CAM(aspects="edited-cam", base="DCG")
    rankings = Rankings(RUN, Judgments(QRELS))
    difference = after.evaluate(rankings)[0] - before.evaluate(rankings)[0]
    # The relevant document, a, is first: its gain of 5 instead of 1 is half of the mean.
    assert difference == pytest.approx((5 - 1) / 2)


@pytest.mark.parametrize(
    "again",
    [copy.deepcopy, lambda measure: pickle.loads(pickle.dumps(measure))],
    ids=["copy", "pickle"],
)
def test_a_copy_of_an_earlier_measure_does_not_take_the_name_back(edited_measures, again) -> None:
    before, after = edited_measures
    assert again(before) == before != after
    assert again(after) == after
    assert TOMA(aspects="edited", base="DCG") == after


def test_orders_are_named_again_too() -> None:
    """A measure keeps the order of its time; the name refers to the new one, of which a warning tells."""
    order(1)
    before = TOMA(order="edited-order", base="DCG")
    helpful_before = HelpfulCompat(order="edited-order")
    order(1)  # the same once more: nothing to say
    with pytest.warns(MultiAspectWarning, match="'edited-order' now refers to"):
        order(5)
    after = TOMA(order="edited-order", base="DCG")
    helpful_after = HelpfulCompat(order="edited-order")
    assert before != after
    assert helpful_before != helpful_after
    assert str(before) == str(after)
    assert str(helpful_before) == str(helpful_after)
    assert copy.deepcopy(before) == before
    assert TOMA(order="edited-order", base="DCG") == after
    # Document a, the first one, has the labels (1, 0), whose weight is now 5.
    rankings = Rankings(RUN, Judgments(QRELS))
    assert after.evaluate(rankings)[0] - before.evaluate(rankings)[0] == 5 - 1


def test_two_measures_of_one_printed_form_need_aliases(edited_measures) -> None:
    with pytest.raises(ma.MultiAspectError, match="distinct aliases"):
        ma.evaluate(RUN, QRELS, list(edited_measures), progress=False)
    labelled = dict(zip(["before", "after"], edited_measures, strict=True))
    values = ma.evaluate(RUN, QRELS, labelled, progress=False)["value"]
    assert values[0] != values[1]


@pytest.fixture
def pickles() -> Iterator[tuple[bytes, bytes]]:
    """Two measures as another process has written them, with scales of one name and different content.

    The scales of the first have the top 1 of relevance, those of the second 4.
    """
    names = Aspects.registry
    written = []
    for content in (OLD, NEW):
        written.append(pickle.dumps(TOMA(aspects=Aspects(content, name="loaded"), base="DCG")))
        names._content.pop("loaded")
        names._declared.remove("loaded")
    yield tuple(written)
    names._content.pop("loaded")


def test_loading_a_measure_that_takes_a_name_warns_as_declaring_does(pickles) -> None:
    pickle_of_first, pickle_of_second = pickles
    with no_warnings():
        first = pickle.loads(pickle_of_first)
        assert pickle.loads(pickle_of_first) == first
    with pytest.warns(MultiAspectWarning, match=r"'loaded' now refers to .*4") as caught:
        second = pickle.loads(pickle_of_second)
    assert len(caught) == 1
    assert TOMA(aspects="loaded", base="DCG") == second
    with no_warnings():
        assert copy.deepcopy(first) == copy.copy(first) == first


def test_another_process_learns_what_comes_last() -> None:
    """A worker that is used again gets the new content under the old name."""
    kept = Aspects.registry
    assert "restored-only" not in list(kept)
    for content, warned in (
        (OLD, no_warnings()),
        (NEW, pytest.warns(MultiAspectWarning, match="now refers")),
    ):
        restored = Aspects(content)
        restored.name = "restored-only"
        with warned:
            kept.restore(restored)
        assert TOMA(aspects="restored-only")["aspects"] == restored
    kept._content.pop("restored-only")


def test_an_impossible_name_is_an_error() -> None:
    with pytest.raises(ma.MultiAspectError, match="starts with a letter"):
        Aspects(OLD, name="1 set")


@no_warnings()
def test_redeclaring_in_a_worker_is_silent_and_right(edited_measures) -> None:
    before, after = edited_measures
    runs = {"one": RUN, "two": RUN}
    for measure in (before, after):
        here = ma.evaluate(runs, QRELS, measure, progress=False)
        there = evaluate_in_processes(runs, QRELS, measure)
        assert here["value"].tolist() == there["value"].tolist()


# -- what is declared with a name
# ----------------------------------------------------------------------------


def declared(kind: type, name: str | None, changed: bool = False) -> Aspects | Order:
    """Content of a kind with a name, or other content."""
    if kind is Aspects:
        return Aspects({"relevance": 2 + changed}, name=name)
    return Order({(0,): 0, (1,): 1 + changed}, ["relevance"], name=name)


KINDS = (Aspects, Order)


@pytest.mark.parametrize("kind", KINDS)
def test_declared_content_is_compared_by_content_and_name(kind: type) -> None:
    first = declared(kind, "first")
    assert first == declared(kind, "first")
    assert hash(first) == hash(declared(kind, "first"))
    assert first != declared(kind, "second")
    assert first != declared(kind, None)
    assert declared(kind, None) == declared(kind, None)
    assert declared(kind, None) != declared(kind, None, changed=True)
    assert len({first, *(declared(other, "first") for other in KINDS)}) == 2
    assert first != "first"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["copied", None])
def test_copies_are_equal(kind: type, name: str | None) -> None:
    content = declared(kind, name)
    for duplicate in (
        pickle.loads(pickle.dumps(content)),
        copy.copy(content),
        copy.deepcopy(content),
    ):
        assert type(duplicate) is kind
        assert duplicate == content
        assert hash(duplicate) == hash(content)


@pytest.mark.parametrize("kind", KINDS)
def test_loading_registers_a_name_that_is_unknown(kind: type) -> None:
    pickled = pickle.dumps(declared(kind, "copied"))
    # Forget the name, as another process would not know it.
    kind.registry._content.pop("copied")
    kind.registry._declared.discard("copied")
    assert kind.registry.get("copied") is None
    assert pickle.loads(pickled) is kind.registry.get("copied")
