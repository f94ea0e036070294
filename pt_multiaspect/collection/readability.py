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
_TEXTSTAT_VERSION = "0.7.8"

_REMEDY = "pip install 'pt-multiaspect[readability]'"

#: The threshold of a model that is named without one; the paper uses 10, 15 and 20.
_DEFAULT_THRESHOLD = 15

#: A model, such as "arctan" or "step(10)".
_MODEL = re.compile(
    r"""
    (?P<name>arctan|step)
    (\((?P<threshold>[^()]*)\))?  # in brackets
    """,
    re.VERBOSE,
)


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
    >>> measure = ma.uRBPgr(p=0.8, aspects=plain)
    >>> values = ma.evaluate({"mine": run}, judged, measure, progress=False)
    >>> values["value"].round(4).item()
    0.1975
    """
    choice("index", *_SCORE_FUNCTIONS)(index)
    probability_of_understanding = _parse_model(model)
    frame, docno_of_row = _read_qrels(qrels)
    texts = _judged_texts(docs, docno_of_row)
    create_score_function = _SCORE_FUNCTIONS[index]
    readability_score = create_score_function()
    scores = np.array([readability_score(text) for text in texts], dtype=np.float64)
    probabilities = probability_of_understanding(scores)
    probability_by_docno = pd.Series(probabilities, index=texts.index)
    labels = probability_by_docno.reindex(docno_of_row)
    new_column = {_ASPECT: labels.to_numpy()}
    return frame.assign(**new_column)


def _parse_model(model: object) -> Callable[[Floats], Floats]:
    """Return the function that a model stands for, from readability scores to probabilities.

    Parameters
    ----------
    model : str
        ``'arctan'`` or ``'step'``, also with a threshold, as in ``'step(10)'``.
    """
    match = None
    if isinstance(model, str):
        match = _MODEL.fullmatch(model)
    if match is None:
        raise MultiAspectError(
            "model: expected 'arctan' or 'step', with or without a threshold, as in 'arctan(10)', "
            f"got {shown(model)}"
        )
    threshold = _parse_threshold(match["threshold"])

    def arctan(scores: Floats) -> Floats:
        return np.asarray(0.5 - np.arctan(scores - threshold) / np.pi)

    def step(scores: Floats) -> Floats:
        is_understood = scores < threshold
        return is_understood.astype(np.float64)

    if match["name"] == "arctan":
        return arctan
    return step


def _parse_threshold(text: str | None) -> float:
    """Return the threshold of a model, which is a finite number above 0, or else the default."""
    if text is None:
        return _DEFAULT_THRESHOLD
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
    table = as_pandas(qrels)
    if not isinstance(table, pd.DataFrame):
        description = shown(table)
        raise MultiAspectError(
            f"qrels: expected a DataFrame with columns qid and docno, got {description}"
        )
    check_distinct_columns(table, "qrels")
    frame = rename_beir_columns(table, "qrels")
    check_id_column(frame, QUERY_COLUMNS, "qrels")
    documents = id_column(frame, DOCUMENT_COLUMNS, "qrels")
    docnos = identifiers(documents, "qrels")
    if _ASPECT in frame.columns:
        listed = choices(frame.columns)
        raise MultiAspectError(
            f"qrels already have a column {_ASPECT} (columns: {listed}). Drop or rename it"
        )
    return frame, docnos


def _judged_texts(docs: object, judged: Objects) -> pd.Series[Any]:
    """Return the plain text of each judged document, by docno.

    Parameters
    ----------
    docs : DataFrame
        The documents, with a column of plain text or HTML.
    judged : ndarray of str
        The judged documents, also repeatedly.
    """
    frame = to_pandas(docs)
    if frame is None:
        description = shown(docs)
        raise MultiAspectError(
            f"docs: expected a DataFrame with columns docno and text, got {description}"
        )
    check_distinct_columns(frame, "docs")
    documents = id_column(frame, DOCUMENT_COLUMNS, "docs")
    docnos = identifiers(documents, "docs")
    column = _text_column(frame)
    all_texts = pd.Series(
        frame[column].to_numpy(dtype=object), index=pd.Index(docnos, dtype=object), dtype=object
    )
    distinct_judged = pd.unique(pd.Series(judged, dtype=object))
    texts = _select_texts(all_texts, pd.Index(distinct_judged, dtype=object))
    _check_texts(texts, column)
    if column == _HTML:
        return _text_of_html(texts)
    return texts


def _select_texts(texts: pd.Series[Any], docnos: pd.Index[Any]) -> pd.Series[Any]:
    """Return the texts of some documents; raise an error unless all documents have one text.

    Parameters
    ----------
    texts : Series
        The texts of all documents, by docno.
    docnos : Index
        The documents to select.
    """
    is_repeated = texts.index.duplicated()
    if is_repeated.any():
        repeated = _first_documents(texts.index[is_repeated])
        raise MultiAspectError(f"docs: expected one row per document, got several for {repeated}")
    has_text = docnos.isin(texts.index)
    if not has_text.all():
        missing = _first_documents(docnos[~has_text])
        raise MultiAspectError(
            f"docs: expected every judged document, missing are {missing}. Add "
            "their texts, or pass the judgments of the others"
        )
    return texts.reindex(docnos)


def _text_column(docs: pd.DataFrame) -> str:
    """Return the name of the column with the texts of documents: text or html."""
    present = [column for column in (_TEXT, _HTML) if column in docs.columns]
    if len(present) == 1:
        return present[0]
    if present:
        got = " and ".join(present)
    else:
        listed = choices(docs.columns)
        got = f"the columns {listed}"
    raise MultiAspectError(f"docs: expected one column {_TEXT} or {_HTML}, got {got}")


def _check_texts(texts: pd.Series[Any], column: str) -> None:
    """Raise an error if some texts in a column of documents are not strings."""
    is_string = np.array([isinstance(text, str) for text in texts], dtype=bool)
    if is_string.all():
        return
    wrong_texts = texts[~is_string]
    docno = wrong_texts.index[0]
    kind = _kind(wrong_texts.iloc[0])
    documents = tally(len(wrong_texts), "document")
    raise MultiAspectError(
        f"docs: expected texts as strings, but the {column} of document {docno!r} is {kind} "
        f"{documents}. If these are empty, use docs[{column!r}].fillna('')"
    )


def _kind(value: object) -> str:
    """Return the type of a value in words, or that the value is missing."""
    is_nan = isinstance(value, float) and np.isnan(value)
    if value is None or value is pd.NA or is_nan:
        return f"missing ({value!r})"
    type_name = type(value).__name__
    return f"of type {type_name}"


def _first_documents(docnos: pd.Index[Any]) -> str:
    """Return a text with the first five distinct documents and the number of all."""
    distinct = docnos.unique()
    listed = choices(distinct[:5])
    n_documents = tally(len(distinct), "document")
    if len(distinct) > 5:
        return f"{listed}, … {n_documents}"
    return f"{listed} {n_documents}"


def _create_textstat() -> Any:
    """Return a new textstat object, with default settings, which counts words and sentences."""
    try:
        version = importlib.metadata.version("textstat")
    except importlib.metadata.PackageNotFoundError:
        raise MultiAspectError(
            f"readability requires textstat, which is not installed: {_REMEDY}"
        ) from None
    if version != _TEXTSTAT_VERSION:
        raise MultiAspectError(
            f"readability requires textstat {_TEXTSTAT_VERSION}, as other versions give other "
            f"values, got {version}: {_REMEDY}"
        )
    from textstat import textstat

    # The user may have set another language for the shared object.
    textstat_class = type(textstat)
    return textstat_class()


def _create_fog() -> Callable[[str], float]:
    """Return the function that computes the FOG of a text."""
    counter = _create_textstat()

    def fog(text: str) -> float:
        """Return 0.4 · (words per sentence + percentage of hard words)."""
        n_words: int = counter.lexicon_count(text)
        if n_words == 0:
            return 0.0
        n_sentences: int = counter.sentence_count(text)
        n_hard_words: int = counter.polysyllabcount(text)
        words_per_sentence = n_words / n_sentences
        percentage_of_hard_words = 100 * n_hard_words / n_words
        return 0.4 * (words_per_sentence + percentage_of_hard_words)

    return fog


def _create_smog() -> Callable[[str], float]:
    """Return the function that computes the SMOG of a text."""
    smog: Callable[[str], float] = _create_textstat().smog_index
    return smog


def _create_flesch_kincaid() -> Callable[[str], float]:
    """Return the function that computes the Flesch–Kincaid grade of a text."""
    grade: Callable[[str], float] = _create_textstat().flesch_kincaid_grade
    return grade


#: Functions that create the function of an index, which scores a text.
_SCORE_FUNCTIONS: dict[str, Callable[[], Callable[[str], float]]] = {
    "fog": _create_fog,
    "smog": _create_smog,
    "flesch_kincaid": _create_flesch_kincaid,
}


#: Inline elements; all other elements start and end a line.
_INLINE_ELEMENTS = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn",
    "em", "font", "i", "ins", "kbd", "mark", "nobr", "q", "s", "samp", "small", "span",
    "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip


def _text_of_html(pages: pd.Series[Any]) -> pd.Series[Any]:
    """Return the texts of HTML documents without scripts, with blocks on separate lines.

    Parameters
    ----------
    pages : Series
        The HTML of each document, by docno.
    """
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
                # It warns about texts that look like a file name or XML.
                warnings.simplefilter("ignore")
                page = BeautifulSoup(markup, "html.parser")
            texts[docno] = _text_of_page(page)
        except Exception as error:  # bs4's own errors, those of the parser, RecursionError
            raise MultiAspectError(
                f"cannot parse the HTML of document {docno!r}: {error}"
            ) from error
    return pd.Series(texts, index=pages.index, dtype=object)


def _text_of_page(page: Any) -> str:
    """Return the text of a page of Beautiful Soup without scripts; the page is changed."""
    for element in page(["script", "style", "template"]):
        element.decompose()
    blocks = page.find_all(lambda element: element.name not in _INLINE_ELEMENTS)
    for block in blocks:
        block.insert(0, "\n")
        block.append("\n")
    text: str = page.get_text()
    return text
