"""Small random collections, scales and measures that try to be nasty."""

from __future__ import annotations

import os
import struct
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pandas as pd
from hypothesis import settings
from hypothesis import strategies as st
from reference import RefAspect, ref_aspect

import pt_multiaspect as ma
from pt_multiaspect.measures import ALL

NAMES = ("relevance", "credibility", "understandability", "mood")
#: In this order neither as numbers nor as strings.
QIDS = ("10", "2", "1", "33")
#: Order as strings is not that of numbers; UTF-8 order is not that of UTF-16 (the last two).
DOCNOS = ("d10", "d9", "d2", "D2", "0", "00", "é", "z", "文書", "ｚ", "𝄞")
#: Ties, ties that only float32 sees, both zeros, and beyond the range of float32 at both ends.
SCORES = (
    1.0, 1.0 + 1e-12, 1.0 + 1e-7, 0.0, -0.0, 1e-60, -1e-60, -1.5, 2.0, 0.1, 16777216.0, 16777217.0, 3e38, 1e39,
    1e300, -1e39, -1e300, float("inf"), -float("inf"),
)  # fmt: skip
NAN = float("nan")

#: The fraction of their examples that property tests draw; `.ci/run` sets 1.
#: PT_MULTIASPECT_EXAMPLES=10 pytest
TIMES = float(os.environ.get("PT_MULTIASPECT_EXAMPLES", "0.1"))


def examples(number: int, **others: Any) -> settings:
    """Return settings with a number of examples, of which `TIMES` are drawn."""
    return settings(max_examples=max(1, round(number * TIMES)), **others)


def forget_warnings() -> None:
    """Let warnings that are given once without a call of a tool be given again."""
    ma.errors._given.clear()


@contextmanager
def no_warnings() -> Iterator[None]:
    """Fail if the package warns, whatever the configuration of the tests; a context or a decorator of a test.

    That TOMA has no gate is tested in its own file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", ma.MultiAspectWarning)
        warnings.filterwarnings("ignore", "TOMA has no gate")
        yield


Labels = dict[str, dict[str, dict[str, float | None]]]
Run = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Collection:
    """Judgments ``{qid: {docno: {aspect: label or None}}}`` and a run ``{qid: {docno: score}}``."""

    names: tuple[str, ...]
    labels: Labels
    run: Run

    def rows(self) -> list[tuple[Any, ...]]:
        return [
            (qid, docno, *(NAN if label[name] is None else label[name] for name in self.names))
            for qid, documents in self.labels.items()
            for docno, label in documents.items()
        ]

    @property
    def qrels(self) -> pd.DataFrame:
        """As ir-measures has them, with a column per aspect."""
        return pd.DataFrame(self.rows(), columns=["query_id", "doc_id", *self.names]).astype(
            dict.fromkeys(self.names, float)
        )

    @property
    def pt_qrels(self) -> pd.DataFrame:
        """As PyTerrier has them."""
        return self.qrels.rename(
            columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"}
        )

    @property
    def run_frame(self) -> pd.DataFrame:
        rows = [
            (qid, docno, score) for qid, docs in self.run.items() for docno, score in docs.items()
        ]
        return pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])

    def column(self, name: str) -> dict[str, dict[str, int]]:
        """The labels of one aspect as ir-measures takes them, unjudged documents left out."""
        column = {
            qid: {
                docno: int(label[name]) for docno, label in docs.items() if label[name] is not None
            }
            for qid, docs in self.labels.items()
        }
        return {qid: docs for qid, docs in column.items() if docs}

    def rescored(self) -> Run:
        """The same rankings with the scores n - rank + 1, so that every tool sees one order."""
        return {
            qid: {docno: float(len(docs) - i) for i, docno in enumerate(trec_order(docs))}
            for qid, docs in self.run.items()
        }


def trec_order(documents: dict[str, float]) -> list[str]:
    """trec_eval's order: by score as a C float, ties by the bytes of the docno, both descending."""

    def key(docno: str) -> tuple[float, bytes]:
        try:
            score = struct.unpack("f", struct.pack("f", documents[docno]))[0]
        except OverflowError:
            score = float("inf") if documents[docno] > 0 else -float("inf")
        return score, docno.encode()

    return sorted(documents, key=key, reverse=True)


