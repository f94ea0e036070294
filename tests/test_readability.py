"""Readability: indexes on counts of textstat, the models against their formulas, the join by values of measures."""

from __future__ import annotations

import importlib.metadata
import math
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pt_multiaspect as ma
from pt_multiaspect import Aspect, Aspects, MultiAspectError
from pt_multiaspect import uRBP as URBP
from pt_multiaspect import uRBPgr as URBPgr
from pt_multiaspect.collection import readability

textstat = pytest.importorskip("textstat")

# Hard words (three syllables or more) are in capitals in the comments.

EASY = "The cat sat on the mat. It was warm, so the cat slept! Did it dream?"
# The cat sat on the mat (6) | It was warm so the cat slept (7) | Did it dream (3): 16 words, 3
# sentences, 0 hard
FLU = (
    "Influenza is a contagious respiratory infection. Most patients recover at home within two "
    "weeks. Antibiotics don't help, because the infection is caused by a virus."
)
# INFLUENZA is a CONTAGIOUS RESPIRATORY INFECTION (6, 4 hard) | Most patients RECOVER at home within
# two weeks (8, 1 hard) | ANTIBIOTICS don't help because the INFECTION is caused by a virus (11, 2
# hard): 25 words, 3 sentences, 7 hard
REPEATED = "The patient took antibiotics and more antibiotics and again antibiotics."
# the PATIENT has two syllables; ANTIBIOTICS counts each time: 10 words, 1 sentence, 3 hard
ENDLESS = "no full stop closes this rather ordinary collection of words"
# 10 words, 1 sentence, ORDINARY, COLLECTION: 2 hard


def fog_by_hand(words: int, sentences: int, hard: int) -> float:
    return 0.4 * (words / sentences + 100 * hard / words)


FOG = {
    "d1": fog_by_hand(16, 3, 0),
    "d2": fog_by_hand(25, 3, 7),
    "d3": fog_by_hand(10, 1, 3),
    "d4": 0.0,
}
FOG["d5"] = fog_by_hand(10, 1, 2)
TEXTS = {"d1": EASY, "d2": FLU, "d3": REPEATED, "d4": "", "d5": ENDLESS}
DOCS = pd.DataFrame({"docno": TEXTS.keys(), "text": TEXTS.values()})
QRELS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q1", "q2", "q2"],
        "docno": ["d2", "d1", "d5", "d1", "d3"],
        "label": [1, 0, 1, 2, 1],
    },
    index=[7, 7, 3, 1, 0],
)


def join_readability(
    qrels: Any = QRELS, docs: Any = DOCS, *arguments: Any, **settings: Any
) -> pd.DataFrame:
    return ma.with_readability(qrels, docs, *arguments, **settings)


def probability(score: float, model: str = "arctan", threshold: float = 15) -> float:
    if model == "step":
        return float(score < threshold)
    return 0.5 - math.atan(score - threshold) / math.pi


def scores_of(texts: list[str], index: Any = "fog") -> list[float]:
    """The readability of texts, from their probabilities: the arctan model is invertible."""
    qrels = pd.DataFrame(
        {"qid": "q", "docno": [f"d{row}" for row in range(len(texts))], "label": 1}
    )
    docs = pd.DataFrame({"docno": qrels["docno"], "text": texts})
    labels = ma.with_readability(qrels, docs, index)["understandability"]
    return [15 + math.tan((0.5 - label) * math.pi) for label in labels]


# --- indexes --------------------------------------------------------------------------------


@pytest.mark.parametrize("docno", TEXTS)
def test_fog_counted_by_hand(docno: str) -> None:
    assert scores_of([TEXTS[docno]])[0] == pytest.approx(FOG[docno])


@pytest.mark.parametrize("text", ["", " \n\t", "...", "?! – (…)"])
def test_fog_of_no_words_is_0(text: str) -> None:
    assert scores_of([text])[0] == pytest.approx(0, abs=1e-9)


