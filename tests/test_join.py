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


@PROPERTY
@given(st.lists(strings, max_size=20), st.lists(strings, max_size=20))
def test_hashes_depend_on_the_string_alone(texts: list[str], second: list[str]) -> None:
    """Not on the longest string beside it, nor on what follows it in the buffer."""
    hashed = [
        dict(
            zip(
                values,
                Texts.from_strings(np.array(values, dtype=object)).hashes().tolist(),
                strict=True,
            )
        )
        for values in (texts, second, [*second, "x" * 300])
    ]
    for values in hashed[1:]:
        assert all(hashed[0][value] == values[value] for value in set(texts) & set(values))
    assert len(set(hashed[0].values())) == len(set(texts))
    assert all(
        Texts.from_strings(np.array([text], dtype=object)).hashes()[0] == hashed[0][text]
        for text in set(texts)
    )


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 2), strings), max_size=25))
def test_order_of_strings(rows: list[tuple[int, str]]) -> None:
    texts = Texts.from_strings(np.array([string for _, string in rows], dtype=object))
    order = texts.descending_order(np.array([group for group, _ in rows], dtype=np.intp)).tolist()
    by_bytes = sorted(
        range(len(rows)), key=lambda n: rows[n][1].encode("utf-8", "surrogatepass"), reverse=True
    )
    expected = sorted(by_bytes, key=lambda n: rows[n][0])
    assert [rows[n] for n in order] == [rows[n] for n in expected]
    for row, before in zip(order[1:], order[:-1], strict=True):
        assert rows[row] != rows[before] or before < row  # equal strings keep their order
    assert texts.decode().tolist() == [string for _, string in rows]


@PROPERTY
@given(
    st.lists(st.tuples(st.integers(0, 1), strings), max_size=25),
    st.sampled_from([0, 1 << 63, 2**64 - 1]),
)
def test_repetitions(rows: list[tuple[int, str]], bits: int) -> None:
    query = np.array([number for number, _ in rows], dtype=np.intp)
    docnos = Texts.from_strings(np.array([string for _, string in rows], dtype=object))
    with limit_hashes(bits):
        repeated = repeated_pairs(query, docnos, pair_keys(query, docnos))
    expected = [row in rows[index + 1 :] for index, row in enumerate(rows)]
    assert (repeated.tolist() if repeated is not None else [False] * len(rows)) == expected


def test_one_repetition_among_many_rows() -> None:
    """Few keys share slots in all tables; a pair that occurs twice always does."""
    query = np.repeat(np.arange(20), 1000)
    names = np.array([f"d{n}" for n in range(20_000)], dtype=object)
    docnos = Texts.from_strings(names)
    assert repeated_pairs(query, docnos, pair_keys(query, docnos)) is None
    names[17_999], names[17_000] = names[17_500], names[16_999]  # the latter of two queries
    docnos = Texts.from_strings(names)
    repeated = repeated_pairs(query, docnos, pair_keys(query, docnos))
    assert repeated is not None
    assert np.flatnonzero(repeated).tolist() == [17_500]


def test_hashes_of_many_strings_are_those_of_few() -> None:
    """Strings are hashed in blocks, whose longest and shortest strings differ."""
    names = [f"{'x' * (n % 40 if n > 70_000 else 3)}{n}" for n in range(140_000)]
    hashed = Texts.from_strings(np.array(names, dtype=object)).hashes()
    for n in (0, 65_535, 65_536, 70_001, 70_040, 131_071, 131_072, 139_999):
        assert Texts.from_strings(np.array([names[n]], dtype=object)).hashes()[0] == hashed[n]


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
def test_one_long_id_costs_nothing_for_the_others() -> None:
    """The words of the longest string are read only where they may decide."""
    values = [f"q{n // 9}" for n in range(40_000)]
    values[20_000:20_003] = ["x" * 300_000, "x" * 300_000, "x" * 299_999 + "y"]
    column = Texts.from_strings(np.array(values, dtype=object))
    expected = [n for n in range(len(values)) if n == 0 or values[n] != values[n - 1]]
    reads = []
    with pytest.MonkeyPatch.context() as patch:
        original = Texts._nth_words
        patch.setattr(
            Texts,
            "_nth_words",
            lambda self, *args: reads.append(read := original(self, *args)) or read,
        )
        assert column.heads().tolist() == expected
    assert sum(map(len, reads)) < 300_000


def test_many_pairs() -> None:
    """Long chains of occupied slots, and documents of several queries."""
    rng = np.random.default_rng(0)
    names = np.array([f"{'x' * int(rng.integers(0, 20))}{n}" for n in range(3000)], dtype=object)
    query = np.repeat(np.arange(3), 1000)
    for bits in (2**64 - 1, 0xFF << 56):
        with limit_hashes(bits):
            table = PairTable(query, Texts.from_strings(names))
            asked = rng.permutation(3000)
            queries = (query[asked] + rng.integers(0, 2, 3000)) % 3
            texts = Texts.from_strings(names[asked])
            rows = table.lookup(queries, texts)[0]
        assert rows.tolist() == np.where(queries == query[asked], asked, -1).tolist()


