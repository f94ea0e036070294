"""A Sphinx extension: what people search for, and the page on it, which is the first hit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

#: The words of each page. A search for one of them shows the page first; the index has them, too.
TERMS = {
    "before_you_report": ("significance", "checklist"),
    "comparison": ("ranx", "other tools"),
    "howto/answers": (
        "RAG",
        "retrieval-augmented generation",
        "nuggets",
        "rubrics",
        "generated answers",
    ),
    "howto/collections": ("test collection", "TREC", "CLEF", "suite of a track"),
    "howto/command_line": ("command line", "shell", "trec_eval"),
    "howto/conversations": (
        "clustered standard errors",
        "CAsT",
        "iKAT",
        "macro average",
        "several data sets",
    ),
    "howto/engines": ("Spark", "Dask", "Ray", "joblib"),
    "howto/estimates": ("prediction-powered inference",),
    "howto/files": ("BEIR", "file formats"),
    "howto/how_many_topics": ("power", "sample size", "minimum detectable difference"),
    "howto/judged_by_a_model": ("LLM judge", "LLM", "UMBRELA"),
    "howto/learning": ("learning to rank", "LightGBM", "XGBoost", "training"),
    "howto/pyterrier": ("PyTerrier", "grid search"),
    "howto/rerankers": ("cross-encoder", "reranker", "sentence-transformers"),
    "howto/readability": ("FOG", "Flesch"),
    "howto/scales": ("scale", "grades", "threshold"),
    "howto/searches": ("GridSearchCV", "Optuna"),
    "howto/unjudged": ("unjudged", "missing labels", "condensed lists"),
    "install": ("install", "installation", "pip", "extras"),
    "start": ("tutorial", "getting started"),
    "which_measure": ("choose a measure", "which measure"),
}


class AddTerms(SphinxTransform):
    """Add the words of a page to the index, as its main entries."""

    default_priority = 840  # before the index is collected

    def apply(self, **kwargs: object) -> None:
        entries = [
            ("single", term, "", "main", None)
            for term in TERMS.get(self.env.current_document.docname, ())
        ]
        if entries:
            next(self.document.findall(nodes.title)).parent.insert(
                1, addnodes.index(entries=entries)
            )


def check_terms(app: Sphinx, env: BuildEnvironment) -> None:
    """Raise an error if a page is gone."""
    if missing := sorted(TERMS.keys() - env.all_docs.keys()):
        raise ExtensionError(
            f"expected the pages of docs/search_terms.py to exist, got none named {missing}"
        )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the words and their check."""
    app.add_transform(AddTerms)
    app.connect("env-check-consistency", check_terms)
    return {"parallel_read_safe": True}
