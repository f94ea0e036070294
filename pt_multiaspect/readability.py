"""Readability of documents as an estimate of how understandable they are."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from .aspects import aspect_name, number
from .errors import MultiAspectError, choices, counted
from .judgments import DOCUMENT_COLUMNS, IDENTIFIERS, KNOWN, QUERY_COLUMNS, check_distinct_columns, id_column
from .judgments import identifiers as id_strings

__all__ = ["fog", "readability", "understandability", "with_readability"]

Index: TypeAlias = Literal["fog", "smog", "flesch_kincaid"]
Model: TypeAlias = Literal["arctan", "step"]
Floats: TypeAlias = npt.NDArray[np.float64]

_CHUNK = 200  # documents a task: enough to outweigh sending it, few enough for the bar to move


# --- counting -----------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+|(?<=\d)[.,](?=\d)[^\W_]+)*")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE_END = re.compile(
    # The abbreviations, listed by length as a look-behind needs, are those that end no sentence.
    r"""(?:(?<!\b(?:dr|mr|ms|vs|cf))(?<!\b(?:mrs|e\.g|i\.e|fig))(?<!\bprof)(?<!\bapprox)\.|[!?…])
        [.!?…]*["'”’»)\]]*(?=\s|$)""",
    re.IGNORECASE | re.VERBOSE,
)

_LIGATURES = str.maketrans("æœø", "eeo")
_SILENT = [
    re.compile(rule, re.VERBOSE)
    for rule in (
        # Vowel letters that are consonants: yes, player; quiet, technique; league.
        r"(?:^|(?<=[aeiou]))y(?=[aeiou]) | (?<=q)u | (?<=g)u(?=es?$)",
        # The e of safely, careless, movement and someone, but not of settlement and element.
        r"(?<=[aeiouy][^aeiouyl])e(?=(?:ly|less|ness|ment|ful|ty)s?$) | (?<=^som)e(?=.)",
        # The last e of care, cares and cared; not of table, boxes and created.
        r"""(?<=[^aeiouy])(?<![^aeiouylr][lr])
            (?: e$ | (?<![sxzcg])(?<![sc]h)e(?=s$) | (?<![td])e(?=d$) )""",
    )
]
_VOWELS = re.compile(r"[aeiouy]+")
#: Where a group of vowel letters is two syllables.
_PARTED = re.compile(
    r"""(?<![cgstx])(?<!ll)i(?=[ao])(?!ag[-e]|on)       # media, period; not special, marriage
      | (?<![cghnstx])(?<!ll)i(?=on)                    # lion; not million, nation
      | (?<![cst])i(?=en(?!d)|ers?$|est$|u[ms])|i(?=et) # earlier, medium, quiet; not patient, friend
      | (?<!g)u(?=[ao])|u(?=en[ct])                     # actual, influence; not language
      | (?<![cgt])e(?=o(?!pl))                          # video; not people
      | e(?=as?$|ums?$)|(?<=cr)e(?=at[-eio])|(?<=^r)e(?=act)  # area, museum, create, reaction
      | (?<=[^aeiouy])y(?=[aeiou])|[aeouy](?=ing)       # hyaline, being
      | s(?=ms?$)                                       # autism
    """,
    re.VERBOSE,
)


def _syllables(word: str) -> int:
    """Estimate the syllables of an English word from its spelling, by the rule that `fog` describes."""
    spelt = unicodedata.normalize("NFKD", word.lower().translate(_LIGATURES))
    spelt = "".join(letter for letter in spelt if letter.isalpha())
    for silent in _SILENT:
        spelt = silent.sub("-", spelt)
    return max(1, len(_VOWELS.findall(spelt)) + len(_PARTED.findall(spelt)))


@lru_cache(maxsize=1 << 18)
def _is_hard(word: str) -> bool:
    return _syllables(word) > 2