@pytest.mark.parametrize("shuffled", [False, True])
def test_all_scores_tied(shuffled: bool) -> None:
    rows = [(f"q{n % 3}", f"clueweb09-en0000-{n:05d}", 1.0) for n in range(300)]
    rows.sort(key=lambda row: row[0])
    if shuffled:
        rows = [rows[n] for n in np.random.default_rng(1).permutation(300)]
    check_join(rows, [(qid, docno) for qid, docno, _ in rows[::7]], "objects")


@pytest.mark.parametrize(
    ("values", "read"),
    [
        ([3, 3, 10], ["3", "3", "10"]),
        ([1.5, 2, "a"], ["1.5", "2", "a"]),
        (pd.Categorical([3, 10, 3]), ["3", "10", "3"]),
        (pd.Categorical([1, "1", 2]), ["1", "1", "2"]),
        ([np.str_("a"), "b", "a"], ["a", "b", "a"]),
        ([b"a", "b", True], ["b'a'", "b", "True"]),
    ],
)
def test_ids_of_other_kinds(values: Any, read: list[str]) -> None:
    frame = pd.DataFrame({"docno": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]}).assign(qid=values)
    assert hits_of(
        Rankings(frame, Judgments(qrels_frame([("3", "a"), ("1", "b")])))
    ) == simple_hits(list(zip(read, "abc", [3.0, 2.0, 1.0], strict=True)), [("3", "a"), ("1", "b")])
    frame = pd.DataFrame({"qid": "q", "score": [3.0, 2.0, 1.0]}).assign(docno=values)
    judged = [("q", docno) for docno in set(read)]
    rankings = Rankings(frame, Judgments(qrels_frame(judged)))
    assert hits_of(rankings) == simple_hits(
        [("q", docno, 3.0 - n) for n, docno in enumerate(read)], judged
    )


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
@pytest.mark.parametrize("form", ["objects", "strings", "categories", "arrow"])
def test_missing_ids_are_refused(missing: Any, form: str) -> None:
    values = pd.Series(["a", missing, "b"], dtype=object)
    if form == "strings":
        values = values.where(values.notna(), pd.NA).astype("string[python]")
    elif form == "categories":
        values = values.astype("category")
    elif form == "arrow":
        pyarrow = pytest.importorskip("pyarrow")
        values = pd.Series(["a", None, "b"], dtype=pd.ArrowDtype(pyarrow.string()))
    judgments = Judgments({"a": {"a": 1}})
    for column, other in (("qid", "docno"), ("docno", "qid")):
        frame = pd.DataFrame({column: values, other: "a", "score": 1.0})
        with pytest.raises(
            MultiAspectError, match=f"the run: expected a {column} in every row, got none in row 1"
        ):
            Rankings(frame, judgments)


@pytest.mark.parametrize("column", ["qid", "docno"])
@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\ud83db"])
@pytest.mark.parametrize("other", ["x", 1], ids=["strings", "mixed types"])
def test_lone_surrogates_are_refused(column: str, text: str, other: object) -> None:
    """They are no UTF-8, but JSON and Python's strings can have them: neither pandas 3 nor trec_eval can."""
    ids = {"qid": "q", "docno": "d"} | {column: pd.Series([other, text, "y"], dtype=object)}
    faulty = pd.DataFrame({**ids, "score": 1.0, "label": 1})
    named = rf": expected text that UTF-8 can represent, got {re.escape(repr(text))}: '\\ud[8-9a-f]\w\w' is half of"
    judgments = Judgments({"q": {"d": 1}})
    with pytest.raises(MultiAspectError, match=f"^the run{named}"):
        Rankings(faulty, judgments)
    with pytest.raises(MultiAspectError, match=f"^qrels{named}"):
        Judgments(faulty[["qid", "docno", "label"]])
    by_query: dict[object, dict[object, int]] = {}
    for qid, docno in zip(faulty["qid"], faulty["docno"], strict=True):
        by_query.setdefault(qid, {})[docno] = 1
    with pytest.raises(MultiAspectError, match=f"^the run{named}"):
        Rankings(by_query, judgments)
    with pytest.raises(MultiAspectError, match=f"^qrels{named}"):
        Judgments(by_query)


def test_characters_of_two_surrogates_are_fine() -> None:
    run = pd.DataFrame({"qid": "q", "docno": ["\U0001f600", "\uffff"], "score": 1.0})
    assert Rankings(run, Judgments({"q": {"\U0001f600": 1, "\uffff": 1}})).hits.rank.tolist() == [
        1,
        2,
    ]


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
