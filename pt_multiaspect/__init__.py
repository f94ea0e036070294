"""Multi-aspect evaluation measures for PyTerrier, ir-measures and scikit-learn.

Importing the package registers its measures with ir-measures and lets PyTerrier read their
names.
"""

from typing import TYPE_CHECKING

from . import datasets, integration, measures, model_selection, orders
from . import explanation as _explanation
from ._lazy import lazy_attributes
from ._version import __version__ as __version__
from .aspects import Aspect, Aspects
from .collection import Judgments
from .collection.subtopic_qrels import as_subtopics, from_subtopics
from .errors import MultiAspectError, MultiAspectWarning
from .evaluation import aggregate, evaluate, evaluator, read_values
from .integration import provider as _provider
from .integration import pyterrier as _pyterrier
from .integration.parsing import alias
from .io.trec_files import read_qrels, read_run
from .kernels import forms
from .measures import *  # noqa: F403
from .measures import parameters as params
from .orders.distance import DistanceOrder
from .orders.order import Order
from .orders.registered import register_distance

if TYPE_CHECKING:
    from . import analysis, answers, plots, testing
    from .analysis.robustness import robustness
    from .collection.long_judgments import from_long
    from .collection.readability import with_readability
    from .description import describe
    from .evaluation.filling import fill_labels
    from .explanation import explain, largest_differences
    from .integration.accelerating import accelerate
    from .integration.variants import variants
    from .model_selection.labels import aggregate_labels
    from .model_selection.metrics import metric_for
    from .model_selection.ranker import AspectRanker
    from .model_selection.scorer import ranking_score, ranking_scorer
    from .model_selection.searches import RepeatedQueryKFold, paired_interval, pareto_front
    from .reporting import report
    from .suites import suite
    from .tables import cite, systems_table

__all__ = [
    "Aspect",
    "AspectRanker",
    "Aspects",
    "DistanceOrder",
    "Judgments",
    "MultiAspectError",
    "MultiAspectWarning",
    "Order",
    "RepeatedQueryKFold",
    "accelerate",
    "aggregate",
    "aggregate_labels",
    "alias",
    "analysis",
    "answers",
    "as_subtopics",
    "cite",
    "datasets",
    "describe",
    "evaluate",
    "evaluator",
    "explain",
    "fill_labels",
    "forms",
    "from_long",
    "from_subtopics",
    "integration",
    "largest_differences",
    "metric_for",
    "orders",
    "paired_interval",
    "params",
    "pareto_front",
    "plots",
    "ranking_score",
    "ranking_scorer",
    "read_qrels",
    "read_run",
    "read_values",
    "register_distance",
    "report",
    "robustness",
    "suite",
    "systems_table",
    "testing",
    "variants",
    "with_readability",
]
__all__ += measures.__all__


#: Modules with the names that are imported from them on first use, as evaluating a run does not
#: need them.
__getattr__ = lazy_attributes(
    __name__,
    {
        "analysis": ["analysis"],
        "analysis.robustness": ["robustness"],
        "answers": ["answers"],
        "collection.long_judgments": ["from_long"],
        "collection.readability": ["with_readability"],
        "description": ["describe"],
        "evaluation.filling": ["fill_labels"],
        "explanation": ["explain", "largest_differences"],
        "integration.accelerating": ["accelerate"],
        "integration.variants": ["variants"],
        "model_selection": model_selection.__all__,
        "plots": ["plots"],
        "reporting": ["report"],
        "suites": ["suite"],
        "tables": ["cite", "systems_table"],
        "testing": ["testing"],
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)


_explanation.register()
_provider.register()
_pyterrier.install()
