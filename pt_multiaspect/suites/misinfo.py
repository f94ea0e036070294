"""The TREC Health Misinformation tracks of 2020, 2021 and 2022."""

from __future__ import annotations

import ir_measures

from ..aspects import Aspect, Aspects
from ..measures import CAM, TOMA, HarmfulCompat, HelpfulCompat, HelpfulMinusHarmful, On
from ..orders import (
    trec_misinfo_2020,
    trec_misinfo_2021,
    trec_misinfo_2022,
    trec_misinfo_label,
)
from .definition import Suite

__all__ = ["misinfo_2020", "misinfo_2020_recall", "misinfo_2021", "misinfo_2022"]

#: The option -M 1000 of the tracks' evaluator.
_DEPTH = 1000

_CORRECTNESS = (
    "-1 not judged, 0 incorrect, 1 neither, 2 correct; pt_multiaspect.orders.correctness computes it from the "
    "answers of documents and topics"
)
_TOPICS = (
    "For each measure, the topics with a positive document: the tracks' derived qrels contain no others, and "
    "trec_eval -c averages over the topics of the qrels. Means over all judged topics (topics='judged') are lower."
)
_CAM_SLIP = (
    "The official cam_map is 0 for a topic whose last aspect has no relevant document retrieved, regardless "
    "of the other aspects; here only that aspect is 0. Elsewhere, the values agree."
)
_CAM_THREE_SLIP = (
    "The official cam_map_three weighs the aspects by .3333 each: its values are .9999 times those here."
)


_SOURCES_2020 = ("https://trec.nist.gov/data/misinfo2020.html (README.md, scripts/run-2020-eval.sh)",)


def _derived(label: str, base: str) -> ir_measures.Measure:
    """Return a measure of a derived binary label."""
    return TOMA(order=trec_misinfo_label(label), base=base)


def _of_usefulness(top: int) -> ir_measures.Measure:
    return On(aspect="relevance", base="nDCG", aspects=Aspects({"relevance": Aspect(top)})) @ _DEPTH


def _cam(gate: str | None, aspects: list[str], top: int) -> ir_measures.Measure:
    """Return CAM over AP; documents that do not pass the gate are not in the derived qrels."""
    order = trec_misinfo_2020() if top == 1 else trec_misinfo_2021()
    return CAM(base="AP", gate=gate, aspects={name: order.aspects[name] for name in aspects}) @ _DEPTH


def misinfo_2020() -> Suite:
    """Return the suite of the ad hoc task of 2020."""
    order = trec_misinfo_2020()
    return Suite(
        "trec-misinfo-2020",
        "TREC 2020 Health Misinformation Track, ad hoc task",
        {
            "nDCG useful": _of_usefulness(1),
            "nDCG useful and correct": _derived("useful-correct", "nDCG") @ _DEPTH,
            "nDCG useful and credible": _derived("useful-credible", "nDCG") @ _DEPTH,
            "nDCG useful, correct and credible": _derived("useful-correct-credible", "nDCG") @ _DEPTH,
            "CAM(AP) correct, credible": _cam("correctness", ["correctness", "credibility"], 1),
            "CAM(AP) useful, credible": _cam("relevance", ["relevance", "credibility"], 1),
            "CAM(AP) useful, correct, credible": _cam("relevance", ["relevance", "correctness", "credibility"], 1),
            "helpful compatibility": HelpfulCompat(order=order),
            "harmful compatibility": HarmfulCompat(order=order),
        },
        {
            "relevance": "0 not useful, 1 useful",
            "correctness": _CORRECTNESS,
            "credibility": "-1 not judged, 0 not credible, 1 credible",
        },
        topics="positive",
        about_topics=f"{_TOPICS} Of the 46 judged topics, these are 32 to 46.",
        notes=(
            (
                "CAM(AP) correct, credible counts credibility for correct documents only: by a mistake of that "
                "year, as its README of 2021 says, the derived qrels lack all other documents. In 2021 they do not."
            ),
            _CAM_SLIP,
            _CAM_THREE_SLIP,
        ),
        sources=_SOURCES_2020,
    )


