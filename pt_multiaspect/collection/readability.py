"""Understandability as an aspect of qrels, estimated from the readability of the documents."""

from __future__ import annotations

import importlib.metadata
import re
import warnings
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from .._numbers import number
from .._typing import Floats, Objects
from .._validation import choice
from ..errors import MultiAspectError, choices, shown, tally
from ..strings.identifiers import identifiers
from .columns import (
    DOCUMENT_COLUMNS,
    QUERY_COLUMNS,
    check_distinct_columns,
    check_id_column,
    id_column,
    rename_beir_columns,
)
from .other_libraries import as_pandas, to_pandas

Index: TypeAlias = Literal["fog", "smog", "flesch_kincaid"]

#: The column that `with_readability` adds.
_ASPECT = "understandability"

#: The column of documents with plain text, and that with HTML.
_TEXT, _HTML = "text", "html"

#: The version of textstat, as others count differently, and later ones download a dictionary.
_TEXTSTAT = "0.7.8"

_REMEDY = "pip install 'pt-multiaspect[readability]'"

#: The threshold of a model that is named without one; the paper uses 10, 15 and 20.
_THRESHOLD = 15

_MODEL = re.compile(r"(?P<name>arctan|step)(\((?P<threshold>[^()]*)\))?")


def with_readability(
    qrels: Any, docs: Any, index: Index = "fog", model: str = "arctan"
) -> pd.DataFrame:
    """Add the probability that a user understands each document to qrels, by its readability.

    The labels of the new aspect are probabilities: declare it as
    ``Aspect(probabilities="identity")``. `uRBPgr` on relevance and this aspect is the simulation of
    §5 of Zuccon (2016). The step model gives binary labels, for which `uRBP` is sufficient.

    Parameters
    ----------
    qrels : DataFrame
        Columns ``qid docno`` or ``query_id doc_id``, and any number of aspects.
    docs : DataFrame
        One row per document: ``docno`` (or ``doc_id``) and ``text``, or ``html`` instead of
        ``text``. Markup, scripts and styles of HTML are removed, and blocks are put on separate
        lines, which does not end a sentence. Only the texts of judged documents are used.
    index : {'fog', 'smog', 'flesch_kincaid'}, default 'fog'
        Readability index for English; higher values mean harder texts.
    model : str, default 'arctan'
        Probability of understanding as a function of the index x and a threshold t, from §5.1 of
        Zuccon (2016): ``'step'`` is 1 if x < t, otherwise 0; ``'arctan'`` is 1/2 − arctan(x − t)/π.
        The threshold is 15, or the number in brackets, as in ``'step(10)'``.

    Returns
    -------
    DataFrame
        A copy of `qrels` with a last column ``understandability`` of floats in [0, 1]; the order of
        the rows and their index are unchanged.

    Raises
    ------
    MultiAspectError
        If a column is missing, a document occurs twice in `docs`, a judged document is not in
        `docs`, a text is not a string, the qrels already have the column, the index or the model is
        unknown, or textstat 0.7.8 or (for HTML) Beautiful Soup is not installed.

    Notes
    -----
    textstat counts words, sentences and syllables (``pip install 'pt-multiaspect[readability]'``).
    Abbreviations and decimals end sentences for it. It also computes SMOG, which is intended for
    texts of at least 30 sentences, and the Flesch–Kincaid grade. FOG is 0.4 · (words per sentence +
    percentage of words of more than two syllables), as in the paper. textstat's own FOG counts each
    hard word once, and none of a list of easy words. The FOG of a text without words is 0, so that
    it counts as understandable.

    As in the paper's experiments, the arctan model is not divided by its integral over the scores.
    Otherwise the probability of a document would depend on the other documents.

    References
    ----------
    G. Zuccon. Understandability biased evaluation for information retrieval. ECIR 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> qrels = pd.DataFrame({"qid": "q1", "docno": ["d1", "d2"], "label": [1, 1]})
    >>> docs = pd.DataFrame({"docno": ["d1", "d2"], "text": ["Rest a bit.", "Hospital care!"]})
    >>> judged = ma.with_readability(qrels, docs, model="arctan(10)")
    >>> judged.round(4)
      qid docno  label  understandability
    0  q1    d1      1             0.9640
    1  q1    d2      1             0.0294

    >>> plain = ma.Aspects({"relevance": ma.Aspect([0, 1], probabilities=[0, 1]),
    ...                     "understandability": ma.Aspect(probabilities="identity")})
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> ma.evaluate({"mine": run}, judged, ma.uRBPgr(p=0.8, aspects=plain), progress=False)["value"].round(4).item()
    0.1975
    """
    choice("index", *_INDEXES)(index)
    probability_of = _parse_model(model)
    frame, judged = _read_qrels(qrels)
    texts = _judged_texts(docs, judged)
    score_of = _INDEXES[index]()
    scores = np.array([score_of(text) for text in texts], dtype=np.float64)
    probabilities = pd.Series(probability_of(scores), index=texts.index)
    labels = probabilities.reindex(judged).to_numpy()
    return frame.assign(**{_ASPECT: labels})