def fog(text: str) -> float:
    """Compute the FOG index of an English text: the grade of schooling it takes to read it.

    FOG is 0.4 · (words per sentence + percentage of hard words), as in §5.1 of [1]_, where
    hard are the words of more than two syllables. No word is exempt: Gunning's exceptions for
    names and inflected verbs are not part of that definition.

    Parameters
    ----------
    text : str
        Plain text; for HTML see `readability`.

    Returns
    -------
    float
        At least 0.4 if there is a word, and 0 if there is none.

    Raises
    ------
    MultiAspectError
        If `text` is no string.

    See Also
    --------
    readability : The index of many documents.

    Notes
    -----
    How things are counted:

    - A *word* is a run of letters and digits, with single apostrophes inside (``don't``) and, inside
      numbers, points and commas (``1,000.5``). Hyphens and slashes part words.
    - A *sentence* ends at ``.``, ``!``, ``?`` or ``…`` (several count once), quotation marks and brackets
      that close there included, if a blank or the text's end follows. The point of Dr., Mr., Mrs., Ms.,
      Prof., vs., cf., e.g., i.e., fig. and approx. ends none. A piece without letters (the number
      of a list item) is no sentence. Line breaks and headings end none either: a text without
      sentence ends is one sentence.
    - *Syllables* are groups of neighbouring vowel letters, without silent ones (the e of *care* and *safely*,
      the u of *quiet*), and with those parted that are spoken apart (*are-a*, *medi-um*, *actu-al*,
      *be-ing*). Accents are ignored. Numbers and acronyms are not spelt out: they are hard only if they
      would be as words.

    Of the 49 000 most frequent English words that the CMU Pronouncing Dictionary has, the rule agrees
    with it on which are hard for 97 %, and for 99 % of their occurrences (hyphenation by
    pyphen: 88 % and 98 %). These are also the words the rule was made with.

    References
    ----------
    .. [1] G. Zuccon. Understandability biased evaluation for information retrieval. ECIR 2016.

    Examples
    --------
    Nine words in two sentences; *medicine* and *remedy* are hard:

    >>> from pt_multiaspect.readability import fog
    >>> round(fog("This medicine helps. Ask Dr. Who for a remedy."), 4)
    10.6889
    >>> fog("")
    0.0
    """
    if not isinstance(text, str):
        raise MultiAspectError(f"fog takes a text as a string, not {_kind(text)}")
    words = _WORD.findall(text)
    if not words:
        return 0.0
    sentences = max(1, sum(_LETTER.search(piece) is not None for piece in _SENTENCE_END.split(text)))
    hard = sum(map(_is_hard, words))
    return 0.4 * (len(words) / sentences + 100 * hard / len(words))


# --- the index of many documents ----------------------------------------------------------


def readability(
    docs: pd.DataFrame, index: Index = "fog", *, html: bool = False, n_jobs: int = 1, progress: bool = True
) -> pd.DataFrame:
    """Compute a readability index of every document.

    Parameters
    ----------
    docs : DataFrame
        Columns ``docno`` (or ``doc_id``) and ``text``, a row a document; other columns are passed over.
    index : {'fog', 'smog', 'flesch_kincaid'}, default 'fog'
        The index, greater for texts that are harder to read. For FOG see `fog`. SMOG and the
        Flesch–Kincaid grade are those of textstat (``pip install 'pt-multiaspect[readability]'``) for
        English, with its own ways of counting. SMOG is meant for texts of 30 sentences or more.
    html : bool, default False
        Whether the texts are HTML, whose markup, scripts and styles are dropped first. Blocks are set
        apart as lines, which end no sentence.
    n_jobs : int, default 1
        How many processes work side by side, as in joblib.
    progress : bool, default True
        Whether to show a progress bar over the documents.

    Returns
    -------
    DataFrame of shape (n_docs, 2)
        Columns ``docno``, as strings, and one named `index`, as floats, in the order of `docs`. FOG is 0 for a
        text without words.

    Raises
    ------
    MultiAspectError
        If a column is missing, a document occurs twice, a text is no string, the index is unknown,
        or it needs textstat, or textstat's dictionary, and that is not installed. Nothing is ever downloaded.

    See Also
    --------
    understandability : Turn the index into probabilities.
    with_readability : Add these probabilities to qrels.

    Examples
    --------
    >>> import pandas as pd
    >>> from pt_multiaspect.readability import readability
    >>> docs = pd.DataFrame({"docno": ["d1", "d2"], "text": ["<p>Rest a bit.</p>", "Hospital <i>care</i>!"]})
    >>> readability(docs, html=True, progress=False)
      docno   fog
    0    d1   1.2
    1    d2  20.8
    """
    _choose("index", index, _INDEXES)
    return _readability(_documents(docs), index, html, n_jobs, progress)


