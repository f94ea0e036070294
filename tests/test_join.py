"""The join of runs and judgments: documents are found by hashes of their bytes, and verified by the bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simple_join import Row, simple_hits, simple_rankings
from strategies import examples

from pt_multiaspect import MultiAspectError
from pt_multiaspect.collection import Judgments, Rankings
from pt_multiaspect.strings import pair_table, texts
from pt_multiaspect.strings.pair_table import PairTable, pair_keys, repeated_pairs
from pt_multiaspect.strings.texts import Texts

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{message}:pt_multiaspect.MultiAspectWarning")
    for message in ("repeated documents", "most scores of")
]

#: Parts of identifiers: ends of words of 8 bytes, common beginnings, zero bytes, several bytes per
#: character.
PARTS = (
    "", "a", "b", "0", "d1", "\0", "é", "ｚ", "𝄞", "\uffff", "clueweb1", "clueweb12-0000wb-", "x" * 70,
)  # fmt: skip
strings = st.lists(st.sampled_from(PARTS), max_size=4).map("".join)
#: Without zero bytes, at which pandas ends strings before version 3.1, so that they are refused.
identifiers = st.lists(st.sampled_from([part for part in PARTS if part != "\0"]), max_size=4).map(
    "".join
)
#: Ties, ties that only float32 sees, both zeros, infinity.
SCORES = (1.0, 1.0 + 1e-12, 0.0, -0.0, 1e-60, 2.0, -1.5, 1e300, float("inf"), -float("inf"))


@st.composite
def collections(draw: st.DrawFn) -> tuple[list[Row], list[tuple[str, str]]]:
    """The rows of a run in any order, with repetitions, and judged pairs."""
    qids = draw(st.lists(identifiers, min_size=1, max_size=4, unique=True))
    docnos = draw(st.lists(identifiers, min_size=1, max_size=12, unique=True))
    pair = st.tuples(st.sampled_from([*qids, "unjudged"]), st.sampled_from(docnos))
    rows = [(*ids, draw(st.sampled_from(SCORES))) for ids in draw(st.lists(pair, max_size=30))]
    order = draw(st.sampled_from(["any", "by query", "ranked"]))
    if order == "by query":
        rows.sort(key=lambda row: qids.index(row[0]) if row[0] in qids else -1)
    elif order == "ranked":
        rows.sort(key=lambda row: (qids.index(row[0]) if row[0] in qids else -1, -row[2]))
    judged = draw(
        st.lists(st.tuples(st.sampled_from(qids), st.sampled_from(docnos)), min_size=1, unique=True)
    )
    return rows, judged


def as_objects(values: list[str]) -> pd.Series:
    return pd.Series(values, dtype=object)


def as_strings(values: list[str]) -> pd.Series:
    return pd.Series(values, dtype="string[python]")


def as_categories(values: list[str]) -> pd.Series:
    categories = [*sorted(set(values)), "unused"]
    return pd.Series(pd.Categorical(values, categories=list(dict.fromkeys(categories))))


def as_arrow(values: list[str], kind: str) -> pd.Series:
    # PyArrow 16 makes views, but converts them to nothing else.
    pyarrow = pytest.importorskip("pyarrow", "18" if kind == "string_view" else None)
    array = pyarrow.array(["before", *values, "after"], type=getattr(pyarrow, kind)())
    chunks = [array[1 : len(values) // 2 + 1], array[len(values) // 2 + 1 : len(values) + 1]]
    chunked = pyarrow.chunked_array(chunks, type=array.type)
    return pd.Series(pd.arrays.ArrowExtensionArray(chunked))


FORMS: dict[str, Callable[[list[str]], pd.Series]] = {
    "objects": as_objects,
    "strings": as_strings,
    "categories": as_categories,
    "arrow": lambda values: as_arrow(values, "string"),
    "arrow large": lambda values: as_arrow(values, "large_string"),
    "arrow views": lambda values: as_arrow(values, "string_view"),
}


def run_frame(rows: list[Row], form: str) -> pd.DataFrame:
    columns = [[row[column] for row in rows] for column in range(3)]
    make = FORMS[form]
    return pd.DataFrame(
        {"qid": make(columns[0]), "docno": make(columns[1]), "score": np.array(columns[2], float)}
    )


def qrels_frame(judged: list[tuple[str, str]]) -> pd.DataFrame:
    return pd.DataFrame(
        {"qid": [qid for qid, _ in judged], "docno": [docno for _, docno in judged], "label": 1}
    )


def hits_of(rankings: Rankings) -> list[tuple[str, int, str]]:
    hits, judgments = rankings.hits, rankings.judgments
    assert (judgments.pool_query[hits.row] == hits.query).all()
    return list(
        zip(judgments.qids[hits.query], hits.rank.tolist(), judgments.docnos[hits.row], strict=True)
    )


def check_join(rows: list[Row], judged: list[tuple[str, str]], form: str) -> None:
    rankings = Rankings(run_frame(rows, form), Judgments(qrels_frame(judged)))
    assert hits_of(rankings) == simple_hits(rows, judged)
    whole = simple_rankings(rows, {qid for qid, _ in judged})
    ranked = [(qid, docno) for qid in sorted(whole) for docno in whole[qid]]
    frame = rankings.frame_by_rank()
    assert list(zip(frame["query_id"], frame["doc_id"], strict=True)) == ranked
    assert frame["score"].tolist() == [
        float(n) for qid in sorted(whole) for n in range(len(whole[qid]), 0, -1)
    ]
    assert rankings.hits.n_ret.tolist() == [len(whole[qid]) for qid in sorted(whole)]


@contextmanager
def limit_hashes(bits: int) -> Iterator[None]:
    """Let hashes have only some of their bits."""
    with pytest.MonkeyPatch.context() as patch:
        original = Texts.hashes
        patch.setattr(Texts, "hashes", lambda self: original(self) & np.uint64(bits))
        yield


PROPERTY = examples(60)


@pytest.mark.parametrize("form", FORMS)
@examples(40)
@given(collections())
def test_is_the_simple_join(form: str, collection: tuple[list[Row], list[tuple[str, str]]]) -> None:
    check_join(*collection, form)


@PROPERTY
@given(collections(), st.integers(1, 4))
def test_blocks_do_not_matter(
    collection: tuple[list[Row], list[tuple[str, str]]], size: int
) -> None:
    """Rows are hashed, looked up and searched for repetitions some at a time."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((texts, "_BLOCK"), (texts, "_JOINED"), (pair_table, "_BLOCK")):
            patch.setattr(module, name, size)
        check_join(*collection, "objects")
        check_join(sorted(collection[0], key=lambda row: row[0]), collection[1], "objects")


