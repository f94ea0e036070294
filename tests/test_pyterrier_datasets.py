"""Datasets by the name multiaspect:… in PyTerrier."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pandas as pd
import pyterrier as pt
import pytest
from pyterrier.datasets import _core

import pt_multiaspect as ma
from pt_multiaspect import datasets
from pt_multiaspect.datasets import irds
from pt_multiaspect.integration import pyterrier_datasets

GROUP = "pyterrier.dataset_provider"


@pytest.fixture(autouse=True)
def _declare_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry point as it is declared, also where an earlier version is installed."""
    declared = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    name, value = re.search(
        rf'\[project\.entry-points\."{re.escape(GROUP)}"\]\n(\w+) = "(.*)"', declared
    ).groups()  # type: ignore[union-attr]
    ours = EntryPoint(name, value, GROUP)
    installed = pt.utils.entry_points

    def entry_points(group: str) -> tuple[EntryPoint, ...]:
        others = [point for point in installed(group) if point.name != name or group != GROUP]
        return (*others, ours) if group == GROUP else tuple(others)

    monkeypatch.setattr(pt.utils, "entry_points", entry_points)
    monkeypatch.setattr(_core, "_loaded_providers", {})


def test_an_experiment_on_the_health_dataset() -> None:
    health = datasets.load_health()
    dataset = pt.get_dataset("multiaspect:health")
    pd.testing.assert_frame_equal(dataset.get_topics(), health.topics)
    pd.testing.assert_frame_equal(dataset.get_qrels(), health.qrels)
    assert list(dataset.get_corpus_iter()) == health.documents.to_dict("records")
    assert {name: list(aspect.grades) for name, aspect in dataset.aspects.items()} == health.grades
    measure = ma.alias("overall", ma.CAM(aspects=dataset.aspects) @ 5)
    run = health.qrels[["qid", "docno"]].assign(score=range(len(health.qrels), 0, -1))
    table = pt.Experiment([pt.Transformer.from_df(run)], *dataset.get_topicsqrels(), [measure])
    values = ma.evaluate(pt.Transformer.from_df(run), dataset.get_qrels(), measure, topics=dataset)
    assert table["overall"].item() == pytest.approx(
        ma.aggregate(values)["overall"].item(), abs=1e-12
    )


def test_frames_may_be_changed_freely() -> None:
    dataset = pt.get_dataset("multiaspect:health")
    for frame in (dataset.get_qrels(), dataset.get_topics()):
        frame[frame.columns[-1]] = "x"
    pd.testing.assert_frame_equal(dataset.get_qrels(), datasets.load_health().qrels)
    pd.testing.assert_frame_equal(dataset.get_topics(), datasets.load_health().topics)


def test_published_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a download: what is read is tested with `load`."""
    qrels = pd.DataFrame({"qid": ["1"], "docno": ["d"], "label": [1], "credibility": [2]})
    run = pd.DataFrame({"qid": ["1"], "docno": ["d"], "score": [1.0]})

    def load(name: str) -> irds.WideQrels:
        return irds.WideQrels(
            name, qrels, datasets.info(name).aspects, (), run if name == "a66" else None
        )

    monkeypatch.setattr(pyterrier_datasets, "load", load)
    for name in datasets.names():
        dataset = pt.get_dataset(f"multiaspect:{name}")
        pd.testing.assert_frame_equal(dataset.get_qrels(), qrels)
        assert dataset.aspects == datasets.info(name).aspects
        assert dataset.info_url() == datasets.info(name).source
        with pytest.raises(NotImplementedError, match="does not support get_topics"):
            dataset.get_topics()
    pd.testing.assert_frame_equal(pt.get_dataset("multiaspect:a66").get_results(), run)
    with pytest.raises(NotImplementedError, match="has no"):
        pt.get_dataset("multiaspect:clef-ehealth-2015").get_results()


def test_datasets_are_listed() -> None:
    provider = pyterrier_datasets.MultiAspectDatasets()
    assert list(provider.list_dataset_names()) == ["health", *datasets.names()]
    health, *published = (provider.get_dataset(name) for name in provider.list_dataset_names())
    components = ("topics", "qrels", "corpus", "index")
    assert [health._describe_component(component) for component in components] == [
        True,
        True,
        True,
        None,
    ]
    for dataset in published:
        assert [dataset._describe_component(component) for component in components] == [
            None,
            True,
            None,
            None,
        ]
    assert health.get_topics_lang() == health.get_corpus_lang() == "en"


def test_unknown_names() -> None:
    with pytest.raises(KeyError, match=r"multiaspect:helth.* not found in provider 'multiaspect'"):
        pt.get_dataset("multiaspect:helth")