def misinfo_2020_recall() -> Suite:
    """Return the suite of the total recall task of 2020."""
    return Suite(
        "trec-misinfo-2020-recall",
        "TREC 2020 Health Misinformation Track, total recall task: systems find misinformation",
        {"Rprec useful and incorrect": _derived("misinformation", "Rprec")},
        {"relevance": "0 not useful, 1 useful", "correctness": _CORRECTNESS},
        topics="positive",
        about_topics=f"{_TOPICS} Of the 46 judged topics, these are 32.",
        sources=_SOURCES_2020,
    )


def misinfo_2021() -> Suite:
    """Return the suite of the task of 2021."""
    order = trec_misinfo_2021()
    return Suite(
        "trec-misinfo-2021",
        "TREC 2021 Health Misinformation Track",
        {
            "nDCG useful": _of_usefulness(2),
            "P@10 useful and correct": _derived("useful-correct", "P") @ 10,
            "P@10 useful and incorrect": _derived("useful-incorrect", "P") @ 10,
            "nDCG useful and correct": _derived("useful-correct", "nDCG") @ _DEPTH,
            "nDCG useful and credible": _derived("useful-credible", "nDCG") @ _DEPTH,
            "nDCG useful, correct and credible": _derived("useful-correct-credible", "nDCG") @ _DEPTH,
            "CAM(AP) correct, credible": _cam(None, ["correctness", "credibility"], 2),
            "CAM(AP) useful, credible": _cam("relevance", ["relevance", "credibility"], 2),
            "CAM(AP) useful, correct, credible": _cam("relevance", ["relevance", "correctness", "credibility"], 2),
            "helpful compatibility": HelpfulCompat(order=order),
            "harmful compatibility": HarmfulCompat(order=order),
        },
        {
            "relevance": "0 not useful, 1 useful, 2 very useful",
            "correctness": _CORRECTNESS,
            "credibility": "-1 or -2 not judged, 0 low, 1 good, 2 excellent",
        },
        topics="positive",
        about_topics=f"{_TOPICS} Of the 35 judged topics, these are 32 to 35.",
        notes=(_CAM_SLIP, _CAM_THREE_SLIP),
        sources=("https://trec.nist.gov/data/misinfo/misinfo-resources-2021.tar.gz (scripts/run-2021-eval.sh)",),
    )


def misinfo_2022() -> Suite:
    """Return the suite of the web retrieval task of 2022."""
    order = trec_misinfo_2022()
    return Suite(
        "trec-misinfo-2022",
        "TREC 2022 Health Misinformation Track, web retrieval task",
        {
            "nDCG useful": _of_usefulness(2),
            "P@10 useful and correct": _derived("useful-correct", "P") @ 10,
            "P@10 useful and incorrect": _derived("useful-incorrect", "P") @ 10,
            "nDCG useful and correct": _derived("useful-correct", "nDCG") @ _DEPTH,
            "helpful compatibility": HelpfulCompat(order=order),
            "harmful compatibility": HarmfulCompat(order=order),
            "helpful minus harmful": HelpfulMinusHarmful(order=order),
        },
        {"relevance": "-1 not judged, 0 not useful, 1 useful, 2 very useful", "correctness": _CORRECTNESS},
        topics="positive",
        about_topics=(
            f"{_TOPICS} Of the 45 judged topics, these are 37 to 45; helpful minus harmful is averaged over topics "
            "with both helpful and harmful documents."
        ),
        notes=(
            (
                "Helpful compatibility, and with it the difference, is not the official one: the track compared "
                "the best documents of most topics with each other and placed 425 of them on preference levels "
                "above all others, which the labels do not contain. For the official value, evaluate HelpfulCompat "
                "(without an order) on the track's graded qrels as relevance."
            ),
            "Answer prediction is no ranking task.",
        ),
        sources=(
            (
                "https://trec.nist.gov/data/misinfo/trec2022-health-misinfo-resources.tar.gz (README.md, "
                "scripts/run-eval.sh)"
            ),
        ),
    )