@pytest.mark.parametrize("bits", [0, 1 << 63, 3 << 40])
@examples(50)
@given(collections())
def test_colliding_hashes_do_not_matter(
    bits: int, collection: tuple[list[Row], list[tuple[str, str]]]
) -> None:
    with limit_hashes(bits):
        check_join(*collection, "objects")
        check_join(*collection, "categories")
        queries = Texts.from_strings(np.array([row[0] for row in collection[0]], dtype=object))
        codes, distinct = queries.codes()
        assert distinct.decode()[codes].tolist() == [row[0] for row in collection[0]]
        assert len(set(distinct.decode())) == len(distinct)


def hash_by_string(values: list[str]) -> dict[str, int]:
    """The hashes of strings that are in one buffer."""
    hashes = Texts.from_strings(np.array(values, dtype=object)).hashes().tolist()
    return dict(zip(values, hashes, strict=True))


@PROPERTY
@given(st.lists(strings, max_size=20), st.lists(strings, max_size=20))
def test_hashes_depend_on_the_string_alone(first: list[str], second: list[str]) -> None:
    """Not on the longest string beside it, nor on what follows it in the buffer."""
    hashes = hash_by_string(first)
    assert len(set(hashes.values())) == len(set(first))
    for string in set(first):
        assert hash_by_string([string])[string] == hashes[string]
    beside_others = hash_by_string(second)
    beside_a_long_one = hash_by_string([*second, "x" * 300])
    for string in set(first) & set(second):
        assert beside_others[string] == hashes[string]
        assert beside_a_long_one[string] == hashes[string]


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 2), strings), max_size=25))
def test_order_of_strings(rows: list[tuple[int, str]]) -> None:
    """By group; within a group by bytes, descending; equal strings keep their order."""
    groups = np.array([group for group, _ in rows], dtype=np.intp)
    texts = Texts.from_strings(np.array([string for _, string in rows], dtype=object))

    order = texts.descending_order(groups).tolist()

    expected = sorted(range(len(rows)), reverse=True)
    expected.sort(key=lambda row: rows[row][1].encode("utf-8", "surrogatepass"))
    expected.reverse()
    expected.sort(key=lambda row: rows[row][0])
    assert order == expected
    assert texts.decode().tolist() == [string for _, string in rows]