def test_abbreviations_end_sentences_for_textstat() -> None:
    """As the page says: it is a property of textstat that readers of values have to know."""
    plain, abbreviated = scores_of(
        [
            "Ask the old Doctor Miller about the dose of the drug.",
            "Ask the old Dr. Miller about the dose of the drug.",
        ]
    )
    assert plain == pytest.approx(fog_by_hand(words=11, sentences=1, hard=0))
    assert abbreviated == pytest.approx(fog_by_hand(words=11, sentences=2, hard=0))


def test_decimals_end_sentences_for_textstat() -> None:
    """Without hard words, the score of two sentences is half that of one."""
    whole, decimal = scores_of(
        ["He took a dose of 25 mg of the drug.", "He took a dose of 2.5 mg of the drug."]
    )
    assert decimal == pytest.approx(whole / 2)


def test_smog_and_flesch_kincaid_are_those_of_textstat() -> None:
    texts = [EASY, FLU, REPEATED, ENDLESS]
    assert scores_of(texts, "smog") == pytest.approx([textstat.smog_index(text) for text in texts])
    grades = [textstat.flesch_kincaid_grade(text) for text in texts]
    assert scores_of(texts, "flesch_kincaid") == pytest.approx(grades)
    assert len(set(grades)) == len(texts)


def test_smog_and_flesch_kincaid_by_hand() -> None:
    # 11 words of 1 3 1 2 2 and 1 1 1 3 1 3, so 19, syllables in 2 sentences, 3 of them of three or
    # more.
    text = "This medicine helps many people. It is a powerful old remedy."
    assert scores_of([text], "smog")[0] == pytest.approx(1.043 * math.sqrt(30 * 3 / 2) + 3.1291)
    expected = 0.39 * 11 / 2 + 11.8 * 19 / 11 - 15.59
    assert scores_of([text], "flesch_kincaid")[0] == pytest.approx(expected)


@pytest.mark.parametrize("index", ["fog", "flesch_kincaid"])
def test_the_users_settings_of_textstat_change_nothing(index: str) -> None:
    expected = join_readability(index=index)
    textstat.set_lang("de_DE")
    try:
        pd.testing.assert_frame_equal(join_readability(index=index), expected)
    finally:
        textstat.set_lang("en_US")


@pytest.mark.parametrize("index", ["fog", "smog", "flesch_kincaid"])
def test_the_extra_is_named_where_textstat_is_missing(
    index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", refuse)
    with pytest.raises(
        MultiAspectError, match=r"textstat, which is not installed.*pt-multiaspect\[readability\]"
    ):
        join_readability(index=index)


def test_other_versions_of_textstat_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.7.13")
    with pytest.raises(
        MultiAspectError,
        match=r"requires textstat 0\.7\.8, as other versions give other values, got 0",
    ):
        join_readability()


# --- the two models -------------------------------------------------------------------------

THRESHOLDS = st.floats(0.1, 1000)
SCORES = st.floats(-1e6, 1e6)


def apply_model(model: str, scores: Any) -> Any:
    return readability._parse_model(model)(np.asarray(scores, dtype=np.float64))


@pytest.mark.parametrize("threshold", [10, 15, 20, 7.5])
def test_models_at_and_around_the_threshold(threshold: float) -> None:
    scores = [
        threshold - 1,
        threshold,
        threshold + 1,
        np.nextafter(threshold, 0),
        math.inf,
        -math.inf,
    ]
    assert apply_model(f"step({threshold})", scores).tolist() == [1, 0, 0, 1, 0, 1]
    assert apply_model(f"arctan({threshold})", scores) == pytest.approx(
        [0.75, 0.5, 0.25, 0.5, 0, 1]
    )


@given(SCORES, THRESHOLDS)
def test_models_are_the_formulas(score: float, threshold: float) -> None:
    assert apply_model(f"step({threshold!r})", [score])[0] == probability(score, "step", threshold)
    expected = probability(score, "arctan", threshold)
    assert apply_model(f"arctan({threshold!r})", [score])[0] == pytest.approx(expected, abs=1e-15)


@given(st.lists(SCORES, max_size=20), THRESHOLDS, st.sampled_from(["step", "arctan"]))
def test_models_are_probabilities_that_fall_with_the_score(
    scores: list[float], threshold: float, model: str
) -> None:
    values = apply_model(f"{model}({threshold!r})", sorted(scores))
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values) <= 0).all()
    higher = apply_model(f"{model}({threshold + 1!r})", sorted(scores))
    assert (higher >= values).all()


