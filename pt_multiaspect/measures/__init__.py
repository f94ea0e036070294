"""The measures, each a declaration: parameters, names, source, and how it is computed."""

from .base import MultiAspectMeasure
from .gain_aggregation import NWCS, uERR, unDCG, uRBP, uRBPgr
from .rank_errors import NGRE, NLRE
from .score_aggregation import CAM, GAM, MM, WHAM
from .single import On
from .toma import TOMA

#: Every measure of the package, in the order in which they are listed to users.
ALL: tuple[MultiAspectMeasure, ...] = (
    TOMA, CAM, MM, WHAM, GAM, On, uRBP, uRBPgr, unDCG, uERR, NWCS, NLRE, NGRE,
)  # fmt: skip

__all__ = [
    "ALL",
    "CAM",
    "GAM",
    "MM",
    "NGRE",
    "NLRE",
    "NWCS",
    "TOMA",
    "WHAM",
    "MultiAspectMeasure",
    "On",
    "uERR",
    "uRBP",
    "uRBPgr",
    "unDCG",
]