@PROPERTY
@given(
    st.lists(st.tuples(st.integers(0, 1), strings), max_size=25),
    st.sampled_from([0, 1 << 63, 2**64 - 1]),
)
def test_repetitions(rows: list[tuple[int, str]], bits: int) -> None:
    """Rows of which a later one has the same query and document, also if hashes coincide."""
    query = np.array([number for number, _ in rows], dtype=np.intp)
    docnos = Texts.from_strings(np.array([string for _, string in rows], dtype=object))
    with limit_hashes(bits):  # no bit, one, or all
        repeated = repeated_pairs(query, docnos, pair_keys(query, docnos))
    expected = [row in rows[index + 1 :] for index, row in enumerate(rows)]
    if repeated is None:  # no row is repeated
        assert not any(expected)
    else:
        assert repeated.tolist() == expected


def test_one_repetition_among_many_rows() -> None:
    """Few keys share slots in all tables; a pair that occurs twice always does."""
    query = np.repeat(np.arange(20), 1000)  # rows 17000 to 17999 are of one query
    names = np.array([f"d{n}" for n in range(20_000)], dtype=object)
    docnos = Texts.from_strings(names)
    assert repeated_pairs(query, docnos, pair_keys(query, docnos)) is None

    names[17_999] = names[17_500]
    names[17_000] = names[16_999]  # the same document of another query
    docnos = Texts.from_strings(names)
    repeated = repeated_pairs(query, docnos, pair_keys(query, docnos))
    assert repeated is not None
    assert np.flatnonzero(repeated).tolist() == [17_500]


def test_hashes_of_many_strings_are_those_of_few() -> None:
    """Strings are hashed in blocks of 65536, whose longest and shortest strings differ."""
    short = [f"xxx{n}" for n in range(70_001)]
    of_many_lengths = [f"{'x' * (n % 40)}{n}" for n in range(70_001, 140_000)]
    names = short + of_many_lengths
    hashes = Texts.from_strings(np.array(names, dtype=object)).hashes()
    ends_of_blocks = [0, 65_535, 65_536, 131_071, 131_072, 139_999]
    around_the_first_longer_string = [70_001, 70_040]
    for n in ends_of_blocks + around_the_first_longer_string:
        (alone,) = Texts.from_strings(np.array([names[n]], dtype=object)).hashes()
        assert alone == hashes[n]


def test_regular_ids_have_different_hashes() -> None:
    """Ids that differ in few characters of several words, as numbered ones do."""
    numbers = np.random.default_rng(0).integers(0, 16, (20_000, 5))
    names = set()
    for digits in numbers.tolist():
        name = ["a"] * 24
        for position, digit in zip((7, 11, 13, 15, 20), digits, strict=True):
            name[position] = f"{digit:x}"
        names.add("".join(name))
    hashed = Texts.from_strings(np.array(sorted(names), dtype=object)).hashes()
    assert len(np.unique(hashed)) == len(names)