@given(st.floats(0, 1e3), THRESHOLDS)
def test_the_arctan_model_is_symmetric_about_the_threshold(
    distance: float, threshold: float
) -> None:
    both = apply_model(f"arctan({threshold!r})", [threshold - distance, threshold + distance])
    assert both.sum() == pytest.approx(1)


# --- joined to qrels ------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["arctan", "step"])
@pytest.mark.parametrize("threshold", [2, 15, 7.5])
def test_with_readability(model: str, threshold: float) -> None:
    before = QRELS.copy()
    table = join_readability(model=f"{model}({threshold})")
    expected = [probability(FOG[docno], model, threshold) for docno in QRELS["docno"]]
    pd.testing.assert_frame_equal(table, QRELS.assign(understandability=expected))
    pd.testing.assert_frame_equal(QRELS, before)


def test_the_threshold_is_15_by_default() -> None:
    for model in ("arctan", "step"):
        pd.testing.assert_frame_equal(
            join_readability(model=model), join_readability(model=f"{model}(15)")
        )
    pd.testing.assert_frame_equal(join_readability(), join_readability(model="arctan"))


def test_with_readability_in_the_other_vocabulary() -> None:
    names = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    expected = join_readability().rename(columns=names)
    assert list(expected.columns) == ["query_id", "doc_id", "relevance", "understandability"]
    for docs in (DOCS, DOCS.rename(columns=names)):
        pd.testing.assert_frame_equal(join_readability(QRELS.rename(columns=names), docs), expected)


def test_documents_in_other_frames() -> None:
    expected = join_readability()
    shuffled = (
        DOCS.assign(title="x").set_index(pd.Index([5, 5, 1, 2, 9])).sample(frac=1, random_state=1)
    )
    pd.testing.assert_frame_equal(join_readability(docs=shuffled), expected)
    pd.testing.assert_frame_equal(join_readability(docs=DOCS.astype("string")), expected)


def test_document_names_are_compared_as_strings() -> None:
    numbers = {f"d{number}": number for number in range(1, 6)}
    table = join_readability(
        QRELS.assign(docno=QRELS["docno"].map(numbers)),
        DOCS.assign(docno=["1", "2", "3", "4", "5"]),
    )
    assert table["docno"].tolist() == [2, 1, 5, 1, 3]
    assert table["understandability"].tolist() == join_readability()["understandability"].tolist()


def test_only_judged_documents_are_read() -> None:
    unjudged = pd.DataFrame({"docno": ["d9"], "text": [None]})
    pd.testing.assert_frame_equal(
        join_readability(QRELS, pd.concat([DOCS, unjudged])), join_readability()
    )


def test_documents_that_are_missing() -> None:
    with pytest.raises(
        MultiAspectError, match=re.escape("missing are d2, d3 (2 such documents in all)")
    ):
        join_readability(docs=DOCS[DOCS["docno"].isin(["d1", "d5"])])
    with pytest.raises(
        MultiAspectError, match=r"missing are d2, d1, d5, d3 \(4 such.*pass the judgments of the"
    ):
        join_readability(docs=DOCS.iloc[:0])


def test_many_missing_documents_are_not_all_listed() -> None:
    qrels = pd.DataFrame({"qid": "q", "docno": [f"x{row}" for row in range(1000)], "label": 1})
    with pytest.raises(
        MultiAspectError, match=re.escape("x0, x1, x2, x3, x4, … (1000 such documents in all)")
    ):
        join_readability(qrels)


