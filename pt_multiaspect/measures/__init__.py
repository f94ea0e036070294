"""The measures, each a declaration: parameters, names, source, and how it is computed."""

from .base import MultiAspectMeasure, SingleAspectMeasure
from .classic import (
    CG,
    DCG,
    ESL,
    GMAP,
    HMAP,
    CoverageRatio,
    Frustration,
    NoveltyRatio,
    RecallEffort,
    RelativeRecall,
    Satisfaction,
)
from .displacement import CRP, CRPRecovery, crp_curve, nCRP
from .gain_aggregation import NWCS, uERR, unDCG, uRBP, uRBPgr
from .preference import HarmfulCompat, HelpfulCompat, HelpfulMinusHarmful
from .rank_errors import NGRE, NLRE
from .score_aggregation import CAM, GAM, MM, WHAM
from .single import On
from .toma import TOMA

#: Every measure of the package, in the order in which they are listed to users.
ALL: tuple[MultiAspectMeasure, ...] = (
    TOMA, CAM, MM, WHAM, GAM, On, uRBP, uRBPgr, unDCG, uERR, NWCS, NLRE, NGRE,
    HelpfulCompat, HarmfulCompat, HelpfulMinusHarmful,
    CRP, nCRP, CRPRecovery, CG, DCG, GMAP, HMAP,
    CoverageRatio, NoveltyRatio, RelativeRecall, RecallEffort, ESL, Satisfaction, Frustration,
)  # fmt: skip

__all__ = [
    "ALL",
    "CAM",
    "CG",
    "CRP",
    "DCG",
    "ESL",
    "GAM",
    "GMAP",
    "HMAP",
    "MM",
    "NGRE",
    "NLRE",
    "NWCS",
    "TOMA",
    "WHAM",
    "CRPRecovery",
    "CoverageRatio",
    "Frustration",
    "HarmfulCompat",
    "HelpfulCompat",
    "HelpfulMinusHarmful",
    "MultiAspectMeasure",
    "NoveltyRatio",
    "On",
    "RecallEffort",
    "RelativeRecall",
    "Satisfaction",
    "SingleAspectMeasure",
    "crp_curve",
    "nCRP",
    "uERR",
    "uRBP",
    "uRBPgr",
    "unDCG",
]