@st.composite
def collections(
    draw: st.DrawFn,
    *,
    min_aspects: int = 1,
    max_aspects: int = 4,
    grades: Sequence[float] | Sequence[Sequence[float]] = (0, 1, 2, 3, 4),
    fractional: bool = False,
    junk: bool = True,
    junk_only: bool = False,
    missing: bool = True,
    scores: Sequence[float] = SCORES,
    max_queries: int = 3,
    max_judged: int = 6,
    max_retrieved: int = 7,
) -> Collection:
    """Draw a collection.

    Parameters
    ----------
    grades
        The labels of all aspects, or a sequence of them per aspect (which also says how many).
    fractional
        Add labels that are not whole numbers.
    junk
        Add TREC's negative labels.
    junk_only
        Allow queries with nothing but negative labels on an aspect. On them pytrec_eval 0.5.11
        reads memory that is not its own: it hangs, or crashes the interpreter.
    missing
        Leave out labels, runs of queries, and documents of rankings.
    """
    per_aspect: list[list[float | None]]
    if isinstance(grades[0], Sequence):
        per_aspect = [list(column) for column in grades]  # type: ignore[arg-type]
    else:
        n_aspects = draw(st.integers(min_aspects, max_aspects))
        per_aspect = [list(grades)] * n_aspects  # type: ignore[arg-type]
    more: list[float | None] = [0.5, 1 / 3, 2.5] if fractional else []
    more += [-1, -2] if junk else []
    more += [None] if missing else []
    pools = [[*column, *more] for column in per_aspect]
    names = NAMES[: len(pools)]
    tuples = st.tuples(*(st.sampled_from(pool) for pool in pools))
    n_queries = draw(st.integers(1, max_queries))
    documents = st.dictionaries(st.sampled_from(DOCNOS), tuples, min_size=1, max_size=max_judged)
    ranking = st.dictionaries(
        st.sampled_from(DOCNOS), st.sampled_from(list(scores)), max_size=max_retrieved
    )
    labels: Labels = {}
    for qid in QIDS[:n_queries]:
        judged = {
            docno: dict(zip(names, label, strict=True)) for docno, label in draw(documents).items()
        }
        first = next(iter(judged.values()))
        for name in names:
            known = [label[name] for label in judged.values() if label[name] is not None]
            if known and max(known) < 0 and not junk_only:
                first[name] = 0
        labels[qid] = judged
    # The last of QIDS is never judged.
    run = {
        qid: draw(ranking)
        for qid in (*QIDS[:n_queries], QIDS[-1])
        if not missing or draw(st.integers(0, 5)) > 0
    }
    return Collection(names, labels, run)


# -- scales -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """A scale as this package takes it, as the reference takes it, and its labels."""

    aspect: ma.Aspect
    reference: RefAspect
    labels: tuple[float, ...]


@st.composite
def scales(
    draw: st.DrawFn,
    *,
    zero: bool = False,
    single: bool = True,
    steps: Sequence[float] = (0, 0.1, 0.3, 0.5, 1, 2.5, 7),
    turned: bool = True,
) -> Scale:
    """Draw a declared scale; with `zero` the worst grade has the gain and the probability 0."""
    n = draw(st.integers(1 if single else 2, 4))
    start = draw(st.sampled_from([0, 0, 1] if not zero else [0]))
    grades = [start]
    for _ in range(n - 1):
        grades.append(round(grades[-1] + draw(st.sampled_from([1, 1, 0.5, 2])), 1))
    upwards = not (turned and draw(st.booleans()))
    worst_to_best = grades if upwards else grades[::-1]
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        gains = [0 if zero else draw(st.sampled_from([0, 1]))]
        for _ in range(n - 1):
            gains.append(round(gains[-1] + draw(st.sampled_from(steps)), 1))
        options["gains"] = gains
    # Linear probabilities of uneven grades are a test of their own.
    probabilities = sorted(
        draw(st.lists(st.sampled_from([0, 0.25, 0.4, 0.8, 1]), min_size=n, max_size=n))
    )
    if zero:
        probabilities[0] = 0
    even = all(grades[i + 1] - grades[i] == grades[1] - grades[0] for i in range(n - 1))
    if not even or draw(st.booleans()):
        options["probabilities"] = probabilities
    if n > 1 and draw(st.booleans()):
        options["threshold"] = draw(st.sampled_from(worst_to_best[1:]))
    per_grade = {
        key: value if upwards or key == "threshold" else value[::-1]
        for key, value in options.items()
    }
    aspect = ma.Aspect(grades, **per_grade, greater_is_better=upwards)
    return Scale(aspect, ref_aspect(grades, **per_grade, greater_is_better=upwards), tuple(grades))


