"""Readability: FOG against manual results, the models against their formulas, the join by values of measures."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import re
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pt_multiaspect import Aspect, Aspects, MultiAspectError
from pt_multiaspect import uRBP as URBP
from pt_multiaspect import uRBPgr as URBPgr
from pt_multiaspect.readability import fog, indexes, readability, understandability, with_readability

# Hard words (three syllables or more) are in capitals in the comments.

EASY = "The cat sat on the mat. It was warm, so the cat slept! Did it dream?"
# The cat sat on the mat (6) | It was warm so the cat slept (7) | Did it dream (3): 16 words, 3 sentences, 0 hard
FLU = (
    "Influenza is a contagious respiratory infection. Most patients recover at home within two weeks. "
    "Antibiotics don't help, because the infection is caused by a virus."
)
# INFLUENZA is a CONTAGIOUS RESPIRATORY INFECTION (6, 4 hard) | Most patients RECOVER at home within two weeks
# (8, 1 hard) | ANTIBIOTICS don't help because the INFECTION is caused by a virus (11, 2 hard):
# 25 words, 3 sentences, 7 hard
DOSE = (
    'Dr. Jones asked: "Did you take the 2.5 mg tablet?" She had, i.e. twice a day… '
    "The well-known side-effects (e.g. nausea) were mild."
)
# Dr Jones asked Did you take the 2.5 mg tablet (10, 0 hard) | She had i e twice a day (7, 0 hard) |
# The well known side effects e g NAUSEA were mild (10, 1 hard): 27 words, 3 sentences, 1 hard
LIST = "Steps:\n1. Wash the wound.\n2. Apply a bandage.\n3. Call 555-0199 in an emergency"
# Steps 1 (2: what stands before the first end has a letter) | Wash the wound (3) | 2 belongs to Apply a bandage
# (1 + 3) | 3 belongs to Call 555 0199 in an EMERGENCY (1 + 6, 1 hard): 16 words, 4 sentences, 1 hard
ENDLESS = "no full stop closes this rather ordinary collection of words"
# 10 words, 1 sentence, ORDINARY, COLLECTION: 2 hard


def by_hand(words: int, sentences: int, hard: int) -> float:
    return 0.4 * (words / sentences + 100 * hard / words)


@pytest.mark.parametrize(
    ("text", "words", "sentences", "hard"),
    [
        pytest.param(EASY, 16, 3, 0, id="easy"),
        pytest.param(FLU, 25, 3, 7, id="influenza"),
        pytest.param(DOSE, 27, 3, 1, id="abbreviations, numbers, quotes, hyphens"),
        pytest.param(LIST, 16, 4, 1, id="a numbered list"),
        pytest.param(ENDLESS, 10, 1, 2, id="no sentence end"),
        pytest.param("Go", 1, 1, 0, id="one word"),
        pytest.param("Really?! Yes... (No!) «Oui.»", 4, 4, 0, id="runs of marks and closing brackets"),
        pytest.param("Ask www.nhs.uk/flu for version 1.2.3 now.", 9, 1, 0, id="points inside words end nothing"),
        pytest.param("1 2 3", 3, 1, 0, id="numbers only"),
        pytest.param("Le pâté était très réussi.", 5, 1, 0, id="accents"),
        pytest.param("It’s the doctor’s ‘advice’.", 4, 1, 0, id="curly apostrophes and quotes"),
        pytest.param("Un café\u0301? Sí.", 3, 2, 0, id="combining accents"),
    ],
)
def test_fog_counted_by_hand(text: str, words: int, sentences: int, hard: int) -> None:
    assert fog(text) == by_hand(words, sentences, hard)


def test_fog_in_plain_numbers() -> None:
    assert fog(EASY) == pytest.approx(0.4 * 16 / 3)
    assert fog(FLU) == pytest.approx(0.4 * (25 / 3 + 28))
    assert fog(ENDLESS) == pytest.approx(12)


@pytest.mark.parametrize("text", ["", " \n\t", "...", "?! – (…)", "_"])
def test_fog_of_no_words_is_0(text: str) -> None:
    assert fog(text) == 0


def not_hard(words: str) -> list[str]:
    """The words that do not add to the FOG of a text: .4 · (words per sentence + per cent of hard words)."""
    return [word for word in words.split() if fog(f"{word}.") <= 0.4]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(
            "area idea creator reaction museums ideas nausea diarrhea media period actual", id="hard: parted"
        ),
        pytest.param("medicine understandable hospital element settlement expected created", id="hard: sounded e"),
        pytest.param("autism organism autoimmune hyaline society earliest influence diet-ary", id="hard: others"),
    ],
)
def test_hard_words(words: str) -> None:
    assert not_hard(words.replace("-", "")) == []


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(
            "care cared cares caring boxes causes table tables settled wanted loved agreed", id="silent e"
        ),
        pytest.param("safety safely careless statement movements someone sometimes useful", id="silent e inside"),
        pytest.param(
            "quiet technique league player beyond yes guess people special nation million", id="consonants"
        ),
        pytest.param("marriage patient friendly treatment heated lion create being tried carried", id="together"),
        pytest.param("a the of I w HIV MRI 2013 1,000.5 x2y don't", id="short"),
    ],
)
def test_words_that_are_not_hard(words: str) -> None:
    assert not_hard(words) == words.split()


@given(st.text())
def test_fog_is_finite_and_0_only_without_words(text: str) -> None:
    score = fog(text)
    assert math.isfinite(score)
    assert score == 0 or score >= 0.4
    assert (score == 0) == (not any(letter.isalnum() for letter in text))


@given(st.lists(st.sampled_from(["cat", "remedy", "is", "hospital", "care"]), min_size=1), st.integers(1, 5))
def test_fog_of_a_repeated_text_is_that_of_the_text(words: list[str], times: int) -> None:
    sentence = " ".join(words) + ". "
    assert fog(sentence * times) == pytest.approx(fog(sentence))
    assert fog(sentence) == pytest.approx(
        by_hand(len(words), 1, sum(word in ("remedy", "hospital") for word in words))
    )


# --- the two models -----------------------------------------------------------------------

THRESHOLDS = st.floats(0.1, 1000)
SCORES = st.floats(-1e6, 1e6)


@pytest.mark.parametrize("threshold", [10, 15, 20, 7.5])
def test_models_at_and_around_the_threshold(threshold: float) -> None:
    scores = [threshold - 1, threshold, threshold + 1, np.nextafter(threshold, 0), math.inf, -math.inf]
    assert understandability(scores, "step", threshold).tolist() == [1, 0, 0, 1, 0, 1]
    assert understandability(scores, "arctan", threshold) == pytest.approx([0.75, 0.5, 0.25, 0.5, 0, 1])


@given(SCORES, THRESHOLDS)
def test_models_are_the_formulas(score: float, threshold: float) -> None:
    assert understandability([score], "step", threshold)[0] == (1 if score < threshold else 0)
    expected = 1 / 2 - math.atan(score - threshold) / math.pi
    assert understandability([score], threshold=threshold)[0] == pytest.approx(expected, abs=1e-15)


@given(st.lists(SCORES, max_size=20), THRESHOLDS, st.sampled_from(["step", "arctan"]))
def test_models_are_probabilities_that_fall_with_the_score(
    scores: list[float], threshold: float, model: Any
) -> None:
    values = understandability(sorted(scores), model, threshold)
    assert ((values >= 0) & (values <= 1)).all()
    assert (np.diff(values) <= 0).all()
    higher = understandability(sorted(scores), model, threshold + 1)
    assert (higher >= values).all()


@given(st.floats(0, 1e3), THRESHOLDS)
def test_the_arctan_model_is_symmetric_about_the_threshold(distance: float, threshold: float) -> None:
    both = understandability([threshold - distance, threshold + distance], threshold=threshold)
    assert both.sum() == pytest.approx(1)


def test_scores_of_any_array_kind() -> None:
    expected = understandability([14.0, 16.0])
    for scores in ([14, 16], (14, 16), np.array([14, 16], np.float32), pd.Series([14, 16], dtype="Int64")):
        given_ = understandability(scores)
        assert isinstance(given_, np.ndarray)
        assert given_.dtype == np.float64
        assert given_.tolist() == expected.tolist()
    assert understandability(15).shape == ()
    assert understandability([]).shape == (0,)
    assert understandability([[1, 2, 3], [4, 5, 6]]).shape == (2, 3)


# --- many documents -----------------------------------------------------------------------

TEXTS = {"d1": EASY, "d2": FLU, "d3": DOSE, "d4": "", "d5": ENDLESS}
DOCS = pd.DataFrame({"docno": TEXTS.keys(), "text": TEXTS.values()})


def quiet(docs: Any, *arguments: Any, **settings: Any) -> pd.DataFrame:
    return readability(docs, *arguments, progress=False, **settings)


def test_readability_of_documents() -> None:
    table = quiet(DOCS.assign(title="x"))
    assert list(table.columns) == ["docno", "fog"]
    assert table["docno"].tolist() == list(TEXTS)
    assert table["fog"].dtype == np.float64
    assert table["fog"].tolist() == [fog(text) for text in TEXTS.values()]
    assert table["fog"].iat[3] == 0


def test_readability_of_other_shapes_of_documents() -> None:
    expected = quiet(DOCS)
    shuffled = DOCS.rename(columns={"docno": "doc_id"}).set_index(pd.Index([5, 5, 1, 2, 9]))
    pd.testing.assert_frame_equal(quiet(shuffled), expected)
    pd.testing.assert_frame_equal(quiet(DOCS.astype("string")), expected)
    numbered = quiet(DOCS.assign(docno=range(5)))
    assert numbered["docno"].tolist() == ["0", "1", "2", "3", "4"]
    assert quiet(DOCS.iloc[:0]).shape == (0, 2)


@pytest.mark.slow
def test_two_processes_give_the_same_as_one() -> None:
    rows = range(1000)  # several tasks for each
    docs = pd.DataFrame({"docno": [f"d{row}" for row in rows], "text": [FLU * (row % 9) for row in rows]})
    pd.testing.assert_frame_equal(quiet(docs, n_jobs=2), quiet(docs))


def test_the_bar_counts_documents(capsys: pytest.CaptureFixture[str]) -> None:
    readability(DOCS)
    assert "5/5" in capsys.readouterr().err
    readability(DOCS, progress=False)
    assert capsys.readouterr().err == ""


def test_html_is_stripped_on_request() -> None:
    page = f"""<!DOCTYPE html><html><head><style>p {{colour: incarnadine}}</style><!-- unremarkable --></head>
        <body><script>var hospital = "<p>considerable</p>";</script><template>imaginary</template>
        <p>{EASY[:20]}<b>{EASY[20:22]}</b>{EASY[22:]}</p></body></html>"""
    docs = pd.DataFrame({"docno": ["page", "plain"], "text": [page, EASY]})
    assert quiet(docs, html=True)["fog"].tolist() == [fog(EASY), fog(EASY)]
    assert quiet(docs)["fog"].iat[0] > fog(EASY) == quiet(docs)["fog"].iat[1]


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        pytest.param("un<b>der</b>stand<wbr>able", ["understandable"], id="inline markup parts no word"),
        pytest.param("<td>one</td><td>two</td>", ["one", "two"], id="cells"),
        pytest.param("one<br>two<hr/>three", ["one", "two", "three"], id="breaks"),
        pytest.param("<h1>one</h1>two<p>three<p>four", ["one", "two", "three", "four"], id="unclosed blocks"),
        pytest.param("fish &amp; chips&nbsp;now &eacute;t&eacute;", ["fish", "chips", "now", "été"], id="entities"),
        pytest.param("1 < 2 and 3 > 2 <", ["1", "2", "and", "3", "2"], id="stray brackets"),
        pytest.param("https://example.org/a.html", ["https", "example", "org", "a", "html"], id="like a file name"),
        pytest.param("<?xml version='1.0'?><a>one</a>", ["one"], id="like XML"),
        pytest.param("<div>" * 1500 + "deep", ["deep"], id="deeply nested"),
        pytest.param("", [], id="empty"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_words_of_html(markup: str, words: list[str]) -> None:
    assert indexes._WORD.findall(indexes.text_of("d1", markup)) == words


def test_html_that_the_parser_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("unknown status keyword")

    monkeypatch.setattr("bs4.BeautifulSoup", refuse)
    with pytest.raises(MultiAspectError, match="cannot parse the HTML of document 'd1': unknown status"):
        quiet(DOCS, html=True)


# --- SMOG and Flesch–Kincaid --------------------------------------------------------------


@pytest.fixture
def textstat() -> Any:
    library = pytest.importorskip("textstat")
    try:
        indexes._textstat("smog", "smog_index")
    except MultiAspectError as error:
        pytest.skip(str(error))
    return library


@pytest.mark.slow
def test_smog_and_flesch_kincaid_are_those_of_textstat(textstat: Any) -> None:
    texts = DOCS["text"].tolist()
    assert quiet(DOCS, "smog")["smog"].tolist() == [textstat.smog_index(text) for text in texts]
    grades = quiet(DOCS, "flesch_kincaid")
    assert list(grades.columns) == ["docno", "flesch_kincaid"]
    assert grades["flesch_kincaid"].tolist() == [textstat.flesch_kincaid_grade(text) for text in texts]
    assert len(set(grades["flesch_kincaid"])) == len(texts)


@pytest.mark.slow
def test_smog_and_flesch_kincaid_by_hand(textstat: Any) -> None:
    # 11 words of 1 3 1 2 2 and 1 1 1 3 1 3, so 19, syllables in 2 sentences, 3 of them of three or more.
    docs = pd.DataFrame({"docno": ["d"], "text": ["This medicine helps many people. It is a powerful old remedy."]})
    assert quiet(docs, "smog")["smog"].item() == pytest.approx(1.043 * math.sqrt(30 * 3 / 2) + 3.1291)
    expected = 0.39 * 11 / 2 + 11.8 * 19 / 11 - 15.59
    assert quiet(docs, "flesch_kincaid")["flesch_kincaid"].item() == pytest.approx(expected)


@pytest.mark.slow
def test_the_users_settings_of_textstat_change_nothing(textstat: Any) -> None:
    expected = quiet(DOCS, "flesch_kincaid")
    textstat.set_lang("de_DE")
    try:
        pd.testing.assert_frame_equal(quiet(DOCS, "flesch_kincaid"), expected)
    finally:
        textstat.set_lang("en_US")


@pytest.mark.parametrize("index", ["smog", "flesch_kincaid"])
def test_the_extra_is_named_where_it_is_missing(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MultiAspectError, match=rf"'{index}'.*not installed.*pt-multiaspect\[readability\]"):
        quiet(DOCS, index)
    with pytest.raises(MultiAspectError, match="pt-multiaspect"):
        with_readability(QRELS, DOCS, index, progress=False)
    assert len(quiet(DOCS, "fog")) == len(DOCS)


def test_the_extra_is_named_where_beautiful_soup_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message = r"html=True requires Beautiful Soup.*pt-multiaspect\[readability\]"
    with pytest.raises(MultiAspectError, match=message):
        quiet(DOCS, html=True)
    with pytest.raises(MultiAspectError, match=message):
        with_readability(QRELS, DOCS, html=True, progress=False)
    assert quiet(DOCS)["docno"].tolist() == DOCS["docno"].tolist()


def test_no_dictionary_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> None:
        raise LookupError(name)

    nltk: Any = ModuleType("nltk")
    nltk.data = SimpleNamespace(find=find)
    monkeypatch.setitem(sys.modules, "nltk", nltk)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: ["pyphen", "nltk (>=3)"])
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.7.13")
    with pytest.raises(MultiAspectError, match=r"textstat 0\.7\.13.*nltk\.downloader cmudict"):
        quiet(DOCS, "smog")


@pytest.mark.slow
def test_importing_the_module_imports_no_library_of_its_own() -> None:
    code = """if True:
        import sys, pt_multiaspect
        before = set(sys.modules)
        import pt_multiaspect.readability
        print(*sorted(({"bs4", "textstat", "nltk", "joblib", "tqdm"} & set(sys.modules)) - before))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


