"""Binary labels that the TREC Health Misinformation tracks derived from several judgments, as orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from .._validation import choice
from ..aspects.aspect import Aspect
from .explicit import Order
from .tracks import CORRECT, CORRECTNESS, INCORRECT, order_of

_USEFULNESS = Aspect(2)
_CREDIBILITY = Aspect([-1, 0, 1, 2], threshold=1)

#: The labels, with the required grades by aspect. All documents must also be useful.
_LABELS: Mapping[str, dict[str, tuple[Aspect, Callable[[float], bool]]]] = MappingProxyType(
    {
        "useful-correct": {"correctness": (CORRECTNESS, lambda label: label == CORRECT)},
        "useful-incorrect": {"correctness": (CORRECTNESS, lambda label: label == INCORRECT)},
        "misinformation": {"correctness": (CORRECTNESS, lambda label: label == INCORRECT)},
        "useful-credible": {"credibility": (_CREDIBILITY, lambda label: label > 0)},
        "useful-correct-credible": {
            "correctness": (CORRECTNESS, lambda label: label == CORRECT),
            "credibility": (_CREDIBILITY, lambda label: label > 0),
        },
    }
)


@cache
def trec_misinfo_label(label: str) -> Order:
    """Return a derived binary label of the TREC Health Misinformation tracks as an order with the weights 1 and 0.

    ``TOMA(order=..., base=...)`` evaluates the base on the derived label, as the tracks did on derived qrels.

    Parameters
    ----------
    label : {'useful-correct', 'useful-incorrect', 'useful-credible', 'useful-correct-credible', 'misinformation'}
        The properties of documents with weight 1. Useful is a relevance above 0, correct and incorrect a
        correctness of 2 and 0 (see `correctness`), credible a credibility above 0. ``'misinformation'`` is useful
        and incorrect, for systems that should find it, as in the total recall task of 2020.

    Returns
    -------
    Order
        Named ``trec-misinfo-`` and the label, with the aspects ``relevance`` (0, 1, 2) and, if the label depends on
        them, ``correctness`` (-1, 0, 1, 2) and ``credibility`` (-1, 0, 1, 2). It applies to all years. With
        ``'useful-incorrect'``, lower values of measures are better.

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
    choice("label", *_LABELS)(label)
    conditions = _LABELS[label]

    def weigh(usefulness: float, *labels: float) -> int:
        met = all(holds(value) for value, (_, holds) in zip(labels, conditions.values(), strict=True))
        return int(usefulness > 0 and met)

    aspects = {"relevance": _USEFULNESS, **{name: aspect for name, (aspect, _) in conditions.items()}}
    return order_of(f"trec-misinfo-{label}", aspects, weigh, lower_is_better=label == "useful-incorrect")


# Creating an order registers its name for measure strings.
for _label in _LABELS:
    trec_misinfo_label(_label)