@st.composite
def scaled_collections(
    draw: st.DrawFn, *, min_aspects: int = 1, max_aspects: int = 3, zero: bool = False, **more: Any
) -> tuple[Collection, dict[str, ma.Aspect], dict[str, RefAspect]]:
    """Draw a collection with declared scales of every kind."""
    n = draw(st.integers(min_aspects, max_aspects))
    drawn = [draw(scales(zero=zero)) for _ in range(n)]
    collection = draw(collections(grades=[scale.labels for scale in drawn], junk=False, **more))
    ours = {name: scale.aspect for name, scale in zip(NAMES, drawn, strict=False)}
    theirs = {name: scale.reference for name, scale in zip(NAMES, drawn, strict=False)}
    return collection, ours, theirs


def weights(names: Sequence[str]) -> st.SearchStrategy[dict[str, float] | None]:
    """Weights of which at least one is positive, or none."""
    strategy = st.fixed_dictionaries(
        {name: st.sampled_from([0, 0.1, 0.5, 1, 2, 3.3]) for name in names}
    )
    return st.none() | strategy.filter(lambda drawn: any(drawn.values()))


# -- measures -----------------------------------------------------------------------------------

BASES = (
    "nDCG", "nDCG(dcg='exp-log2')", "AP", "AP(rel=1)", "AP(rel=2)", "P(rel=2)@5", "R@5", "RR", "Rprec",
    "RBP(p=0.5)", "RBP(rel=1)", "ERR", "Success@2", "SetP(relative=True)", "SetF", "SetF(beta=0.5)", "SetAP",
    "Bpref", "infAP", "Compat(p=0.8)", "nDCG@3", "AP@3", "IPrec@0.1",
)  # fmt: skip


INTENT_AWARE = (
    "alpha_nDCG", "alpha_nDCG(alpha=0.2)@3", "alpha_DCG@5", "ERR_IA@2", "nERR_IA", "NRBP(beta=0.8)", "nNRBP",
    "StRecall(rel=2)", "P_IA@2", "AP_IA",
)  # fmt: skip


MEMBERS = ("nDCG@3", "AP", "CAM", "MM(base='AP')", "IRec", "On(aspect='credibility',base='RR')")


@st.composite
def aspect_sets(draw: st.DrawFn, names: Sequence[str] = NAMES[:2]) -> ma.Aspects:
    """Draw declared aspects, with a name of their own or without."""
    content = {name: draw(scales()).aspect for name in names}
    if draw(st.booleans()):
        content = {name: draw(st.integers(0, 4)) for name in names}  # type: ignore[misc]
    plain = ma.Aspects(content)
    if draw(st.booleans()):
        return plain
    return ma.Aspects(content, name=f"set-{zlib.crc32(plain.to_json().encode()):08x}")


@st.composite
def orders(draw: st.DrawFn, names: Sequence[str] = NAMES[:2]) -> ma.Order:
    """Draw explicit orders, some with violations, some with names."""
    weight = st.sampled_from([-2, -0.5, 0, 0.1, 1, 3])
    tuples = [(i, j) for i in range(3) for j in range(2)]
    content = [(pair, draw(weight)) for pair in tuples]
    plain = ma.Order(content, dict(zip(names, (2, 1), strict=True)), allow_violations=True)
    if draw(st.booleans()):
        return plain
    name = f"order-{zlib.crc32(plain.to_json().encode()):08x}"
    return ma.Order(
        content, dict(zip(names, (2, 1), strict=True)), allow_violations=True, name=name
    )


