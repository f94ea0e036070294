"""Understandability as an aspect of qrels."""

from __future__ import annotations

from typing import Any, Literal

import pandas as pd

from .._validation import choice
from ..aspects import aspect_name
from ..collection.columns import (
    DOCUMENT_COLUMNS,
    KNOWN,
    NOT_ASPECTS,
    QUERY_COLUMNS,
    check_distinct_columns,
    check_id_column,
    id_column,
    rename_beir_columns,
)
from ..collection.frames import as_pandas
from ..errors import MultiAspectError, choices, shown
from ..strings.identifiers import identifiers as id_strings
from .indexes import INDEXES, Index, index_table
from .inputs import check_documents, first_documents
from .understandability import MODELS, Model, check_threshold, understandability


def with_readability(
    qrels: Any,
    docs: Any,
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
    """Add the probability that a user understands each document to qrels, estimated from readability.

    The labels of the new aspect are probabilities: declare it as ``Aspect(probabilities="identity")``. `uRBPgr` on
    relevance and this aspect is the simulation of §5 of Zuccon (2016). The step model gives binary labels, for
    which `uRBP` is sufficient.

    Parameters
    ----------
    qrels : DataFrame
        Columns ``qid docno`` or ``query_id doc_id``, and any number of aspects.
    docs : DataFrame
        Columns ``docno`` (or ``doc_id``) and ``text``. Only the texts of judged documents are used.
    index : {'fog', 'smog', 'flesch_kincaid'}, default 'fog'
        Readability index; see `readability`.
    model : {'arctan', 'step'}, default 'arctan'
        Probability of understanding as a function of the index; see `understandability`.
    threshold : number > 0, default 15
        Score up to which the user understands a text. The default is intended for FOG.
    name : str, default 'understandability'
        Name of the new column.
    missing : {'error', 'nan'}, default 'error'
        The treatment of judged documents that are not in `docs`: raise an error, or label them NaN
        (unjudged), which measures treat as the lowest grade.
    html : bool, default False
        Whether the texts are HTML; see `readability`.
    n_jobs : int, default 1
        Number of parallel processes, as in joblib.
    progress : bool, default True
        Whether to show a progress bar.

    Returns
    -------
    DataFrame
        A copy of `qrels` with a last column `name` of floats in [0, 1]; the order of the rows and their
        index are unchanged. A document without words has a FOG of 0, so it counts as understandable.

    Raises
    ------
    MultiAspectError
        If a judged document is missing from `docs`, the qrels already have the column, or `readability` or
        `understandability` reject the input.

    See Also
    --------
    readability : The readability index of documents.
    understandability : Conversion of readability to probabilities.

    References
    ----------
    G. Zuccon. Understandability biased evaluation for information retrieval. ECIR 2016.

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

    >>> plain = ma.Aspects({"relevance": ma.Aspect([0, 1], probabilities=[0, 1]),
    ...                     "understandability": ma.Aspect(probabilities="identity")})
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> ma.evaluate({"mine": run}, judged, ma.uRBPgr(p=0.8, aspects=plain), progress=False)["value"].round(4).item()
    0.1975
    """
    choice("index", *INDEXES)(index)
    choice("model", *MODELS)(model)
    choice("missing", "error", "nan")(missing)
    limit = check_threshold(threshold)
    qrels = as_pandas(qrels)
    if not isinstance(qrels, pd.DataFrame):
        raise MultiAspectError(f"qrels: expected a DataFrame with columns qid and docno, got {shown(qrels)}")
    check_distinct_columns(qrels, "qrels")
    frame: pd.DataFrame = rename_beir_columns(qrels, "qrels")
    check_id_column(frame, QUERY_COLUMNS, "qrels")
    judged = id_strings(id_column(frame, DOCUMENT_COLUMNS, "qrels"), "qrels")
    _check_name(name, frame)
    known = check_documents(docs)
    wanted = pd.Index(pd.unique(pd.Series(judged, dtype=object)), dtype=object)
    absent = wanted[~wanted.isin(known["docno"])]
    if len(absent) and missing == "error":
        raise MultiAspectError(
            f"docs: expected every judged document, missing are {first_documents(absent)}. "
            "Use missing='nan' to leave them unjudged"
        )
    scores = index_table(known[known["docno"].isin(wanted)], index, html, n_jobs, progress)
    probability = pd.Series(understandability(scores[index].to_numpy(), model, limit), index=scores["docno"])
    return frame.assign(**{name: probability.reindex(judged).to_numpy()})


def _check_name(name: object, qrels: pd.DataFrame) -> None:
    aspect = aspect_name(name)
    if name in (*NOT_ASPECTS, KNOWN):
        raise MultiAspectError(f"name: expected the name of an aspect, got {name!r}, which is reserved in qrels")
    synonyms = ("relevance", "label") if aspect == "relevance" else (name,)
    if taken := [column for column in qrels.columns if column in synonyms]:
        raise MultiAspectError(
            f"qrels already have a column {taken[0]} (columns: {choices(qrels.columns)}). "
            "Drop it, or choose another name="
        )
