"""Multi-aspect evaluation measures for PyTerrier, ir-measures and scikit-learn.

Importing the package registers its measures with ir-measures and lets PyTerrier read their
names.
"""

from . import names, provider
from .aspects import Aspect, Aspects
from .errors import MultiAspectError, MultiAspectWarning
from .evaluation import aggregate, evaluate
from .io import read_qrels, read_run
from .judgments import Judgments
from .measures import (
    CAM,
    GAM,
    MM,
    NGRE,
    NLRE,
    NWCS,
    TOMA,
    WHAM,
    MultiAspectMeasure,
    On,
    uERR,
    unDCG,
    uRBP,
    uRBPgr,
)
from .order import DistanceOrder, Order

__version__ = "0.1.0"

__all__ = [
    "CAM",
    "GAM",
    "MM",
    "NGRE",
    "NLRE",
    "NWCS",
    "TOMA",
    "WHAM",
    "Aspect",
    "Aspects",
    "DistanceOrder",
    "Judgments",
    "MultiAspectError",
    "MultiAspectMeasure",
    "MultiAspectWarning",
    "On",
    "Order",
    "aggregate",
    "evaluate",
    "read_qrels",
    "read_run",
    "uERR",
    "uRBP",
    "uRBPgr",
    "unDCG",
]

provider.register()
names.install()