def _readability(docs: pd.DataFrame, index: str, html: bool, n_jobs: int, progress: bool) -> pd.DataFrame:
    """The index of `docs`, which have come through `_documents`."""
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise MultiAspectError(f"n_jobs must be a whole number other than 0, not {n_jobs!r}")
    _check_texts(docs)
    _INDEXES[index]()  # what is not installed is missed here, not in another process
    docnos, texts = docs["docno"].tolist(), docs["text"].tolist()
    starts = range(0, len(docs), _CHUNK)
    jobs = (
        delayed(_scores)(docnos[start : start + _CHUNK], texts[start : start + _CHUNK], index, html)
        for start in starts
    )
    scores: list[float] = []
    with tqdm(total=len(docs), desc=index, unit="doc", disable=not progress) as bar:
        for chunk in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            scores.extend(chunk)
            bar.update(len(chunk))
    return pd.DataFrame({"docno": docs["docno"].to_numpy(), index: np.array(scores, dtype=np.float64)})


def _scores(docnos: Sequence[str], texts: Sequence[str], index: str, html: bool) -> list[float]:
    """The index of some documents, in one process."""
    score = _INDEXES[index]()
    plain = map(_strip, docnos, texts) if html else texts
    return [float(score(text)) for text in plain]


def _textstat(index: str, function: str) -> Callable[[str], float]:
    """Return a function of textstat, or say how to get it."""
    remedy = "pip install 'pt-multiaspect[readability]'"
    if importlib.util.find_spec("textstat") is None:
        raise MultiAspectError(f"index {index!r} is computed by textstat, which is not installed: {remedy}")
    # From 0.7.9 on, textstat downloads the dictionary it counts syllables by when it is not there.
    if any(re.match(r"nltk\b", needed) for needed in importlib.metadata.requires("textstat") or ()):
        try:
            importlib.import_module("nltk").data.find("corpora/cmudict")
        except LookupError:
            raise MultiAspectError(
                f"index {index!r} is computed by textstat, whose version {importlib.metadata.version('textstat')} "
                "lacks its dictionary and would download it: get it once by `python -m nltk.downloader cmudict`, "
                f"or get a textstat that brings it by {remedy}"
            ) from None
    # An instance of our own: whatever language the user has set for theirs, ours is English.
    textstat = type(importlib.import_module("textstat").textstat)()
    compute: Callable[[str], float] = getattr(textstat, function)
    return compute


#: How to get the function of each index; what needs the extra is imported only then.
_INDEXES: dict[str, Callable[[], Callable[[str], float]]] = {
    "fog": lambda: fog,
    "smog": lambda: _textstat("smog", "smog_index"),
    "flesch_kincaid": lambda: _textstat("flesch_kincaid", "flesch_kincaid_grade"),
}

#: Elements that are part of a line; all others stand apart from the text around them.
_INLINE = frozenset(
    {
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
    }
    | {
        "kbd",
        "mark",
        "nobr",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
    }
    | {"var", "wbr"}
)


def _strip(docno: str, markup: str) -> str:
    """Return the text of an HTML document."""
    from bs4 import BeautifulSoup

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a text looks like a file name, or like XML
            soup = BeautifulSoup(markup, "html.parser")
        for element in soup(["script", "style", "template"]):
            element.decompose()
        for element in soup.find_all(lambda tag: tag.name not in _INLINE):
            element.insert(0, "\n")
            element.append("\n")
        return soup.get_text()
    except Exception as error:  # bs4 has its own errors, and raises those of the parser and of deep recursion
        raise MultiAspectError(f"the HTML of document {docno!r} cannot be read: {error}") from error


def _documents(docs: object) -> pd.DataFrame:
    """Return the documents as columns docno and text, each document once."""
    if not isinstance(docs, pd.DataFrame):
        raise MultiAspectError(f"docs must be a DataFrame with the columns docno and text, not {_kind(docs)}")
    check_distinct_columns(docs, "docs")
    docnos = id_strings(id_column(docs, DOCUMENT_COLUMNS, "docs"), "docs")
    if "text" not in docs.columns:
        raise MultiAspectError(f"docs must have a column text; there are the columns {choices(docs.columns)}")
    found = pd.DataFrame({"docno": docnos, "text": docs["text"].to_numpy(dtype=object)}, dtype=object)
    if (twice := found["docno"].duplicated()).any():
        repeated = found["docno"][twice].unique()
        raise MultiAspectError(f"docs must have each document once; more often are {_some(repeated, 'document')}")
    return found


def _check_texts(docs: pd.DataFrame) -> None:
    wrong = [row for row, text in enumerate(docs["text"].tolist()) if not isinstance(text, str)]
    if wrong:
        docno, text = docs["docno"].iat[wrong[0]], docs["text"].iat[wrong[0]]
        raise MultiAspectError(
            f"every text must be a string, but that of document {docno!r} is {_kind(text)} "
            f"{counted(len(wrong), 'document')}; fill gaps by docs['text'].fillna('') if they are empty documents"
        )


