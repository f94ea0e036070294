"""Multi-aspect evaluation measures for PyTerrier, ir-measures and scikit-learn.

Importing the package registers its measures with ir-measures and lets PyTerrier read their
names.
"""

from typing import TYPE_CHECKING, Any

from . import analysis, integration, model_selection, orders, plots, testing
from .aspects import Aspect, Aspects
from .collection import Judgments, datasets
from .collection.groups import Groups
from .collection.subtopics import as_subtopics, from_subtopics
from .collection.trec_files import read_qrels, read_run
from .description import Description, describe
from .errors import MultiAspectError, MultiAspectWarning
from .evaluation import aggregate, evaluate
from .explaining import explain, largest_differences
from .integration import provider as _provider
from .integration import pyterrier as _pyterrier
from .kernels import forms
from .measures import (
    AWRF,
    CAM,
    CG,
    CRP,
    DCG,
    ESL,
    GAM,
    GF,
    GFR,
    GMAP,
    HMAP,
    MDCU,
    MM,
    NGRE,
    NLRE,
    NWCS,
    RBU,
    TOMA,
    WHAM,
    AspectMean,
    CoverageRatio,
    CRPRecovery,
    Frustration,
    HarmfulCompat,
    HelpfulCompat,
    HelpfulMinusHarmful,
    Joint,
    JointMeasure,
    LinearMeasure,
    Measure,
    NoveltyRatio,
    On,
    Param,
    RecallEffort,
    RelativeRecall,
    Satisfaction,
    SingleAspectMeasure,
    Subtopics,
    crp_curve,
    nCRP,
    nMDCU,
    register,
    uERR,
    unDCG,
    uRBP,
    uRBPgr,
)
from .measures import parameters as params
from .measures.explanation import Explanation
from .orders import DistanceOrder, Order, register_distance
from .readability import with_readability
from .tables import cite, to_latex, to_styler

if TYPE_CHECKING:
    from .model_selection.boosters import catboost_metric, lightgbm_metric, xgboost_metric
    from .model_selection.front import FrontChoice, pareto_front
    from .model_selection.fusion import AspectFusion
    from .model_selection.labels import aggregate_labels
    from .model_selection.levels import lightgbm_params
    from .model_selection.ranker import AspectRanker
    from .model_selection.repeats import RepeatedQueryKFold, paired_interval
    from .model_selection.score import ranking_score
    from .model_selection.scorer import ranking_scorer

__version__ = "0.1.0"

__all__ = [
    "AWRF",
    "CAM",
    "CG",
    "CRP",
    "DCG",
    "ESL",
    "GAM",
    "GF",
    "GFR",
    "GMAP",
    "HMAP",
    "MDCU",
    "MM",
    "NGRE",
    "NLRE",
    "NWCS",
    "RBU",
    "TOMA",
    "WHAM",
    "Aspect",
    "AspectFusion",
    "AspectMean",
    "AspectRanker",
    "Aspects",
    "CRPRecovery",
    "CoverageRatio",
    "Description",
    "DistanceOrder",
    "Explanation",
    "FrontChoice",
    "Frustration",
    "Groups",
    "HarmfulCompat",
    "HelpfulCompat",
    "HelpfulMinusHarmful",
    "Joint",
    "JointMeasure",
    "Judgments",
    "LinearMeasure",
    "Measure",
    "MultiAspectError",
    "MultiAspectWarning",
    "NoveltyRatio",
    "On",
    "Order",
    "Param",
    "RecallEffort",
    "RelativeRecall",
    "RepeatedQueryKFold",
    "Satisfaction",
    "SingleAspectMeasure",
    "Subtopics",
    "aggregate",
    "aggregate_labels",
    "analysis",
    "as_subtopics",
    "catboost_metric",
    "cite",
    "crp_curve",
    "datasets",
    "describe",
    "evaluate",
    "explain",
    "forms",
    "from_subtopics",
    "integration",
    "largest_differences",
    "lightgbm_metric",
    "lightgbm_params",
    "nCRP",
    "nMDCU",
    "orders",
    "paired_interval",
    "params",
    "pareto_front",
    "plots",
    "ranking_score",
    "ranking_scorer",
    "read_qrels",
    "read_run",
    "register",
    "register_distance",
    "testing",
    "to_latex",
    "to_styler",
    "uERR",
    "uRBP",
    "uRBPgr",
    "unDCG",
    "with_readability",
    "xgboost_metric",
]


#: Where the modules went that had a place of their own.
_MOVED = {
    "MultiAspectMeasure": "Measure",
    "names": "integration.parsing, and uninstall() integration.pyterrier.uninstall()",
    "provider": "integration.provider",
}


def __getattr__(name: str) -> Any:
    # Model selection imports scikit-learn, so it waits until it is used.
    if name in model_selection.__all__:
        return getattr(model_selection, name)
    moved = f"; it is now {__name__}.{_MOVED[name]}" if name in _MOVED else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{moved}")


def __dir__() -> list[str]:
    return sorted(__all__)


_provider.register()
_pyterrier.install()
