"""The record of a report's computation: versions, measures and options."""

from __future__ import annotations

import platform
from contextlib import suppress
from importlib import metadata

from .._version import __version__
from ..evaluation.topic_clusters import topics_in_words
from ..integration.parsing import definition_of
from ..tables.content import test_name
from .results import Results
from .settings import ALPHA, CI, CORRECTION, TEST

#: Packages that compute values, besides this one.
_COMPUTING = (
    "cwl-eval",
    "ir-measures",
    "numpy",
    "pandas",
    "pyndeval",
    "pytrec-eval-terrier",
    "scipy",
)


def installed_versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of those that compute values, by name."""
    versions = {"python": platform.python_version(), "pt-multiaspect": __version__}
    for name in _COMPUTING:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def record_rows(results: Results) -> list[tuple[str, str]]:
    """Return the versions, the measures in full and the options of a report, each with its name."""
    rows = list(installed_versions().items())
    for label, measure in results.measures.items():
        definition = "values as given"
        if measure is not None:
            definition = definition_of(measure)
        rows.append((label, definition))
    if results.baseline is not None:
        rows.append(("baseline", results.baseline))
    if not results.clusters.are_single_topics:
        topics = topics_in_words(results.clusters)
        rows.append(("topics", topics))
    test = test_name(TEST, CORRECTION)
    rows.append(("test", test))
    rows.append(("significance level", f"{ALPHA:g}"))
    rows.append(("confidence level", f"{CI:g}"))
    return rows