# --- joined to qrels ----------------------------------------------------------------------

QRELS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q1", "q2", "q2"],
        "docno": ["d2", "d1", "d5", "d1", "d3"],
        "label": [1, 0, 1, 2, 1],
    },
    index=[7, 7, 3, 1, 0],
)


def join_readability(qrels: Any = QRELS, docs: Any = DOCS, *arguments: Any, **settings: Any) -> pd.DataFrame:
    return with_readability(qrels, docs, *arguments, progress=False, **settings)


@pytest.mark.parametrize("model", ["arctan", "step"])
@pytest.mark.parametrize("threshold", [2, 15])
def test_with_readability(model: Any, threshold: float) -> None:
    before = QRELS.copy()
    table = join_readability(model=model, threshold=threshold)
    expected = understandability([fog(TEXTS[docno]) for docno in QRELS["docno"]], model, threshold)
    pd.testing.assert_frame_equal(table, QRELS.assign(understandability=expected))
    pd.testing.assert_frame_equal(QRELS, before)


def test_with_readability_in_the_other_vocabulary() -> None:
    names = {"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    expected = join_readability().rename(columns=names)
    assert list(expected.columns) == ["query_id", "doc_id", "relevance", "understandability"]
    for docs in (DOCS, DOCS.rename(columns=names)):
        pd.testing.assert_frame_equal(join_readability(QRELS.rename(columns=names), docs), expected)


def test_with_readability_under_another_name() -> None:
    table = join_readability(join_readability(), name="easy at 10", threshold=10)
    assert list(table.columns) == ["qid", "docno", "label", "understandability", "easy at 10"]
    assert (table["easy at 10"] < table["understandability"]).all()


def test_document_names_are_compared_as_strings() -> None:
    numbers = {f"d{number}": number for number in range(1, 6)}
    table = join_readability(
        QRELS.assign(docno=QRELS["docno"].map(numbers)), DOCS.assign(docno=["1", "2", "3", "4", "5"])
    )
    assert table["docno"].tolist() == [2, 1, 5, 1, 3]
    assert table["understandability"].tolist() == join_readability()["understandability"].tolist()


def test_only_judged_documents_are_read() -> None:
    unjudged = pd.DataFrame({"docno": ["d9"], "text": [None]})
    pd.testing.assert_frame_equal(join_readability(QRELS, pd.concat([DOCS, unjudged])), join_readability())


def test_documents_that_are_missing() -> None:
    with pytest.raises(MultiAspectError, match=re.escape("missing are d2, d3 (2 such documents in all)")):
        join_readability(docs=DOCS[DOCS["docno"].isin(["d1", "d5"])])
    with pytest.raises(MultiAspectError, match=r"missing are d2, d1, d5, d3 \(4 such"):
        join_readability(docs=DOCS.iloc[:0])
    table = join_readability(docs=DOCS[DOCS["docno"] != "d1"], missing="nan")
    assert table["understandability"].isna().tolist() == [False, True, False, True, False]
    pd.testing.assert_frame_equal(table.dropna(), join_readability()[table["understandability"].notna().to_numpy()])
    assert join_readability(docs=DOCS.iloc[:0], missing="nan")["understandability"].isna().all()


def test_many_missing_documents_are_not_all_listed() -> None:
    qrels = pd.DataFrame({"qid": "q", "docno": [f"x{row}" for row in range(1000)], "label": 1})
    with pytest.raises(MultiAspectError, match=re.escape("x0, x1, x2, x3, x4, … (1000 such documents in all)")):
        join_readability(qrels)


def test_no_judgments() -> None:
    table = join_readability(QRELS.iloc[:0])
    assert list(table.columns) == [*QRELS.columns, "understandability"]
    assert len(table) == 0


# --- what measures make of it -------------------------------------------------------------

RUN = pd.DataFrame(
    {
        "query_id": ["q1", "q1", "q1", "q2", "q2"],
        "doc_id": ["d5", "d2", "x", "d1", "d3"],
        "score": [3.0, 2.0, 1.0, 2.0, 1.0],
    }
)


@pytest.mark.parametrize("model", ["arctan", "step"])
def test_urbpgr_on_readability_through_ir_measures(model: Any) -> None:
    qrels = join_readability(model=model, threshold=13).rename(
        columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"}
    )
    spec = Aspects(
        {
            "relevance": Aspect([0, 1, 2], probabilities=[0, 1, 1]),
            "understandability": Aspect(probabilities="identity"),
        }
    )
    measure = URBPgr(p=0.8, aspects=spec)
    values = {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, RUN)}

    def user(docno: str) -> float:
        difference = fog(TEXTS[docno]) - 13
        return 0.5 - math.atan(difference) / math.pi if model == "arctan" else float(difference < 0)

    # All of d5, d2 (q1) and d1, d3 (q2) are relevant; x is not judged.
    expected = {"q1": 0.2 * (user("d5") + 0.8 * user("d2")), "q2": 0.2 * (user("d1") + 0.8 * user("d3"))}
    assert values == pytest.approx(expected)
    if model == "step":
        binary = URBP(p=0.8, aspects=Aspects({"relevance": 2, "understandability": 1}))
        again = {metric.query_id: metric.value for metric in ir_measures.iter_calc([binary], qrels, RUN)}
        assert again == pytest.approx(values)
        assert values["q1"] == pytest.approx(0.2)  # d5 has FOG 12, d2 14.5


