"""Two PyTerrier transformers over a small collection, and a demonstration that uses them.

Requires no Java, network or index on disk. The package imports this module only on demand, as it
imports PyTerrier and scikit-learn.
"""

from .demo import run_demo
from .pipelines import ReadabilityReranker, TfidfRetriever

__all__ = ["ReadabilityReranker", "TfidfRetriever", "run_demo"]
