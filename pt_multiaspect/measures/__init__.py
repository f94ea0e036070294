"""The measures: classes with their parameters, names, sources and computations.

The package has all names of `__all__`, too.
"""

# isort: off
# Users see the measures listed in the order in which these imports register them.
from .toma import TOMA
from .means import CAM, GAM, MM, WHAM, AspectMean
from .on import On
from .understandability import uERR, unDCG, uRBP, uRBPgr
from .nwcs import NWCS
from .rank_errors import NGRE, NLRE
from .compatibility import HarmfulCompat, HelpfulCompat, HelpfulMinusHarmful
from .displacement import CRP, CRPRecovery, crp_curve, nCRP
from .cumulated_gain import CG, DCG, G
from .user_oriented import (
    CoverageRatio,
    Frustration,
    NoveltyRatio,
    RecallEffort,
    RelativeRecall,
    Satisfaction,
)
from .search_length import ESL
from .rank_biased_utility import RBU
from .session import MDCU, nMDCU
from .mean_of import MeanOf
from .intents import DSharpnDCG, DnDCG, IRec
from .subtopics import Subtopics

# isort: on
from .joint import Joint, JointMeasure
from .measure import DirectMeasure as DirectMeasure
from .measure import Measure
from .parameters import Param
from .registry import register
from .registry import registered_measures as registered_measures
from .single_aspect import LinearMeasure, SingleAspectMeasure

#: Every measure of the package, in the order in which they are listed.
ALL: tuple[Measure, ...] = registered_measures()

__all__ = [
    "CAM",
    "CG",
    "CRP",
    "DCG",
    "ESL",
    "GAM",
    "MDCU",
    "MM",
    "NGRE",
    "NLRE",
    "NWCS",
    "RBU",
    "TOMA",
    "WHAM",
    "AspectMean",
    "CRPRecovery",
    "CoverageRatio",
    "DSharpnDCG",
    "DnDCG",
    "Frustration",
    "G",
    "HarmfulCompat",
    "HelpfulCompat",
    "HelpfulMinusHarmful",
    "IRec",
    "Joint",
    "JointMeasure",
    "LinearMeasure",
    "MeanOf",
    "Measure",
    "NoveltyRatio",
    "On",
    "Param",
    "RecallEffort",
    "RelativeRecall",
    "Satisfaction",
    "SingleAspectMeasure",
    "Subtopics",
    "crp_curve",
    "nCRP",
    "nMDCU",
    "register",
    "uERR",
    "uRBP",
    "uRBPgr",
    "unDCG",
]