def test_no_judgments() -> None:
    table = join_readability(QRELS.iloc[:0])
    assert list(table.columns) == [*QRELS.columns, "understandability"]
    assert len(table) == 0


@pytest.mark.slow
def test_importing_the_package_does_not_import_textstat() -> None:
    code = """if True:
        import sys, pt_multiaspect
        pt_multiaspect.with_readability
        print(*sorted({"bs4", "textstat", "nltk"} & set(sys.modules)))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


# --- HTML -----------------------------------------------------------------------------------


def test_a_column_of_html_is_stripped() -> None:
    pytest.importorskip("bs4")
    page = f"""<!DOCTYPE html><html><head><style>p {{colour: incarnadine}}</style><!-- unremarkable --></head>
        <body><script>var hospital = "<p>considerable</p>";</script><template>imaginary</template>
        <p>{EASY[:20]}<b>{EASY[20:22]}</b>{EASY[22:]}</p></body></html>"""
    qrels = pd.DataFrame({"qid": "q1", "docno": ["page", "plain"], "label": 1})
    stripped = join_readability(
        qrels, pd.DataFrame({"docno": ["page", "plain"], "html": [page, EASY]})
    )
    expected = probability(FOG["d1"])
    assert stripped["understandability"].tolist() == pytest.approx([expected, expected])
    as_text = join_readability(
        qrels, pd.DataFrame({"docno": ["page", "plain"], "text": [page, EASY]})
    )
    assert as_text["understandability"].iat[0] != pytest.approx(expected)


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        pytest.param(
            "un<b>der</b>stand<wbr>able", ["understandable"], id="inline markup parts no word"
        ),
        pytest.param("<td>one</td><td>two</td>", ["one", "two"], id="cells"),
        pytest.param("one<br>two<hr/>three", ["one", "two", "three"], id="breaks"),
        pytest.param(
            "<h1>one</h1>two<p>three<p>four", ["one", "two", "three", "four"], id="unclosed blocks"
        ),
        pytest.param(
            "fish &amp; chips&nbsp;now &eacute;t&eacute;",
            ["fish", "&", "chips", "now", "été"],
            id="entities",
        ),
        pytest.param(
            "1 < 2 and 3 > 2 <", ["1", "<", "2", "and", "3", ">", "2", "<"], id="stray brackets"
        ),
        pytest.param(
            "https://example.org/a.html", ["https://example.org/a.html"], id="like a file name"
        ),
        pytest.param("<?xml version='1.0'?><a>one</a>", ["one"], id="like XML"),
        pytest.param("<div>" * 1500 + "deep", ["deep"], id="deeply nested"),
        pytest.param("", [], id="empty"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_words_of_html(markup: str, words: list[str]) -> None:
    pytest.importorskip("bs4")
    assert readability._text_of_html(pd.Series({"d1": markup}))["d1"].split() == words


def test_html_that_the_parser_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bs4")

    def refuse(*_: object) -> None:
        raise AssertionError("unknown status keyword")

    monkeypatch.setattr("bs4.BeautifulSoup", refuse)
    with pytest.raises(
        MultiAspectError, match="cannot parse the HTML of document 'd2': unknown status"
    ):
        join_readability(docs=DOCS.rename(columns={"text": "html"}))


def test_the_extra_is_named_where_beautiful_soup_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "bs4", None)
    with pytest.raises(
        MultiAspectError, match=r"requires Beautiful Soup.*pt-multiaspect\[readability\]"
    ):
        join_readability(docs=DOCS.rename(columns={"text": "html"}))
    assert len(join_readability()) == len(QRELS)


# --- what measures make of it ---------------------------------------------------------------

RUN = pd.DataFrame(
    {
        "query_id": ["q1", "q1", "q1", "q2", "q2"],
        "doc_id": ["d5", "d2", "x", "d1", "d3"],
        "score": [3.0, 2.0, 1.0, 2.0, 1.0],
    }
)


def values_by_query(measure: Any, qrels: pd.DataFrame) -> dict[str, float]:
    return {
        metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, RUN)
    }


def qrels_with_readability(model: str) -> pd.DataFrame:
    """The qrels with the probability that a user understands a document, with the columns of ir-measures."""
    return join_readability(model=f"{model}(13)").rename(
        columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    )


GRADED_READABILITY = URBPgr(
    p=0.8,
    aspects=Aspects(
        {
            "relevance": Aspect([0, 1, 2], probabilities=[0, 1, 1]),
            "understandability": Aspect(probabilities="identity"),
        }
    ),
)


@pytest.mark.parametrize("model", ["arctan", "step"])
def test_urbpgr_on_readability_through_ir_measures(model: str) -> None:
    """The run retrieves d5, d2, x for q1 and d1, d3 for q2; all are relevant but x, which is not judged."""
    values = values_by_query(GRADED_READABILITY, qrels_with_readability(model))

    d5, d2, d1, d3 = [probability(FOG[docno], model, 13) for docno in ("d5", "d2", "d1", "d3")]
    p = 0.8
    expected = {"q1": (1 - p) * (d5 + p * d2), "q2": (1 - p) * (d1 + p * d3)}
    assert values == pytest.approx(expected)


def test_urbpgr_on_readable_or_not_is_urbp() -> None:
    """By the model of a step at 13, d5 (FOG 12) is understood, and d2 (14.5) is not."""
    qrels = qrels_with_readability("step")
    values = values_by_query(GRADED_READABILITY, qrels)
    assert values["q1"] == pytest.approx((1 - 0.8) * (1 + 0.8 * 0))
    binary = URBP(p=0.8, aspects=Aspects({"relevance": 2, "understandability": 1}))
    assert values_by_query(binary, qrels) == pytest.approx(values)


# --- bad input ------------------------------------------------------------------------------


def with_text(docno: str, text: object) -> pd.DataFrame:
    return pd.DataFrame(
        {"docno": DOCS["docno"], "text": [text if d == docno else t for d, t in TEXTS.items()]}
    )


Case = tuple[Callable[[], object], str]
BAD: dict[str, Case] = {
    "text: a number": (
        lambda: join_readability(docs=with_text("d3", 5)),
        "the text of document 'd3' is of type int (1 such document in",
    ),
    "text: None": (
        lambda: join_readability(docs=with_text("d2", None)),
        "the text of document 'd2' is missing (",
    ),
    "text: NaN": (
        lambda: join_readability(docs=with_text("d2", math.nan)),
        (
            "document 'd2' is missing (nan) (1 such document in all). If these are empty, use "
            "docs['text'].fillna('')"
        ),
    ),
    "text: NA": (
        lambda: join_readability(docs=with_text("d2", pd.NA).astype("string")),
        "the text of document 'd2' is missing (<NA>)",
    ),
    "text: bytes": (
        lambda: join_readability(docs=with_text("d1", b"x")),
        "document 'd1' is of type bytes",
    ),
    "html: bytes": (
        lambda: join_readability(docs=with_text("d1", b"x").rename(columns={"text": "html"})),
        "the html of document 'd1' is of type bytes",
    ),
    "text: all": (
        lambda: join_readability(docs=DOCS.assign(text=[["x"]] * 5)),
        "'d2' is of type list (4 such documents in all)",
    ),
    "docs: no frame": (
        lambda: join_readability(docs={"d1": "x"}),
        "docs: expected a DataFrame with columns docno and text, got ",
    ),
    "docs: None": (
        lambda: join_readability(docs=None),
        "docs: expected a DataFrame with columns docno and text, got None",
    ),
    "docs: no docno": (
        lambda: join_readability(docs=DOCS[["text"]]),
        "docs: expected one column docno or doc_id, got the columns text",
    ),
    "docs: docid": (
        lambda: join_readability(docs=DOCS.rename(columns={"docno": "docid"})),
        "columns docid, text",
    ),
    "docs: both": (lambda: join_readability(docs=DOCS.assign(doc_id="x")), "got docno and doc_id"),
    "docs: no text": (
        lambda: join_readability(docs=DOCS[["docno"]]),
        "docs: expected one column text or html, got the columns docno",
    ),
    "docs: text and HTML": (
        lambda: join_readability(docs=DOCS.assign(html="")),
        "docs: expected one column text or html, got text and html",
    ),
    "docs: text twice": (
        lambda: join_readability(docs=DOCS[["docno", "text", "text"]]),
        "expected distinct column names, got several text",
    ),
    "docs: no name": (
        lambda: join_readability(docs=DOCS.assign(docno=["d1", None, "d3", "d4", "d5"])),
        "docs: expected a docno in every row, got none in row 1",
    ),
    "docs: twice": (
        lambda: join_readability(docs=pd.concat([DOCS, DOCS.iloc[[1, 2]]])),
        "one row per document, got several for d2, d3 (2 such documents in all)",
    ),
    "index": (
        lambda: join_readability(index="FOG"),
        "index: expected one of 'fog', 'smog', 'flesch_kincaid', got 'FOG'",
    ),
    "index: None": (lambda: join_readability(index=None), "'flesch_kincaid', got None"),
    "index: list": (lambda: join_readability(index=["fog"]), "'flesch_kincaid', got ['fog']"),
    "model": (
        lambda: join_readability(model="heaviside"),
        (
            "model: expected 'arctan' or 'step', with or without a threshold, as in 'arctan(10)', got "
            "'heaviside'"
        ),
    ),
    "model: None": (lambda: join_readability(model=None), "as in 'arctan(10)', got None"),
    "model: brackets": (
        lambda: join_readability(model="arctan(10"),
        "as in 'arctan(10)', got 'arctan(10'",
    ),
    "threshold: -1": (
        lambda: join_readability(model="step(-1)"),
        "model: expected a number above 0 as threshold, got -1",
    ),
    "threshold: 0": (
        lambda: join_readability(model="arctan(0)"),
        "model: expected a number above 0 as threshold, got 0",
    ),
    "threshold: nan": (
        lambda: join_readability(model="arctan(nan)"),
        "model: expected a number above 0 as threshold, got 'nan'",
    ),
    "threshold: inf": (
        lambda: join_readability(model="arctan(inf)"),
        "model: expected a number above 0 as threshold, got 'inf'",
    ),
    "threshold: text": (
        lambda: join_readability(model="arctan(high)"),
        "model: expected a number above 0 as threshold, got 'high'",
    ),
    "threshold: none": (
        lambda: join_readability(model="arctan()"),
        "model: expected a number above 0 as threshold, got ''",
    ),
    "qrels: a dict": (
        lambda: join_readability({"q1": {"d1": 1}}),
        "qrels: expected a DataFrame with columns qid and docno",
    ),
    "qrels: no docno": (
        lambda: join_readability(QRELS[["qid", "label"]]),
        "qrels: expected one column docno or doc_id",
    ),
    "qrels: no qid": (
        lambda: join_readability(QRELS[["docno", "label"]]),
        "qrels: expected one column qid or query_id",
    ),
    "qrels: query": (
        lambda: join_readability(QRELS.rename(columns={"docno": "doc"})),
        "the columns qid, doc, label",
    ),
    "qrels: the aspect": (
        lambda: join_readability(join_readability()),
        "qrels already have a column understandability (columns: qid, docno",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    act, message = BAD[case]
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        act()


def test_faults_are_found_before_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readability, "_judged_texts", lambda *_: pytest.fail("texts were read"))
    with pytest.raises(MultiAspectError):
        join_readability(model="x")
    with pytest.raises(MultiAspectError):
        join_readability(QRELS.assign(understandability=1.0))
