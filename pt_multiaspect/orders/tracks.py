"""Preference orders of published tracks, ready-made and named.

The TREC Health Misinformation tracks turn the labels of a document into one preference code:
positive codes are helpful, negative ones harmful, and compatibility is reported with either side
(`HelpfulCompat`, `HarmfulCompat`). The functions here give those codes as an `Order`, whose names
can stand in measure strings: ``HelpfulMinusHarmful(order='trec-misinfo-2022')``.

**Labels.** All orders take the same columns, as numbers:

``relevance`` (or ``label``)
    The tracks' usefulness, as in their qrels: 0 not useful, 1 useful, and since 2021 2 very useful.
``correctness``
    Not a column of the qrels, which tell what a document *answers*. With the answer of the topic:
    -1 not judged, 0 incorrect, 1 neither (no answer, unclear, neutral), 2 correct.
``credibility`` (2020 and 2021)
    As in the qrels: -1 not judged, 0 not credible or low, 1 credible or good, and in 2021
    2 excellent.

=====  =====================================  ====================================================
Track  Column in the qrels                    Correctness by it
=====  =====================================  ====================================================
2020   answer: 0 none, 1 yes, 2 no            0 → 1; 1 and 2 → 2 where the topic has the same
                                              answer, else 0
2021   supportiveness: 0 dissuades,           topics of stance helpful: as it is; unhelpful: 0 → 2,
       1 neutral, 2 supportive                1 → 1, 2 → 0
2022   answer: 0 no, 1 yes, 2 unclear         2 → 1; 0 and 1 → 2 where the topic has the same
                                              answer, else 0
=====  =====================================  ====================================================

`correctness` makes that column; -1 and missing answers stay -1. The codes of the 2019 track (Decision)
are published in no package: pass their meaning as ``codes={code: answer}``. In qrels a label below
the lowest grade counts as the lowest, so the -2 of 2021 (left out by mistake) is as good as -1, and so
is NaN. Since the lowest grade means *not judged* and not *incorrect*, a useful document nobody judged
for correctness is not taken for a harmful one. A document that is not useful, or not judged at all,
weighs 0 whatever its other labels.

Examples
--------
The qrels of 2022 hold answers, which `correctness` compares with the answer of the topic; the order
can then be applied to the labels, or be given to a measure:

>>> import pandas as pd
>>> from pt_multiaspect import HelpfulMinusHarmful
>>> from pt_multiaspect.orders import correctness, trec_misinfo_2022
>>> qrels = pd.DataFrame({"qid": "1", "docno": ["d1", "d2", "d3"], "label": [2, 2, 0], "answer": [0, 1, -1]})
>>> qrels["correctness"] = correctness(qrels, {"1": "no"}, 2022)
>>> trec_misinfo_2022().apply(qrels)
  qid docno  label  answer  correctness  code
0   1    d1      2       0            2     4
1   1    d2      2       1            0    -2
2   1    d3      0      -1           -1     0
>>> run = {"1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
>>> round(HelpfulMinusHarmful(order=trec_misinfo_2022()).calc_aggregate(qrels, run), 3)
0.563
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import product

import numpy as np
import pandas as pd

from .._numbers import spell
from ..aspects.aspect import Aspect
from ..aspects.aspects import Aspects
from ..collection.columns import QUERY_COLUMNS, id_column, identifiers
from ..errors import MultiAspectError, choices
from .explicit import Order
from .order import numeric

__all__ = ["correctness", "trec_misinfo_2020", "trec_misinfo_2021", "trec_misinfo_2022"]

INCORRECT, CORRECT = 0, 2
NOT_JUDGED, NEITHER = -1, 1
_CORRECTNESS = Aspect([NOT_JUDGED, INCORRECT, NEITHER, CORRECT], threshold=CORRECT)

#: Per track, the column of its qrels and what each code in it answers (None: neither answer).
_TRACK_ANSWERS: dict[int, tuple[str, dict[float, str | None]]] = {
    2020: ("answer", {0: None, 1: "yes", 2: "no"}),
    2021: ("supportiveness", {0: "unhelpful", 1: None, 2: "helpful"}),
    2022: ("answer", {0: "no", 1: "yes", 2: None}),
}
#: Codes for documents that nobody judged; -2 stands in the qrels of 2021.
_NOT_JUDGED_CODES = (-1.0, -2.0)


def correctness(
    qrels: pd.DataFrame,
    answers: Mapping[str, str] | pd.Series[str],
    codes: int | Mapping[float, str | None],
    column: str | None = None,
) -> pd.Series[int]:
    """Return whether each document gives the answer of its topic.

    Parameters
    ----------
    qrels : DataFrame
        One row per judged document, with the query (``qid`` or ``query_id``) and `column`.
    answers : mapping or Series of str to str
        The answer, or stance, of each topic by query id, such as ``{"101": "yes"}``; for 2021
        ``'helpful'`` or ``'unhelpful'``. Upper and lower case are the same.
    codes : {2020, 2021, 2022} or mapping of number to (str or None)
        The track, or what each code of the column answers; None for documents that give neither
        answer. The codes -1 and -2 mean *not judged* unless the mapping says otherwise.
    column : str, optional
        The column with the codes: that of the track, or ``'answer'`` for codes of your own.

    Returns
    -------
    Series of int
        Named ``correctness``, with the index of the qrels: 2 correct, 0 incorrect, 1 neither,
        -1 not judged.

    Raises
    ------
    MultiAspectError
        If a code has no meaning, or a topic has no answer, or one that no code stands for; the
        message names them.

    Examples
    --------
    >>> import pandas as pd
    >>> from pt_multiaspect.orders import correctness
    >>> qrels = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "b", "a"], "supportiveness": [0, 2, 2]})
    >>> correctness(qrels, {"1": "unhelpful", "2": "helpful"}, 2021).tolist()
    [2, 0, 2]
    """
    if isinstance(codes, Mapping):
        meaning, default = {float(code): answer for code, answer in codes.items()}, "answer"
    elif codes in _TRACK_ANSWERS:
        default, meaning = _TRACK_ANSWERS[codes]
    else:
        raise MultiAspectError(
            f"codes: expected a track ({choices(_TRACK_ANSWERS)}) or a mapping {{code: answer}}, got {codes!r}"
        )
    column = default if column is None else column
    if column not in qrels.columns:
        raise MultiAspectError(f"expected a column {column!r} in the qrels, got {choices(qrels.columns)}")
    said = {code: None if answer is None else answer.strip().lower() for code, answer in meaning.items()}
    possible = sorted({answer for answer in said.values() if answer is not None})
    right = {str(qid): str(answer).strip().lower() for qid, answer in answers.items()}
    qids = identifiers(id_column(qrels, QUERY_COLUMNS, "qrels"), "qrels")
    missing = sorted(set(qids) - set(right))
    if missing:
        raise MultiAspectError(
            f"no answer is given for the topics {choices(missing[:10])} ({len(missing)} of the qrels' topics); "
            "add their answers or drop their rows"
        )
    other = sorted({answer for qid, answer in right.items() if qid in set(qids)} - set(possible))
    if other:
        raise MultiAspectError(f"answers of topics: expected {choices(possible)}, got {choices(other)}")
    given = numeric(qrels[column], column)
    known = {**dict.fromkeys(_NOT_JUDGED_CODES, NOT_JUDGED), **dict.fromkeys(said, NEITHER)}
    unknown = np.unique(given[~np.isnan(given) & ~np.isin(given, list(known))])
    if len(unknown):
        raise MultiAspectError(
            f"column {column!r}: expected the codes {choices(map(spell, sorted(known)))}, "
            f"got {choices(map(spell, unknown.tolist()))}"
        )
    wanted = np.array([right[qid] for qid in qids], dtype=object)
    result = np.full(len(qrels), NOT_JUDGED, dtype=np.int64)
    for code, answer in said.items():
        verdict = NEITHER if answer is None else np.where(wanted == answer, CORRECT, INCORRECT)
        result = np.where(given == code, verdict, result)
    return pd.Series(result, index=qrels.index, name="correctness")


def _order(name: str, aspects: Mapping[str, Aspect], weigh: Callable[..., int]) -> Order:
    """Weigh every tuple of the scales."""
    declared = Aspects(aspects)
    tuples = product(*(aspect.scale.grades.tolist() for aspect in declared.values()))
    return Order([(labels, weigh(*labels)) for labels in tuples], declared, name=name, allow_violations=True)


@cache
def trec_misinfo_2020() -> Order:
    """Return the preference order of the TREC 2020 Health Misinformation Track.

    ====  ============================================================
    Code  Documents
    ====  ============================================================
    4     useful, correct, credible
    3     useful, correct, not credible or not judged for it
    2     useful, without an answer or not judged for it, credible
    1     useful, without an answer or not judged for it, not credible
          or not judged for it
    0     not useful
    -1    useful, incorrect, not credible or not judged for it
    -2    useful, incorrect, credible
    ====  ============================================================

    Returns
    -------
    Order
        Named ``trec-misinfo-2020``, of ``relevance`` (0, 1), ``correctness`` (-1, 0, 1, 2) and
        ``credibility`` (-1, 0, 1), coded as the module says.

    Notes
    -----
    The order departs from the partial order of tuples on purpose: an incorrect document is worse
    than one that is not useful, and the worse the more it can be believed.

    References
    ----------
    README of the track's resources, section on basic preference levels, and the script
    ``format.py`` there: https://trec.nist.gov/data/misinfo2020.html

    Examples
    --------
    >>> from pt_multiaspect.orders import trec_misinfo_2020
    >>> trec_misinfo_2020().weigh([(1, 2, 1), (1, 1, -1), (0, -1, -1), (1, 0, 1)])
    array([ 4.,  1.,  0., -2.])
    """

    def weigh(useful: float, correctness: float, credibility: float) -> int:
        if not useful:
            return 0
        if correctness == INCORRECT:
            return -2 if credibility > 0 else -1
        return (3 if correctness == CORRECT else 1) + (credibility > 0)

    aspects = {
        "relevance": Aspect(1),
        "correctness": _CORRECTNESS,
        "credibility": Aspect([-1, 0, 1], threshold=1),
    }
    return _order("trec-misinfo-2020", aspects, weigh)


@cache
def trec_misinfo_2021() -> Order:
    """Return the preference order of the TREC 2021 Health Misinformation Track.

    ======  ===========  ===============  ==================
    Code    Usefulness   Correctness      Credibility
    ======  ===========  ===============  ==================
    12, 11  very useful  correct          excellent
            (12) or
            useful (11)
    10, 9   likewise     correct          good
    8, 7    likewise     correct          low or not judged
    6, 5    likewise     neutral or not   excellent
                         judged
    4, 3    likewise     likewise         good
    2, 1    likewise     likewise         low or not judged
    0       not useful   any              any
    -1      either       incorrect        low or not judged
    -2      either       incorrect        good
    -3      either       incorrect        excellent
    ======  ===========  ===============  ==================

    Returns
    -------
    Order
        Named ``trec-misinfo-2021``, of ``relevance`` (0, 1, 2), ``correctness`` (-1, 0, 1, 2) and
        ``credibility`` (-1, 0, 1, 2), coded as the module says.

    Notes
    -----
    The order departs from the partial order of tuples on purpose: an incorrect document is worse
    than one that is not useful, and the worse the more it can be believed.

    References
    ----------
    README of the track's resources, section on basic preference levels, and the script
    ``gen_derived_qrels.py`` there: https://trec.nist.gov/data/misinfo/misinfo-resources-2021.tar.gz

    Examples
    --------
    >>> from pt_multiaspect.orders import trec_misinfo_2021
    >>> trec_misinfo_2021().weigh([(2, 2, 2), (1, 1, -1), (0, -1, -1), (1, 0, 2)])
    array([12.,  1.,  0., -3.])
    """

    def weigh(usefulness: float, correctness: float, credibility: float) -> int:
        if not usefulness:
            return 0
        belief = max(int(credibility), 0)
        if correctness == INCORRECT:
            return -1 - belief
        return (6 if correctness == CORRECT else 0) + 2 * belief + int(usefulness)

    aspects = {
        "relevance": Aspect(2),
        "correctness": _CORRECTNESS,
        "credibility": Aspect([-1, 0, 1, 2], threshold=1),
    }
    return _order("trec-misinfo-2021", aspects, weigh)


@cache
def trec_misinfo_2022() -> Order:
    """Return the basic preference order of the TREC 2022 Health Misinformation Track.

    ====  =============================================
    Code  Documents
    ====  =============================================
    4     very useful, correct
    3     useful, correct
    2     very useful, unclear or not judged for answer
    1     useful, unclear or not judged for answer
    0     not useful, or not judged
    -1    useful, incorrect
    -2    very useful, incorrect
    ====  =============================================

    Returns
    -------
    Order
        Named ``trec-misinfo-2022``, of ``relevance`` (0, 1, 2) and ``correctness`` (-1, 0, 1, 2),
        coded as the module says.

    Notes
    -----
    The track went on to compare the best documents of most topics with each other and put them,
    in the order found, above code 4. Labels cannot tell that, so helpful compatibility by this
    order is not the official one for those topics: for that, take the track's own graded qrels as
    the label and ``HelpfulCompat`` without an order. The harmful side is not affected. The track
    averaged the difference of the two over topics that have both helpful and harmful documents.

    The order departs from the partial order of tuples on purpose: an incorrect document is worse
    than one that is not useful, and the worse the more useful it seems.

    References
    ----------
    README of the track's resources, section on basic preference levels, and the script
    ``gen-qrels-for-compatibility.py`` there:
    https://trec.nist.gov/data/misinfo/trec2022-health-misinfo-resources.tar.gz

    Examples
    --------
    >>> from pt_multiaspect.orders import trec_misinfo_2022
    >>> trec_misinfo_2022().weigh([(2, 2), (1, 1), (0, -1), (2, 0)])
    array([ 4.,  1.,  0., -2.])
    """

    def weigh(usefulness: float, correctness: float) -> int:
        if not usefulness:
            return 0
        if correctness == INCORRECT:
            return -int(usefulness)
        return (2 if correctness == CORRECT else 0) + int(usefulness)

    return _order("trec-misinfo-2022", {"relevance": Aspect(2), "correctness": _CORRECTNESS}, weigh)


# Measure strings know an order by its name once it is made.
for _make in (trec_misinfo_2020, trec_misinfo_2021, trec_misinfo_2022):
    _make()