# --- bad input ----------------------------------------------------------------------------


def text_of(docno: str, text: object) -> pd.DataFrame:
    return pd.DataFrame({"docno": DOCS["docno"], "text": [text if d == docno else t for d, t in TEXTS.items()]})


Case = tuple[Callable[[], object], str]
BAD: dict[str, Case] = {
    "fog: None": (lambda: fog(None), "text: expected a string, got a value missing (None)"),  # type: ignore[arg-type]
    "fog: bytes": (lambda: fog(b"x"), "text: expected a string, got a value of type bytes"),  # type: ignore[arg-type]
    "text: a number": (
        lambda: quiet(text_of("d3", 5)),
        "the text of document 'd3' is of type int (1 such document in",
    ),
    "text: None": (lambda: quiet(text_of("d2", None)), "the text of document 'd2' is missing ("),
    "text: NaN": (lambda: quiet(text_of("d2", math.nan)), "the text of document 'd2' is missing (nan)"),
    "text: NA": (
        lambda: quiet(text_of("d2", pd.NA).astype("string")),
        "the text of document 'd2' is missing (<NA>)",
    ),
    "text: bytes": (lambda: quiet(text_of("d1", b"x"), html=True), "the text of document 'd1' is of type bytes"),
    "text: all": (lambda: quiet(DOCS.assign(text=[["x"]] * 5)), "'d1' is of type list (5 such documents in all)"),
    "text: missing, judged": (
        lambda: join_readability(docs=text_of("d2", None)),
        "the text of document 'd2' is missing (",
    ),
    "docs: no frame": (
        lambda: quiet({"d1": "x"}),
        "docs: expected a DataFrame with columns docno and text, got ",
    ),
    "docs: None": (
        lambda: join_readability(docs=None),
        "docs: expected a DataFrame with columns docno and text, got None",
    ),
    "docs: no docno": (
        lambda: quiet(DOCS[["text"]]),
        "docs: expected one column docno or doc_id, got the columns text",
    ),
    "docs: docid": (lambda: quiet(DOCS.rename(columns={"docno": "docid"})), "columns docid, text"),
    "docs: both": (lambda: quiet(DOCS.assign(doc_id="x")), "got docno and doc_id"),
    "docs: no text": (lambda: quiet(DOCS[["docno"]]), "docs: expected a column text, got the columns docno"),
    "docs: text twice": (
        lambda: quiet(DOCS[["docno", "text", "text"]]),
        "expected distinct column names, got several text",
    ),
    "docs: no name": (
        lambda: quiet(DOCS.assign(docno=["d1", None, "d3", "d4", "d5"])),
        "docs: expected a docno in every row, got none in row 1",
    ),
    "docs: twice": (
        lambda: quiet(pd.concat([DOCS, DOCS.iloc[[1, 2]]])),
        "one row per document, got several for d2, d3 (2 such documents in all)",
    ),
    "index": (lambda: quiet(DOCS, "FOG"), "index: expected one of 'fog', 'smog', 'flesch_kincaid', got 'FOG'"),
    "index: join": (lambda: join_readability(QRELS, DOCS, "smogg"), "'flesch_kincaid', got 'smogg'"),
    "index: None": (lambda: quiet(DOCS, None), "'flesch_kincaid', got None"),
    "index: list": (lambda: quiet(DOCS, ["fog"]), "'flesch_kincaid', got ['fog']"),
    "model": (lambda: understandability([1], "atan"), "model: expected one of 'arctan', 'step', got 'atan'"),  # type: ignore[arg-type]
    "model: join": (
        lambda: join_readability(model="heaviside"),
        "model: expected one of 'arctan', 'step', got 'heaviside'",
    ),
    "missing": (
        lambda: join_readability(missing="ignore"),
        "missing: expected one of 'error', 'nan', got 'ignore'",
    ),
    "threshold: -1": (lambda: understandability([1], threshold=-1), "threshold: expected a number above 0, got -1"),
    "threshold: 0": (lambda: understandability([1], threshold=0), "threshold: expected a number above 0, got 0"),
    "threshold: nan": (
        lambda: understandability([1], threshold=math.nan),
        "threshold: expected a finite number, got",
    ),
    "threshold: inf": (
        lambda: understandability([1], threshold=math.inf),
        "threshold: expected a finite number, got",
    ),
    "threshold: text": (lambda: understandability([1], threshold="15"), "finite number, got '15'"),  # type: ignore[arg-type]
    "threshold: join": (lambda: join_readability(threshold=-15), "threshold: expected a number above 0, got -15"),
    "threshold: model": (
        lambda: join_readability(model="step", threshold=-2.5),
        "threshold: expected a number above 0, got -2.5",
    ),
    "scores: NaN": (
        lambda: understandability([1, math.nan, math.nan]),
        "got one at position 1 (2 such scores in all)",
    ),
    "scores: None": (lambda: understandability([1, None]), "got one at position 1 (1 such score in all)"),  # type: ignore[list-item]
    "scores: NA": (
        lambda: understandability(pd.Series([pd.NA, 1], dtype="Int64")),
        "got one at position 0 (1 such",
    ),
    "scores: text": (lambda: understandability(["12"]), "scores: expected numbers, got dtype <U2"),
    "scores: mixed": (
        lambda: understandability(np.array([1, "12"], dtype=object)),
        "scores: expected numbers, got a value of type str",
    ),
    "scores: ragged": (lambda: understandability([[1], [1, 2]]), "scores: expected an array of numbers"),  # type: ignore[list-item]
    "n_jobs: 0": (lambda: quiet(DOCS, n_jobs=0), "n_jobs: expected an integer other than 0, got 0"),
    "n_jobs: text": (lambda: quiet(DOCS, n_jobs="2"), "n_jobs: expected an integer other than 0, got '2'"),
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
    "name: taken": (
        lambda: join_readability(join_readability()),
        "qrels already have a column understandability (columns: qid, docno",
    ),
    "name: label": (lambda: join_readability(name="label"), "qrels already have a column label"),
    "name: relevance": (lambda: join_readability(name="relevance"), "qrels already have a column label"),
    "name: docno": (lambda: join_readability(name="doc_id"), "got 'doc_id', which is reserved"),
    "name: known": (lambda: join_readability(name="known"), "got 'known', which is reserved"),
    "name: empty": (
        lambda: join_readability(name=" "),
        "expected a non-empty string as the name of an aspect, got ' '",
    ),
    "name: None": (
        lambda: join_readability(name=None),
        "expected a non-empty string as the name of an aspect, got None",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    act, message = BAD[case]
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        act()


def test_faults_are_found_before_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "_scores", lambda *_: pytest.fail("texts were read"))
    for settings in ({"threshold": -1}, {"model": "x"}, {"name": "label"}, {"missing": "x"}):
        with pytest.raises(MultiAspectError):
            join_readability(**settings)