def _parse_model(model: object) -> Callable[[Floats], Floats]:
    """Return the function from readability scores to probabilities that a model stands for."""
    if isinstance(model, str):
        match = _MODEL.fullmatch(model)
    else:
        match = None
    if match is None:
        raise MultiAspectError(
            "model: expected 'arctan' or 'step', with or without a threshold, as in 'arctan(10)', "
            f"got {shown(model)}"
        )
    threshold = _parse_threshold(match["threshold"])

    def arctan(scores: Floats) -> Floats:
        return np.asarray(0.5 - np.arctan(scores - threshold) / np.pi)

    def step(scores: Floats) -> Floats:
        return (scores < threshold).astype(np.float64)

    if match["name"] == "arctan":
        return arctan
    return step


def _parse_threshold(text: str | None) -> float:
    """Return the threshold of a model, which is a finite number above 0."""
    if text is None:
        return _THRESHOLD
    try:
        threshold = number(float(text), "model")
    except ValueError:
        raise MultiAspectError(
            f"model: expected a number above 0 as threshold, got {text!r}"
        ) from None
    if threshold <= 0:
        raise MultiAspectError(f"model: expected a number above 0 as threshold, got {text}")
    return threshold


def _read_qrels(qrels: object) -> tuple[pd.DataFrame, Objects]:
    """Return qrels as a frame of pandas, and the document of each row."""
    given = as_pandas(qrels)
    if not isinstance(given, pd.DataFrame):
        raise MultiAspectError(
            f"qrels: expected a DataFrame with columns qid and docno, got {shown(given)}"
        )
    check_distinct_columns(given, "qrels")
    frame = rename_beir_columns(given, "qrels")
    check_id_column(frame, QUERY_COLUMNS, "qrels")
    judged = identifiers(id_column(frame, DOCUMENT_COLUMNS, "qrels"), "qrels")
    if _ASPECT in frame.columns:
        raise MultiAspectError(
            f"qrels already have a column {_ASPECT} (columns: {choices(frame.columns)}). Drop or "
            "rename it"
        )
    return frame, judged


def _judged_texts(docs: object, judged: Objects) -> pd.Series[Any]:
    """Return the plain text of each judged document, by docno."""
    frame = to_pandas(docs)
    if frame is None:
        raise MultiAspectError(
            f"docs: expected a DataFrame with columns docno and text, got {shown(docs)}"
        )
    check_distinct_columns(frame, "docs")
    docnos = identifiers(id_column(frame, DOCUMENT_COLUMNS, "docs"), "docs")
    column = _text_column(frame)
    texts = pd.Series(
        frame[column].to_numpy(dtype=object), index=pd.Index(docnos, dtype=object), dtype=object
    )
    repeated = texts.index.duplicated()
    if repeated.any():
        raise MultiAspectError(
            "docs: expected one row per document, got several for "
            f"{_first_documents(texts.index[repeated])}"
        )
    wanted = pd.Index(pd.unique(pd.Series(judged, dtype=object)), dtype=object)
    absent = wanted[~wanted.isin(texts.index)]
    if len(absent):
        raise MultiAspectError(
            f"docs: expected every judged document, missing are {_first_documents(absent)}. Add "
            "their texts, or pass the judgments of the others"
        )
    texts = texts.reindex(wanted)
    _check_strings(texts, column)
    if column == _HTML:
        return _text_of_html(texts)
    return texts


