"""The measures. Each class declares its parameters, names and source, and defines how it is computed."""

from .compatibility import HarmfulCompat, HelpfulCompat, HelpfulMinusHarmful
from .cumulated_gain import CG, DCG
from .displacement import CRP, CRPRecovery, crp_curve, nCRP
from .joint import Joint, JointMeasure
from .mean_average_precision import GMAP, HMAP
from .means import CAM, GAM, MM, WHAM, AspectMean
from .measure import DirectMeasure, Measure
from .nwcs import NWCS
from .on import On
from .parameters import Param
from .rank_errors import NGRE, NLRE
from .search_length import ESL
from .single_aspect import LinearMeasure, SingleAspectMeasure
from .toma import TOMA
from .understandability import uERR, unDCG, uRBP, uRBPgr
from .user_oriented import CoverageRatio, Frustration, NoveltyRatio, RecallEffort, RelativeRecall, Satisfaction

#: Every measure of the package, in the order in which they are listed.
ALL: tuple[Measure, ...] = (
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
    "AspectMean",
    "CRPRecovery",
    "CoverageRatio",
    "DirectMeasure",
    "Frustration",
    "HarmfulCompat",
    "HelpfulCompat",
    "HelpfulMinusHarmful",
    "Joint",
    "JointMeasure",
    "LinearMeasure",
    "Measure",
    "NoveltyRatio",
    "On",
    "Param",
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