@pytest.mark.slow
def test_one_long_id_costs_nothing_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of the longest string are read only where they may decide."""
    values = [f"q{n // 9}" for n in range(40_000)]
    values[20_000:20_003] = ["x" * 300_000, "x" * 300_000, "x" * 299_999 + "y"]
    column = Texts.from_strings(np.array(values, dtype=object))
    read_words = Texts._nth_words
    numbers_of_words = []

    def count_words(self: Texts, *arguments: Any) -> Any:
        words = read_words(self, *arguments)
        numbers_of_words.append(len(words))
        return words

    monkeypatch.setattr(Texts, "_nth_words", count_words)
    heads = column.heads().tolist()  # the rows that differ from the one before

    expected = [n for n in range(len(values)) if n == 0 or values[n] != values[n - 1]]
    assert heads == expected
    assert sum(numbers_of_words) < 300_000  # 40 000 strings of up to 37 500 words


@pytest.mark.parametrize("bits", [2**64 - 1, 0xFF << 56], ids=["all bits", "eight bits"])
def test_many_pairs(bits: int) -> None:
    """With eight bits of the hashes, chains of occupied slots are long."""
    rng = np.random.default_rng(0)
    names = np.array([f"{'x' * int(rng.integers(0, 20))}{n}" for n in range(3000)], dtype=object)
    query = np.repeat(np.arange(3), 1000)
    asked = rng.permutation(3000)
    # About half of the documents are asked for with another query than theirs.
    is_other_query = rng.integers(0, 2, 3000)
    asked_query = (query[asked] + is_other_query) % 3

    with limit_hashes(bits):
        table = PairTable(query, Texts.from_strings(names))
        rows, *_ = table.lookup(asked_query, Texts.from_strings(names[asked]))

    expected = np.where(is_other_query, -1, asked)
    assert rows.tolist() == expected.tolist()


@pytest.mark.parametrize("shuffled", [False, True])
def test_all_scores_tied(shuffled: bool) -> None:
    rows = [(f"q{n % 3}", f"clueweb09-en0000-{n:05d}", 1.0) for n in range(300)]
    rows.sort(key=lambda row: row[0])
    if shuffled:
        rows = [rows[n] for n in np.random.default_rng(1).permutation(300)]
    check_join(rows, [(qid, docno) for qid, docno, _ in rows[::7]], "objects")


IDS_OF_OTHER_KINDS = [
    ([3, 3, 10], ["3", "3", "10"]),
    ([1.5, 2, "a"], ["1.5", "2", "a"]),
    (pd.Categorical([3, 10, 3]), ["3", "10", "3"]),
    (pd.Categorical([1, "1", 2]), ["1", "1", "2"]),
    ([np.str_("a"), "b", "a"], ["a", "b", "a"]),
    ([b"a", "b", True], ["b'a'", "b", "True"]),
]


@pytest.mark.parametrize(("values", "as_text"), IDS_OF_OTHER_KINDS)
def test_topics_of_other_kinds_are_read_as_text(values: Any, as_text: list[str]) -> None:
    frame = pd.DataFrame({"docno": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]}).assign(qid=values)
    judged = [("3", "a"), ("1", "b")]
    rankings = Rankings(frame, Judgments(qrels_frame(judged)))
    rows = list(zip(as_text, ["a", "b", "c"], [3.0, 2.0, 1.0], strict=True))
    assert hits_of(rankings) == simple_hits(rows, judged)


@pytest.mark.parametrize(("values", "as_text"), IDS_OF_OTHER_KINDS)
def test_documents_of_other_kinds_are_read_as_text(values: Any, as_text: list[str]) -> None:
    frame = pd.DataFrame({"qid": "q", "score": [3.0, 2.0, 1.0]}).assign(docno=values)
    judged = [("q", docno) for docno in set(as_text)]
    rankings = Rankings(frame, Judgments(qrels_frame(judged)))
    rows = list(zip(["q", "q", "q"], as_text, [3.0, 2.0, 1.0], strict=True))
    assert hits_of(rankings) == simple_hits(rows, judged)


def check_missing_ids(values: pd.Series) -> None:
    """Check that a run is refused if either of its ids is missing in row 1."""
    judgments = Judgments({"a": {"a": 1}})
    for column, other in (("qid", "docno"), ("docno", "qid")):
        frame = pd.DataFrame({column: values, other: "a", "score": 1.0})
        message = f"the run: expected a {column} in every row, got none in row 1"
        with pytest.raises(MultiAspectError, match=message):
            Rankings(frame, judgments)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
@pytest.mark.parametrize("form", ["object", "category"])
def test_missing_ids_are_refused(missing: Any, form: str) -> None:
    check_missing_ids(pd.Series(["a", missing, "b"], dtype=object).astype(form))


def test_missing_ids_of_strings_are_refused() -> None:
    check_missing_ids(pd.Series(["a", pd.NA, "b"], dtype="string[python]"))


def test_missing_ids_of_arrow_are_refused() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    check_missing_ids(pd.Series(["a", None, "b"], dtype=pd.ArrowDtype(pyarrow.string())))


@pytest.mark.parametrize("column", ["qid", "docno"])
@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\ud83db"])
@pytest.mark.parametrize("other", ["x", 1], ids=["strings", "mixed types"])
def test_lone_surrogates_are_refused(column: str, text: str, other: object) -> None:
    """They are no UTF-8, but JSON and Python's strings can have them: neither pandas 3 nor trec_eval can."""
    frame = pd.DataFrame({"qid": ["q"] * 3, "docno": ["d"] * 3, "score": 1.0, "label": 1})
    frame[column] = pd.Series([other, text, "y"], dtype=object)
    by_query: dict[object, dict[object, int]] = {}
    for qid, docno in zip(frame["qid"], frame["docno"], strict=True):
        by_query.setdefault(qid, {})[docno] = 1
    judgments = Judgments({"q": {"d": 1}})
    # As in: the run: expected text that UTF-8 can represent, got 'a\udfff': '\udfff' is half of …
    surrogate = r"'\\ud[8-9a-f]\w\w'"
    shown = re.escape(repr(text))
    message = rf": expected text that UTF-8 can represent, got {shown}: {surrogate} is half of"
    for run in (frame, by_query):
        with pytest.raises(MultiAspectError, match=f"^the run{message}"):
            Rankings(run, judgments)
    for qrels in (frame[["qid", "docno", "label"]], by_query):
        with pytest.raises(MultiAspectError, match=f"^qrels{message}"):
            Judgments(qrels)


def test_characters_of_two_surrogates_are_fine() -> None:
    """Ties are in the order of code points, descending; in UTF-16, U+FFFF would come first."""
    docnos = ["\U0001f600", "\uffff"]
    run = pd.DataFrame({"qid": "q", "docno": docnos, "score": 1.0})
    judgments = Judgments({"q": {"\U0001f600": 1, "\uffff": 1}})
    hits = Rankings(run, judgments).hits
    ranked = judgments.docnos[hits.row].tolist()
    assert ranked == ["\U0001f600", "\uffff"]
    assert hits.rank.tolist() == [1, 2]


def test_an_empty_run() -> None:
    for form in ("objects", "strings", "categories"):
        check_join([], [("q", "a")], form)


def test_an_invalid_score_names_its_row() -> None:
    frame = run_frame([("q1", "a", 1.0), ("q2", "é" * 9, float("nan"))], "objects")
    with pytest.raises(
        MultiAspectError,
        match=f"score nan for document {'é' * 9}, query q2: expected a number .1 such row",
    ):
        Rankings(frame, Judgments({"q1": {"a": 1}}))
