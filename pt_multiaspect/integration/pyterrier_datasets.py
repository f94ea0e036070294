"""Collections with several aspects for `pt.get_dataset`.

An example is ``pt.get_dataset("multiaspect:health")``. PyTerrier loads this module, by its entry
point, when such a dataset is requested or all datasets are listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
import pyterrier as pt

from .._cached import cached_property
from ..aspects import Aspects
from ..datasets import info, load, load_health, names
from ..datasets.health import Collection
from ..datasets.irds import WideQrels


class _Named(pt.datasets.Dataset):  # type: ignore[misc]
    """A dataset with wide qrels, for PyTerrier's list of datasets."""

    COMPONENTS: tuple[str, ...] = ("qrels",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<Dataset multiaspect:{self.name}>"

    def _describe_component(self, component: str) -> bool | None:
        """Return True if the dataset has a component, such as qrels, else None.

        PyTerrier, whose list of datasets shows the result, counts False as a component, too.
        """
        if component in self.COMPONENTS:
            return True
        return None


class HealthDataset(_Named):
    """The health passages that the package contains."""

    COMPONENTS = ("topics", "qrels", "corpus")

    @cached_property
    def _collection(self) -> Collection:
        return load_health()

    @property
    def aspects(self) -> Aspects:
        """The scales, for ``aspects=`` of measures."""
        return Aspects(self._collection.grades)

    def get_topics(self, variant: str | None = None) -> pd.DataFrame:
        """Return the questions, ``qid query``."""
        return self._collection.topics.copy()

    def get_qrels(self, variant: str | None = None) -> pd.DataFrame:
        """Return the judgments, ``qid docno label`` and one column per further aspect."""
        return self._collection.qrels.copy()

    def get_corpus_iter(self, *, verbose: bool = True) -> Iterator[dict[str, Any]]:
        """Return the passages, dicts of ``docno text readability``."""
        documents = self._collection.documents
        fields = list(documents.columns)
        rows = documents.itertuples(index=False)
        return (dict(zip(fields, row, strict=True)) for row in rows)

    def get_topics_lang(self) -> str:
        """Return the language of the questions."""
        return "en"

    get_corpus_lang = get_topics_lang


class PublishedDataset(_Named):
    """The judgments of a published collection, which are downloaded on first use."""

    @cached_property
    def _judged(self) -> WideQrels:
        return load(self.name)

    @property
    def aspects(self) -> Aspects:
        """The scales, for ``aspects=`` of measures."""
        return info(self.name).aspects

    def get_qrels(self, variant: str | None = None) -> pd.DataFrame:
        """Return the judgments, ``qid docno label`` and one column per further aspect."""
        return self._judged.qrels.copy()

    def get_results(self, variant: str | None = None) -> pd.DataFrame:
        """Return the run whose results were judged, ``qid docno score``, if there is one."""
        if self._judged.run is None:
            raise NotImplementedError(f"{self!r} has no judged ranking")
        return self._judged.run.copy()

    def info_url(self) -> str:
        """Return the page of the repository."""
        return info(self.name).source


class MultiAspectDatasets(pt.datasets.DatasetProvider):  # type: ignore[misc]
    """The datasets whose names begin with ``multiaspect:`` in PyTerrier."""

    def get_dataset(self, name: str) -> _Named:
        """Return a dataset by name.

        Raises
        ------
        KeyError
            If the name is unknown.
        """
        if name not in self.list_dataset_names():
            raise KeyError(name)
        if name == "health":
            return HealthDataset(name)
        return PublishedDataset(name)

    def list_dataset_names(self) -> Iterable[str]:
        """Return the names, without ``multiaspect:``."""
        return ["health", *names()]