# --- from the index to probabilities ------------------------------------------------------


def _arctan(scores: Floats, threshold: float) -> Floats:
    return 0.5 - np.arctan(scores - threshold) / np.pi


def _step(scores: Floats, threshold: float) -> Floats:
    return (scores < threshold).astype(np.float64)


_MODELS: dict[str, Callable[[Floats, float], Floats]] = {"arctan": _arctan, "step": _step}


def understandability(scores: npt.ArrayLike, model: Model = "arctan", threshold: float = 15) -> Floats:
    """Turn readability scores into the probability that a user understands the document.

    Parameters
    ----------
    scores : array-like of any shape
        Readability scores, greater for texts that are harder to read.
    model : {'arctan', 'step'}, default 'arctan'
        How understanding depends on the score x, by §5.1 of [1]_, with the threshold t. ``'step'``: P = 1
        for x < t, else 0, so 0 at t. ``'arctan'``: P = 1/2 − arctan(x − t)/π, which falls
        smoothly with x and is 1/2 at t.
    threshold : number > 0, default 15
        The score up to which the user understands. The paper has 10, 15 and 20 for FOG: below 10
        nearly everybody understands, above 15 and 20 ever fewer.

    Returns
    -------
    ndarray of the shape of `scores`
        P(U|d), in [0, 1].

    Raises
    ------
    MultiAspectError
        If a score is no number or NaN, the threshold is not finite or not above 0, or the model is
        unknown.

    Notes
    -----
    The arctan model is used as it is, as in the paper's evaluation, and not divided by its integral over the
    scores: that would make a document's probability depend on the other documents.

    References
    ----------
    .. [1] G. Zuccon. Understandability biased evaluation for information retrieval. ECIR 2016.

    Examples
    --------
    >>> from pt_multiaspect.readability import understandability
    >>> understandability([14, 15, 16])
    array([0.75, 0.5 , 0.25])
    >>> understandability([14, 15, 16], model="step")
    array([1., 0., 0.])
    """
    _choose("model", model, _MODELS)
    limit = _threshold(threshold)
    return np.asarray(_MODELS[model](_numbers(scores), limit), dtype=np.float64)


def _threshold(threshold: object) -> float:
    limit = number(threshold, "threshold")
    if limit <= 0:
        raise MultiAspectError(f"threshold must be above 0, not {threshold!r}")
    return limit


def _numbers(scores: npt.ArrayLike) -> Floats:
    try:
        values = np.asarray(scores)
    except ValueError as error:
        raise MultiAspectError(f"scores must be an array of numbers: {error}") from error
    if values.dtype.kind == "O":
        wrong = [value for value in values.flat if not isinstance(value, Real) and not _is_missing(value)]
        if wrong:
            raise MultiAspectError(f"scores must be numbers, not {_kind(wrong[0])}")
        values = np.array([np.nan if _is_missing(value) else value for value in values.flat]).reshape(values.shape)
    elif values.dtype.kind not in "iuf":
        raise MultiAspectError(f"scores must be numbers, not {values.dtype}")
    values = values.astype(np.float64)
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        raise MultiAspectError(
            f"scores must not be NaN, but that at position {missing[0]} is {counted(len(missing), 'score')}"
        )
    return values


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA


