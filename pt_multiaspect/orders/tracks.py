"""Predefined preference orders of published tracks.

The TREC Health Misinformation tracks map the labels of a document to one preference code. Positive
codes are helpful, negative codes harmful, and compatibility is reported for each side
(`HelpfulCompat`, `HarmfulCompat`). The functions of this module return these codes as an `Order`,
whose name can be used in measure strings: ``HelpfulMinusHarmful(order='trec-misinfo-2022')``.

**Labels.** All orders use the same numeric columns:

``relevance`` (or ``label``)
    Usefulness, as in the qrels of the tracks: 0 not useful, 1 useful and, since 2021, 2 very
    useful.
``correctness``
    Not a column of the qrels, which contain the *answer* of a document. Compared with the answer of
    the topic: -1 not judged, 0 incorrect, 1 neither (no answer, unclear, neutral), 2 correct.
``credibility`` (2020 and 2021)
    As in the qrels: -1 not judged, 0 not credible or low, 1 credible or good and, in 2021,
    2 excellent.

=====  =====================================  ====================================================
Track  Column in the qrels                    Correctness
=====  =====================================  ====================================================
2020   answer: 0 none, 1 yes, 2 no            0 → 1; 1 and 2 → 2 if the topic has the same
                                              answer, else 0
2021   supportiveness: 0 dissuades,           topics of stance helpful: unchanged; unhelpful:
       1 neutral, 2 supportive                0 → 2, 1 → 1, 2 → 0
2022   answer: 0 no, 1 yes, 2 unclear         2 → 1; 0 and 1 → 2 if the topic has the same
                                              answer, else 0
=====  =====================================  ====================================================

`correctness` computes this column; -1 and missing answers become -1. The codes of the 2019 track
(Decision) are not documented in any package: pass their meaning as ``codes={code: answer}``. In
qrels, a label below the lowest grade counts as the lowest grade, so the -2 of 2021 (omitted by
mistake) is equivalent to -1, and so is NaN. As the lowest grade means *not judged* rather than
*incorrect*, useful documents without a judgment of correctness do not count as harmful. A document
that is not useful, or unjudged, has weight 0, regardless of its other labels.

Examples
--------
The qrels of 2022 contain answers, which `correctness` compares with the answer of the topic. The
order can then be applied to the labels or passed to a measure:

>>> import pandas as pd
>>> from pt_multiaspect import HelpfulMinusHarmful
>>> from pt_multiaspect.orders import correctness, trec_misinfo_2022
>>> qrels = pd.DataFrame({"qid": "1", "docno": ["d1", "d2", "d3"], "label": [2, 2, 0]})
>>> qrels["answer"] = [0, 1, -1]
>>> qrels["correctness"] = correctness(qrels, {"1": "no"}, 2022)
>>> trec_misinfo_2022().apply(qrels)
  qid docno  label  answer  correctness  code
0   1    d1      2       0            2     4
1   1    d2      2       1            0    -2
2   1    d3      0      -1           -1     0
>>> run = {"1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
>>> round(HelpfulMinusHarmful(order=trec_misinfo_2022()).calc_aggregate(qrels, run), 3)
0.317
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._numbers import number, spell
from .._typing import Floats
from .._validation import choice
from ..aspects import Aspect, Aspects
from ..collection.columns import QUERY_COLUMNS, id_column
from ..collection.other_libraries import as_frame
from ..errors import MultiAspectError, choices, number_of, refuse_unknown, shown
from ..strings.identifiers import identifiers
from .order import Order
from .tuple_order import numeric

INCORRECT, CORRECT = 0, 2
NOT_JUDGED, NEITHER = -1, 1
_CREDIBILITY = Aspect([-1, 0, 1, 2], threshold=1)
CORRECTNESS = Aspect([NOT_JUDGED, INCORRECT, NEITHER, CORRECT], threshold=CORRECT)

#: Per track, the column of its qrels and the answer that each code means (None: neither answer).
TRACK_ANSWERS: dict[int, tuple[str, dict[float, str | None]]] = {
    2020: ("answer", {0: None, 1: "yes", 2: "no"}),
    2021: ("supportiveness", {0: "unhelpful", 1: None, 2: "helpful"}),
    2022: ("answer", {0: "no", 1: "yes", 2: None}),
}
#: Codes of unjudged documents; -2 occurs in the qrels of 2021.
_NOT_JUDGED_CODES = (-1.0, -2.0)


def correctness(
    qrels: Any,
    answers: Mapping[str, str] | pd.Series[str],
    codes: int | Mapping[float, str | None],
    column: str | None = None,
) -> pd.Series[int]:
    """Compare the answers of documents with the answers of their topics.

    Parameters
    ----------
    qrels : DataFrame
        One row per judged document, with the query id (``qid`` or ``query_id``) and `column`.
    answers : mapping or Series of str to str
        The answer, or stance, of each topic by query id, such as ``{"101": "yes"}``. For 2021,
        ``'helpful'`` or ``'unhelpful'``. Case is ignored.
    codes : {2020, 2021, 2022} or mapping of number to (str or None)
        The track, or the answer that each code of the column means (None if neither answer).
        The codes -1 and -2 mean *not judged* unless the mapping contains them.
    column : str, optional
        The column that contains the codes. By default the column of the track, or ``'answer'`` if
        `codes` is a mapping.

    Returns
    -------
    Series of int
        Named ``correctness``, with the index of the qrels: 2 correct, 1 neither, 0 incorrect,
        -1 not judged.

    Raises
    ------
    MultiAspectError
        If a code has no meaning, a topic has no answer, or the answer of a topic is not among the
        answers of the codes. The message names them.

    Examples
    --------
    >>> import pandas as pd
    >>> from pt_multiaspect.orders import correctness
    >>> qrels = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "b", "a"]})
    >>> qrels["supportiveness"] = [0, 2, 2]
    >>> correctness(qrels, {"1": "unhelpful", "2": "helpful"}, 2021).tolist()
    [2, 0, 2]
    """
    default_column, answer_of_code = _read_codes(codes)
    if not isinstance(answers, Mapping | pd.Series):
        raise MultiAspectError(
            f"answers: expected a dict of the answer to each topic, got {shown(answers)}"
        )
    if column is None:
        column = default_column
    frame = as_frame(qrels, "qrels")
    if column not in frame.columns:
        raise MultiAspectError(
            f"expected a column {column!r} in the qrels, got {choices(frame.columns)}"
        )
    possible_answers = set(answer_of_code.values()) - {None}
    right_answers = _right_answers(frame, answers, sorted(map(str, possible_answers)))
    document_codes = numeric(frame[column], column)
    _refuse_unknown_codes(document_codes, answer_of_code, column)
    # Rows with none of these codes remain *not judged*.
    grades = np.full(len(frame), NOT_JUDGED, dtype=np.int64)
    for code, answer in answer_of_code.items():
        has_code = document_codes == code
        if answer is None:
            grades[has_code] = NEITHER
        else:
            is_right = right_answers == answer
            grades[has_code & is_right] = CORRECT
            grades[has_code & ~is_right] = INCORRECT
    return pd.Series(grades, index=frame.index, name="correctness")


def _read_codes(codes: object) -> tuple[str, dict[float, str | None]]:
    """Return the usual column of the codes of answers, and the answer that each code means.

    `codes` is the year of a track, or a mapping of codes to answers.
    """
    if isinstance(codes, Mapping):
        column = "answer"
        answer_of_code = {_read_code(code): answer for code, answer in codes.items()}
    elif isinstance(codes, int | float | np.number) and codes in TRACK_ANSWERS:
        column, answer_of_code = TRACK_ANSWERS[int(codes)]
    else:
        raise MultiAspectError(
            f"codes: expected a track ({choices(TRACK_ANSWERS)}) or a mapping {{code: answer}}, "
            f"got {shown(codes)}"
        )
    comparable = {code: _spelled_answer(answer) for code, answer in answer_of_code.items()}
    return column, comparable


def _right_answers(
    qrels: pd.DataFrame, answers: Mapping[str, str] | pd.Series[str], possible: list[str]
) -> NDArray[np.object_]:
    """Return the answer to the topic of each row of the qrels; raise an error if one is missing.

    The answers to topics must be among the `possible` answers of documents.
    """
    answer_of_topic = {}
    for qid, answer in answers.items():
        answer_of_topic[str(qid)] = str(answer).strip().lower()
    qids = identifiers(id_column(qrels, QUERY_COLUMNS, "qrels"), "qrels")
    missing = sorted(set(qids) - set(answer_of_topic))
    if missing:
        raise MultiAspectError(
            "expected an answer for every topic of the qrels, got none for "
            f"{choices(missing[:10])} ({number_of(len(missing), 'topic')}); add their answers or "
            "drop their rows"
        )
    right_answers = [answer_of_topic[qid] for qid in qids]
    refuse_unknown(dict.fromkeys(right_answers), possible, "answers", "answers")
    return np.array(right_answers, dtype=object)


def _refuse_unknown_codes(
    document_codes: Floats, answer_of_code: Mapping[float, str | None], column: str
) -> None:
    """Raise an error if a code of a document means neither an answer nor *not judged*."""
    is_given = ~np.isnan(document_codes)
    present = np.unique(document_codes[is_given]).tolist()
    known = sorted({*_NOT_JUDGED_CODES, *answer_of_code})
    refuse_unknown(map(spell, present), map(spell, known), "codes", f"column {column!r}")


def _spelled_answer(answer: object) -> str | None:
    """Return an answer without spaces around it and in lower case; None remains None."""
    if answer is None:
        return None
    return str(answer).strip().lower()


def _read_code(code: object) -> float:
    """Return a code as a number; it may be text, such as a key of JSON."""
    if isinstance(code, str):
        try:
            return number(float(code), "codes")
        except ValueError:
            pass  # not a number, about which the error below says what was expected
    return number(code, "codes")


def order_from_weights(
    name: str,
    aspects: Mapping[str, Aspect],
    weigh: Callable[..., int],
    lower_is_better: bool = False,
) -> Order:
    """Build an order of all label tuples of the aspects.

    `weigh` takes the labels of a tuple, in the order of the aspects, and returns its weight.
    """
    declared = Aspects(aspects)
    grades_of_aspects = [aspect.scale.grades.tolist() for aspect in declared.values()]
    weights = {}
    for labels in product(*grades_of_aspects):
        weights[labels] = weigh(*labels)
    return Order(
        weights, declared, name=name, allow_violations=True, lower_is_better=lower_is_better
    )


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
        Named ``trec-misinfo-2020``, with the aspects ``relevance`` (0, 1), ``correctness``
        (-1, 0, 1, 2) and ``credibility`` (-1, 0, 1); see the module for the meaning of the labels.

    Notes
    -----
    The order deliberately violates the partial order of tuples: an incorrect document is worse
    than a document that is not useful, and worst if it is credible.

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

    def weigh(usefulness: float, correctness: float, credibility: float) -> int:
        """Return the preference code of a document."""
        is_credible = credibility > 0
        if not usefulness:
            return 0
        if correctness == INCORRECT and is_credible:
            return -2
        if correctness == INCORRECT:
            return -1
        code = 1
        if correctness == CORRECT:
            code = 3
        if is_credible:
            code += 1
        return code

    aspects = {
        "relevance": Aspect(1),
        "correctness": CORRECTNESS,
        "credibility": Aspect([-1, 0, 1], threshold=1),
    }
    return order_from_weights("trec-misinfo-2020", aspects, weigh)


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
    6, 5    likewise     neutral or       excellent
                         not judged
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
        Named ``trec-misinfo-2021``, with the aspects ``relevance`` (0, 1, 2), ``correctness`` (-1,
        0, 1, 2) and ``credibility`` (-1, 0, 1, 2); see the module for the meaning of the labels.

    Notes
    -----
    The order deliberately violates the partial order of tuples: an incorrect document is worse
    than a document that is not useful, and the worse the more credible it is.

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
        """Return the preference code of a document.

        It is 0 for useless documents, -1 to -3 for incorrect, 1 to 6 for neutral and 7 to 12 for
        correct ones. Of the latter, each credibility has two codes, for useful and very useful.
        """
        if not usefulness:
            return 0
        credibility_level = max(int(credibility), 0)  # not judged (-1) counts as low (0)
        if correctness == INCORRECT:
            return -1 - credibility_level
        code = 2 * credibility_level + int(usefulness)
        if correctness == CORRECT:
            code += 6
        return code

    aspects = {"relevance": Aspect(2), "correctness": CORRECTNESS, "credibility": _CREDIBILITY}
    return order_from_weights("trec-misinfo-2021", aspects, weigh)


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
        Named ``trec-misinfo-2022``, with the aspects ``relevance`` (0, 1, 2) and ``correctness``
        (-1, 0, 1, 2); see the module for the meaning of the labels.

    Notes
    -----
    For most topics, the track also compared the best documents with each other and ranked them, in
    the resulting order, above code 4. The labels do not contain this information, so helpful
    compatibility with this order differs from the official values for those topics. For the
    official values, use the track's graded qrels as the label and ``HelpfulCompat`` without an
    order. Harmful compatibility is not affected. The track averaged the difference of the two over
    topics with both helpful and harmful documents.

    The order deliberately violates the partial order of tuples: an incorrect document is worse
    than a document that is not useful, and the worse the more useful it seems.

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
        """Return the preference code of a document; usefulness is 0, 1 or 2."""
        if not usefulness:
            return 0
        if correctness == INCORRECT:
            return -int(usefulness)
        code = int(usefulness)
        if correctness == CORRECT:
            code += 2  # correct documents are above all neutral ones
        return code

    aspects = {"relevance": Aspect(2), "correctness": CORRECTNESS}
    return order_from_weights("trec-misinfo-2022", aspects, weigh)


# Creating an order registers its name for measure strings.
for _make in (trec_misinfo_2020, trec_misinfo_2021, trec_misinfo_2022):
    _make()


class _Condition(NamedTuple):
    """A condition on the label of an aspect."""

    aspect: Aspect
    is_met: Callable[[float], bool]


_IS_CORRECT = _Condition(CORRECTNESS, lambda label: label == CORRECT)
_IS_INCORRECT = _Condition(CORRECTNESS, lambda label: label == INCORRECT)
_IS_CREDIBLE = _Condition(_CREDIBILITY, lambda label: label > 0)

#: The derived labels, with their conditions by aspect. All documents must also be useful.
_LABELS: dict[str, dict[str, _Condition]] = {
    "useful-correct": {"correctness": _IS_CORRECT},
    "useful-incorrect": {"correctness": _IS_INCORRECT},
    "misinformation": {"correctness": _IS_INCORRECT},
    "useful-credible": {"credibility": _IS_CREDIBLE},
    "useful-correct-credible": {"correctness": _IS_CORRECT, "credibility": _IS_CREDIBLE},
}


@cache
def trec_misinfo_label(label: str) -> Order:
    """Return a derived binary label of the TREC Health Misinformation tracks as an order.

    Its weights are 1 and 0. ``TOMA(order=..., base=...)`` evaluates the base on the derived label,
    as the tracks did on derived qrels.

    Parameters
    ----------
    label : str
        The properties of documents with weight 1: ``'useful-correct'``, ``'useful-incorrect'``,
        ``'useful-credible'``, ``'useful-correct-credible'`` or ``'misinformation'``. Useful is a
        relevance above 0, correct and incorrect a correctness of 2 and 0 (see `correctness`),
        credible a credibility above 0. ``'misinformation'`` is useful and incorrect, for systems
        that should find it, as in the total recall task of 2020.

    Returns
    -------
    Order
        Named ``trec-misinfo-`` and the label, with the aspects ``relevance`` (0, 1, 2) and, if the
        label depends on them, ``correctness`` (-1, 0, 1, 2) and ``credibility`` (-1, 0, 1, 2). It
        applies to all years. With ``'useful-incorrect'``, lower values of measures are better.

    Raises
    ------
    MultiAspectError
        If the label is unknown.

    References
    ----------
    READMEs of the resources of the tracks of 2020, 2021 and 2022, sections on derived qrels:
    https://trec.nist.gov/data/misinfo.html

    Examples
    --------
    >>> from pt_multiaspect.orders import trec_misinfo_label
    >>> trec_misinfo_label("useful-correct").weigh([(2, 2), (1, 1), (0, 2)])
    array([1., 0., 0.])
    """
    check_label = choice("label", *_LABELS)
    check_label(label)
    conditions = _LABELS[label]  # by aspect, other than relevance
    aspects = {"relevance": Aspect(2)}
    for name, condition in conditions.items():
        aspects[name] = condition.aspect

    def weigh(relevance: float, *other_labels: float) -> int:
        """Return 1 for a useful document that meets the conditions on its other labels, else 0.

        Labels are in the order of `aspects`, so the others are in that of `conditions`.
        """
        if relevance <= 0:
            return 0
        for value, condition in zip(other_labels, conditions.values(), strict=True):
            if not condition.is_met(value):
                return 0
        return 1

    is_harmful = label == "useful-incorrect"
    return order_from_weights(f"trec-misinfo-{label}", aspects, weigh, lower_is_better=is_harmful)


# Creating an order registers its name for measure strings.
for _label in _LABELS:
    trec_misinfo_label(_label)
