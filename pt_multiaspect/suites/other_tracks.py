"""The CLEF eHealth, Touché, TREC Fair Ranking and NTCIR FairWeb tracks."""

from __future__ import annotations

from collections.abc import Mapping

from ir_measures import AP, RR, Bpref, IPrec, P, Rprec, nDCG

from ..aspects import Aspect, Aspects
from ..errors import MultiAspectError
from ..groups.groups import Groups
from ..measures import AWRF, CAM, GFR, GMAP, On, uRBP, uRBPgr
from .definition import Suite

__all__ = ["clef_ehealth_2015", "fair_2022", "fairweb_1", "touche_2021"]

#: The ranks at which trec_eval reports P and ndcg_cut by default.
_RANKS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)


def clef_ehealth_2015() -> Suite:
    """Return the suite of CLEF eHealth 2015, task 2."""
    aspects = Aspects(
        {
            "relevance": Aspect(2, probabilities=[0, 1, 1]),
            "understandability": Aspect(3, probabilities=[0, 0.4, 0.8, 1], threshold=2),
        }
    )
    standard = [
        AP @ 1000,
        GMAP,
        Rprec,
        Bpref,
        RR,
        *(IPrec @ (tenth / 10) for tenth in range(11)),
        *(P @ rank for rank in _RANKS),
        *(nDCG @ rank for rank in _RANKS),
    ]
    return Suite(
        "clef-ehealth-2015",
        "CLEF eHealth 2015, task 2 (user-centred health information retrieval)",
        {
            **{str(measure): measure for measure in standard},
            "RBP 0.8": On(base="RBP(p=0.8,rel=1)", aspects=aspects),
            "uRBP 0.8": uRBP(p=0.8, aspects=aspects),
            "uRBPgr 0.8": uRBPgr(p=0.8, aspects=aspects),
        },
        {"relevance": "0, 1, 2", "understandability": "0, 1, 2, 3; understandable from 2 on"},
        about_topics="All 66 topics of the qrels.",
        notes=(
            (
                "The track evaluated the first 1000 documents per topic (trec_eval -M 1000). Bpref, RR, GMAP, "
                "IPrec and the RBP family have no cutoff here, which matters only for longer runs."
            ),
            (
                "The published values of RBP, uRBP and uRBPgr are of ubire 0.1, which reads understandability by "
                "document, regardless of the topic, and ranks by the rank column of runs. The values here keep "
                "topics apart, and rank by score."
            ),
        ),
        sources=("https://github.com/CLEFeHealth/CLEFeHealth2015Task2 (evaluate.sh)",),
    )


def touche_2021() -> Suite:
    """Return the suite of Touché 2021, tasks 1 and 2."""
    return Suite(
        "touche-2021",
        "Touché 2021, tasks 1 and 2 (argument retrieval)",
        {f"nDCG@5 {aspect}": On(aspect=aspect, base="nDCG") @ 5 for aspect in ("relevance", "quality")},
        {"relevance": "-2 spam (gain 0), 0, 1, 2", "quality": "rhetorical quality, higher is better"},
        topics="positive",
        about_topics="Topics with a document of positive gain; the organisers' script has no value for others.",
        notes=(
            (
                "These are not the organisers' values, but those of trec_eval's definition. Their script drops "
                "the unjudged documents among the first 5, so that later ones of these move up, and leaves topics "
                "whose first 5 documents are all unjudged out of the mean of the run. Values are higher, and runs "
                "with many unjudged documents are favoured."
            ),
        ),
        sources=("https://github.com/touche-webis-de/touche-code (clef21/evaluate.py)",),
    )


def fair_2022(groups: Groups | str | None = None) -> Suite:
    """Return the suite of TREC Fair Ranking 2022, coordinator task."""
    fairness = AWRF(groups=_required(groups, "trec-fair-2022")) @ 500
    if not fairness["groups"].has_target:
        raise MultiAspectError(
            "suite('trec-fair-2022'): expected groups with a target, the track's distribution for each query, got "
            "none; declare it, Groups(..., target={qid: ...})"
        )
    binary = Aspects({"relevance": Aspect(1)})
    return Suite(
        "trec-fair-2022",
        "TREC 2022 Fair Ranking Track, coordinator task",
        {
            "nDCG of the track": CAM(base="DCG(dcg='jarvelin')", normalized=True, aspects=binary) @ 500,
            "AWRF of the track": fairness,
            "nDCG times AWRF": fairness(score="track"),
        },
        {"relevance": "1 relevant"},
        notes=(
            (
                "The track's targets mix the relevant documents with a background distribution, by a rule that is "
                "not part of this package: pass them as the target of Groups, over the product of its dimensions."
            ),
            "The track's program leaves queries that a run lacks out of the mean; here they count, with 0.",
        ),
        sources=("https://github.com/fair-trec/trec2022-fair-public (Task1Evaluation.py, wptrec/metrics)",),
    )


def fairweb_1(groups: Groups | str | None = None, divergence: str | Mapping[str, str] | None = None) -> Suite:
    """Return the suite of NTCIR-17 FairWeb-1."""
    declared = _required(groups, "ntcir-17-fairweb-1")
    if divergence is None:
        raise MultiAspectError(
            "suite('ntcir-17-fairweb-1') requires divergence=, one per dimension of the groups: 'JSD' for nominal "
            "groups, 'NMD' or 'RNOD' for ordinal ones, as in divergence={'level': 'RNOD', 'kind': 'JSD'}"
        )
    aspects = Aspects({"relevance": Aspect(2)})
    return Suite(
        "ntcir-17-fairweb-1",
        "NTCIR-17 FairWeb-1",
        {
            f"GFR with {relevance}": GFR(
                groups=declared, relevance=relevance, divergence=divergence, aspects=aspects
            )
            @ 20
            for relevance in ("ERR", "iRBU")
        },
        {"relevance": "0, 1, 2"},
        sources=("https://github.com/rmit-ir/fairweb-1 (NTCIR/NTCIREVAL/README.groupfair)",),
    )


def _required(groups: Groups | str | None, name: str) -> Groups | str:
    if groups is None:
        raise MultiAspectError(
            f"suite({name!r}) requires groups=, declared as in Groups({{'gender': {{docno: group}}}}, "
            "target={'gender': {group: share}})"
        )
    return groups