def _text_column(docs: pd.DataFrame) -> str:
    """Return the column of documents that has their texts."""
    present = [column for column in (_TEXT, _HTML) if column in docs.columns]
    if len(present) != 1:
        got = " and ".join(present) or f"the columns {choices(docs.columns)}"
        raise MultiAspectError(f"docs: expected one column {_TEXT} or {_HTML}, got {got}")
    return present[0]


def _check_strings(texts: pd.Series[Any], column: str) -> None:
    """Raise an error for texts that are not strings."""
    is_wrong = np.array([not isinstance(text, str) for text in texts], dtype=bool)
    if not is_wrong.any():
        return
    docno = texts.index[is_wrong][0]
    text = texts[is_wrong].iloc[0]
    raise MultiAspectError(
        f"docs: expected texts as strings, but the {column} of document {docno!r} is {_kind(text)} "
        f"{tally(int(is_wrong.sum()), 'document')}. If these are empty, use "
        f"docs[{column!r}].fillna('')"
    )


def _kind(value: object) -> str:
    """Return the type of a value in words, or that the value is missing."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return f"missing ({value!r})"
    return f"of type {type(value).__name__}"


def _first_documents(docnos: pd.Index[Any]) -> str:
    """Join the first few distinct documents, and add the total."""
    distinct = docnos.unique()
    listed = choices(distinct[:5])
    if len(distinct) > 5:
        listed = f"{listed}, …"
    return f"{listed} {tally(len(distinct), 'document')}"


def _textstat() -> Any:
    """Return a counter of textstat with its default settings."""
    try:
        version = importlib.metadata.version("textstat")
    except importlib.metadata.PackageNotFoundError:
        raise MultiAspectError(
            f"readability requires textstat, which is not installed: {_REMEDY}"
        ) from None
    if version != _TEXTSTAT:
        raise MultiAspectError(
            f"readability requires textstat {_TEXTSTAT}, as other versions give other values, got "
            f"{version}: {_REMEDY}"
        )
    from textstat import textstat

    # A separate instance: the user may have set another language for the shared one.
    return type(textstat)()


def _fog() -> Callable[[str], float]:
    counter = _textstat()

    def fog(text: str) -> float:
        words: int = counter.lexicon_count(text)
        if words == 0:
            return 0.0
        sentences: int = counter.sentence_count(text)
        hard_words: int = counter.polysyllabcount(text)
        return 0.4 * (words / sentences + 100 * hard_words / words)

    return fog


def _smog() -> Callable[[str], float]:
    smog: Callable[[str], float] = _textstat().smog_index
    return smog


def _flesch_kincaid() -> Callable[[str], float]:
    grade: Callable[[str], float] = _textstat().flesch_kincaid_grade
    return grade


#: Functions that return that of an index.
_INDEXES: dict[str, Callable[[], Callable[[str], float]]] = {
    "fog": _fog,
    "smog": _smog,
    "flesch_kincaid": _flesch_kincaid,
}


#: Inline elements; all other elements start and end a line.
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn",
    "em", "font", "i", "ins", "kbd", "mark", "nobr", "q", "s", "samp", "small", "span",
    "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip


def _text_of_html(pages: pd.Series[Any]) -> pd.Series[Any]:
    """Return the texts of HTML documents without scripts, with blocks on separate lines."""
    try:
        from bs4 import BeautifulSoup
    except ImportError:
        raise MultiAspectError(
            f"a column {_HTML} requires Beautiful Soup, which is not installed: {_REMEDY}"
        ) from None
    texts = {}
    for docno, markup in pages.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # bs4 warns about texts that look like a file name or XML
                soup = BeautifulSoup(markup, "html.parser")
            for element in soup(["script", "style", "template"]):
                element.decompose()
            for element in soup.find_all(lambda tag: tag.name not in _INLINE):
                element.insert(0, "\n")
                element.append("\n")
            texts[docno] = soup.get_text()
        except Exception as error:  # bs4's own errors, those of the parser, RecursionError
            raise MultiAspectError(
                f"cannot parse the HTML of document {docno!r}: {error}"
            ) from error
    return pd.Series(texts, index=pages.index, dtype=object)