def with_readability(
    qrels: pd.DataFrame,
    docs: pd.DataFrame,
    index: Index = "fog",
    model: Model = "arctan",
    threshold: float = 15,
    *,
    name: str = "understandability",
    missing: Literal["error", "nan"] = "error",
    html: bool = False,
    n_jobs: int = 1,
    progress: bool = True,
) -> pd.DataFrame:
    """Add to qrels the probability that a user understands the document, from its readability.

    The new column is an aspect of probabilities: declare it as ``Aspect(gains="identity")``, and `uRBPgr`
    is the simulation of §5 of [1]_. With the step model it is binary, and `uRBP` does.

    Parameters
    ----------
    qrels : DataFrame
        Columns ``qid docno`` or ``query_id doc_id``, and any aspects.
    docs : DataFrame
        Columns ``docno`` (or ``doc_id``) and ``text``. Only the texts of judged documents are read.
    index : {'fog', 'smog', 'flesch_kincaid'}, default 'fog'
        The readability index, see `readability`.
    model : {'arctan', 'step'}, default 'arctan'
        How understanding depends on it, see `understandability`.
    threshold : number > 0, default 15
        The score up to which the user understands; the default is meant for FOG.
    name : str, default 'understandability'
        The column to add.
    missing : {'error', 'nan'}, default 'error'
        What to do about judged documents that are not among `docs`: refuse them, or give them NaN,
        which measures take for the worst grade.
    html : bool, default False
        Whether the texts are HTML.
    n_jobs : int, default 1
        How many processes work side by side, as in joblib.
    progress : bool, default True
        Whether to show a progress bar over the documents.

    Returns
    -------
    DataFrame
        A copy of `qrels` with the column `name` of floats in [0, 1] at the end; rows, their order and the
        row index stay. A document without words has FOG 0, and so counts as understandable.

    Raises
    ------
    MultiAspectError
        If judged documents are missing from `docs`, qrels have the column already, or the input is faulty in a way
        that `readability` or `understandability` refuse.

    See Also
    --------
    readability : The index itself.
    understandability : The models.

    References
    ----------
    .. [1] G. Zuccon. Understandability biased evaluation for information retrieval. ECIR 2016.

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> from pt_multiaspect.readability import with_readability
    >>> qrels = pd.DataFrame({"qid": "q1", "docno": ["d1", "d2"], "label": [1, 1]})
    >>> docs = pd.DataFrame({"docno": ["d1", "d2"], "text": ["Rest a bit.", "Hospital care!"]})
    >>> judged = with_readability(qrels, docs, threshold=10, progress=False)
    >>> judged.round(4)
      qid docno  label  understandability
    0  q1    d1      1             0.9640
    1  q1    d2      1             0.0294

    >>> plain = ma.Aspects({"relevance": ma.Aspect([0, 1], gains=[0, 1]),
    ...                     "understandability": ma.Aspect(gains="identity")})
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> ma.evaluate({"mine": run}, judged, ma.uRBPgr(p=0.8, aspects=plain), progress=False)["value"].round(4).item()
    0.1975
    """
    _choose("index", index, _INDEXES)
    _choose("model", model, _MODELS)
    _choose("missing", missing, ("error", "nan"))
    limit = _threshold(threshold)
    if not isinstance(qrels, pd.DataFrame):
        raise MultiAspectError(f"qrels must be a DataFrame with the columns qid and docno, not {_kind(qrels)}")
    check_distinct_columns(qrels, "qrels")
    id_column(qrels, QUERY_COLUMNS, "qrels")
    judged = id_strings(id_column(qrels, DOCUMENT_COLUMNS, "qrels"), "qrels")
    _check_name(name, qrels)
    known = _documents(docs)
    wanted = pd.Index(pd.unique(pd.Series(judged, dtype=object)), dtype=object)
    absent = wanted[~wanted.isin(known["docno"])]
    if len(absent) and missing == "error":
        raise MultiAspectError(
            f"docs must have every judged document; missing are {_some(absent, 'document')}. "
            "missing='nan' leaves them without an estimate"
        )
    scores = _readability(known[known["docno"].isin(wanted)], index, html, n_jobs, progress)
    probability = pd.Series(understandability(scores[index].to_numpy(), model, limit), index=scores["docno"])
    return qrels.assign(**{name: probability.reindex(judged).to_numpy()})


def _check_name(name: object, qrels: pd.DataFrame) -> None:
    aspect = aspect_name(name)
    if name in (*IDENTIFIERS, KNOWN):
        raise MultiAspectError(f"name: {name!r} has a meaning of its own in qrels and cannot name an aspect")
    synonyms = ("relevance", "label") if aspect == "relevance" else (name,)
    if taken := [column for column in qrels.columns if column in synonyms]:
        raise MultiAspectError(
            f"qrels have a column {taken[0]} already (columns: {choices(qrels.columns)}); "
            "drop it, or choose another name="
        )


def _choose(what: str, given: object, known: Sequence[str] | dict[str, Any]) -> None:
    if not isinstance(given, str) or given not in known:
        raise MultiAspectError(f"unknown {what} {given!r}; choose {choices(map(repr, known))}")


def _some(names: Sequence[object] | npt.NDArray[Any] | pd.Index[Any], noun: str, shown: int = 5) -> str:
    return f"{choices(names[:shown])}{', …' if len(names) > shown else ''} {counted(len(names), noun)}"


def _kind(value: object) -> str:
    """Name the type of something, and a missing value as such."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return f"missing ({value!r})"
    return f"of type {type(value).__name__}"