@st.composite
def measures(draw: st.DrawFn) -> ma.Measure:
    """Draw any measure with any parameters."""
    measure = draw(st.sampled_from(ALL))
    names = NAMES[:2]
    params: dict[str, Any] = {}

    def maybe(name: str, strategy: st.SearchStrategy[Any]) -> None:
        if name in measure.SUPPORTED_PARAMS and draw(st.booleans()):
            params[name] = draw(strategy)

    base = st.sampled_from(BASES)
    per_aspect = measure.NAME in ("CAM", "MM", "WHAM", "GAM")
    if measure.NAME == "Subtopics":
        base = st.sampled_from(INTENT_AWARE)
        maybe("graded", st.just(True))
    if measure.NAME == "MeanOf":
        params["measures"] = draw(
            st.dictionaries(st.sampled_from(MEMBERS), st.sampled_from([1, 0.5]), min_size=1)
        )
    maybe("gamma", st.sampled_from([0, 0.25, 1]))
    if "graded" in params:
        base = st.sampled_from(["ERR_IA", "ERR_IA@2"])
        params["base"] = "ERR_IA"
    maybe("base", base | st.fixed_dictionaries(dict.fromkeys(names, base)) if per_aspect else base)
    if "themes" in measure.SUPPORTED_PARAMS:
        params["themes"], params["usability"] = (
            names[i : i + 1] for i in draw(st.permutations([0, 1]))
        )
    number = st.sampled_from([1, 2, 3, 0.5, 2.5, float("inf")])
    maybe("distance", st.sampled_from(["manhattan", "euclidean", "chebyshev"]) | number)
    explicit = measure.NAME == "TOMA" and draw(st.booleans())
    if explicit:
        params = {"order": draw(orders())} | {
            name: value for name, value in params.items() if name != "distance"
        }
    if not explicit:
        maybe("axes", st.sampled_from(["equal", "gains"]))
        if measure.NAME != "Subtopics" or "graded" in params:
            maybe("weights", weights(names))
        maybe("gate", st.sampled_from(names))
        columns = st.sampled_from(
            [",".join(names), {"relevance": 2, "credibility": 1}, "relevance, credibility"]
        )
        maybe("aspects", aspect_sets() | columns)
    maybe("weighting", st.sampled_from(["classes", "normalized", "exponential"]))
    maybe("positives", st.sampled_from(["nonzero", "top-half"]))
    maybe("empty", st.sampled_from(["zero", "drop"]))
    maybe("normalized", st.booleans())
    if measure.NAME == "NWCS":
        maybe("ideal", st.sampled_from(["joint", "separate", "judged"]))
    maybe("p", st.sampled_from([0, 0.3, 0.8, 0.95]))
    maybe("s", st.sampled_from([0.1, 1, 3, 40]))
    maybe("aspect", st.sampled_from(names))
    if measure.NAME != "TOMA":
        maybe("order", orders())
    maybe("rel", st.integers(0, 3))
    maybe("dcg", st.sampled_from(["log2", "exp-log2", "jarvelin"]))
    maybe("effort", st.sampled_from([0, 0.05, 2]))
    maybe("overlap", st.sampled_from([1.1, 2, 3]))
    maybe("expected", st.integers(1, 5))
    maybe("wanted", st.integers(1, 5))
    constant = st.sampled_from([0.25, 0.5, 1, 3])
    maybe(
        "mu", constant | st.fixed_dictionaries({"relevance": constant, "credibility": st.just(0)})
    )
    if not isinstance(params.get("mu"), dict):
        maybe("nu", constant | st.just(0))
    try:
        measure(**params)
    except (
        ma.MultiAspectError
    ):  # the base is not linear, exponentiates gains itself, or has a cutoff
        params.pop("normalized", None)
        params.pop("weighting", None)
    if draw(st.booleans()):
        try:
            return measure(**params) @ draw(st.integers(1, 20))
        except ma.MultiAspectError:  # the base has a cutoff already, or takes none
            pass
    return measure(**params)
