"""Stored values are computed again when a module of the user changes that a measure reaches in any way."""

from __future__ import annotations

import importlib
import shutil
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectWarning
from pt_multiaspect.evaluation import user_modules
from pt_multiaspect.evaluation.digests import digest_of
from pt_multiaspect.evaluation.user_modules import attributes_in, imported_in, sources

#: Files of a user. `inner` is what changes; `outer` imports it, and measures refer to `outer` only.
FILES = {
    "usr_inner.py": "def scale(x):\n    return 2 * x\nTABLE = {1: 2}\n",
    "usr_outer.py": """
        import functools
        import numpy as np
        import usr_inner
        CONSTANT = 1
        def f(x, y=1):
            return usr_inner.scale(x) + y
        def late(x):
            import usr_inner as renamed
            return renamed.scale(x)
        class Base:
            def f(self, x):
                return usr_inner.scale(x)
            @functools.cached_property
            def wide(self):
                return f(1)
        @functools.cache
        def cached(x):
            return usr_inner.scale(x)
        """,
    "usr_package/__init__.py": "",
    "usr_package/sub/__init__.py": "",
    "usr_package/sub/inner.py": "def scale(x):\n    return 2 * x\n",
    "usr_package/measures.py": """
        from .sub import inner
        def f(x):
            return inner.scale(x)
        def late(x):
            from .sub.inner import scale
            return scale(x)
        def from_package(x):
            from .sub import inner as renamed
            return renamed.scale(x)
        """,
    "usr_other.py": "UNUSED = 1\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    _forget()


def _forget() -> None:
    """Unload the modules, as in a new process."""
    for name in [name for name in sys.modules if name.startswith("usr_")]:
        del sys.modules[name]
    user_modules._first.clear()
    user_modules.is_installed.cache_clear()
    importlib.invalidate_caches()


def _made(text: str) -> Any:
    """What `text` assigns to `made`, in a module of the user."""
    namespace: dict[str, Any] = {"__name__": "usr_measures"}
    exec(compile(textwrap.dedent(text), "usr_measures.py", "exec"), namespace)
    return namespace["made"]


#: Ways in which a measure reaches `inner`.
WAYS = {
    "module attribute": "import usr_outer\ndef made(x):\n    return usr_outer.f(x)",
    "renamed module": "import usr_outer as o\ndef made(x):\n    return o.f(x)",
    "name": "from usr_outer import f\ndef made(x):\n    return f(x)",
    "star": "from usr_outer import *\ndef made(x):\n    return f(x)",
    "import when called": "def made(x):\n    import usr_outer\n    return usr_outer.f(x)",
    "import of a name when called": "def made(x):\n    from usr_outer import f\n    return f(x)",
    "import_module": "import importlib\ndef made(x):\n    return importlib.import_module('usr_outer').f(x)",
    "import in a function of a module": "import usr_outer\ndef made(x):\n    return usr_outer.late(x)",
    "getattr": "import usr_outer\ndef made(x):\n    return getattr(usr_outer, 'f')(x)",
    "local name": "import usr_outer\ndef made(x):\n    o = usr_outer\n    return o.f(x)",
    "closure": "def maker():\n    import usr_outer\n    return lambda x: usr_outer.f(x)\nmade = maker()",
    "function in a function": "import usr_outer\ndef made(x):\n    return [usr_outer.f(each) for each in [x]]",
    "partial": "import functools, usr_outer\nmade = functools.partial(usr_outer.f, y=2)",
    "method": "import usr_outer\nmade = usr_outer.Base().f",
    "base": "import usr_outer\nclass made(usr_outer.Base):\n    pass",
    "instance": "import usr_outer\nmade = [usr_outer.Base()]",
    "cached function": "from usr_outer import cached as made",
    "table": "import usr_inner\ndef made(x):\n    return usr_inner.TABLE[x]",
    "package": "import usr_package.measures\ndef made(x):\n    return usr_package.measures.f(x)",
    "relative import": "from usr_package.measures import f as made",
    "relative import when called": "from usr_package.measures import late as made",
    "relative import of a module when called": "from usr_package.measures import from_package as made",
    "module object": "import usr_outer as made",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_change_of_an_inner_module_is_noticed(way: str, folder: Path) -> None:
    before = digest_of(_made(WAYS[way]))
    loaded = set(sys.modules)
    assert digest_of(_made(WAYS[way])) == before
    assert set(sys.modules) == loaded
    _forget()
    assert digest_of(_made(WAYS[way])) == before
    _forget()
    (folder / "usr_other.py").write_text("UNUSED = 2\n")
    assert digest_of(_made(WAYS[way])) == before
    _forget()
    for name in ("usr_inner.py", "usr_package/sub/inner.py"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace("2 * x", "3 * x").replace("{1: 2}", "{1: 3}"))
    assert digest_of(_made(WAYS[way])) != before


def test_nothing_is_imported(folder: Path) -> None:
    """Nor is the digest another after the function has imported what it needs."""
    made = _made(WAYS["import when called"])
    before = digest_of(made)
    assert not {"usr_outer", "usr_inner"} & set(sys.modules)
    assert made(1) == 3
    assert digest_of(made) == before


@pytest.mark.parametrize("when", ["before it is loaded", "after it is loaded"])
def test_a_file_that_changes_under_a_loaded_module_gives_a_digest_of_its_own(folder: Path, when: str) -> None:
    """Values of the loaded code must not be taken for those of the new one, in this process or the next."""
    made = _made(WAYS["getattr"] if when.startswith("after") else WAYS["import when called"])
    before = digest_of(made)
    assert made(1) == 3
    (folder / "usr_inner.py").write_text("def scale(x):\n    return 300 * x\n")
    uncertain = digest_of(made)
    assert made(1) == 3  # of the loaded code
    _forget()
    after = digest_of(_made(WAYS["getattr"] if when.startswith("after") else WAYS["import when called"]))
    assert len({before, uncertain, after}) == 3


def test_a_module_that_is_loaded_again_is_read_again(folder: Path) -> None:
    made = _made(WAYS["getattr"])
    before = digest_of(made)
    text = (folder / "usr_inner.py").read_text()
    (folder / "usr_inner.py").write_text(text.replace("2 * x", "3 * x"))
    importlib.reload(sys.modules["usr_inner"])
    after = digest_of(made)
    _forget()
    assert before != after == digest_of(_made(WAYS["getattr"]))


def test_attributes_count_as_they_are_now(folder: Path) -> None:
    made = _made("import usr_outer\ndef made(x):\n    return usr_outer.CONSTANT * made.factor\nmade.factor = 1")
    before = digest_of(made)
    sys.modules["usr_outer"].CONSTANT = 5  # type: ignore[attr-defined]
    changed = digest_of(made)
    sys.modules["usr_outer"].CONSTANT = 1  # type: ignore[attr-defined]
    assert digest_of(made) == before != changed
    made.factor = 2
    assert digest_of(made) != before


def test_properties_that_are_cached_can_be_compared(folder: Path) -> None:
    text = "import usr_outer\nclass made(usr_outer.Base):\n    pass"
    before = digest_of(_made(text))
    made = _made(text)
    assert digest_of(made) == before


def test_packages_count_by_their_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents, versions = sources(["usr_outer"])
    assert sorted(contents) == ["usr_inner", "usr_outer"]
    assert versions == {"numpy": f"numpy {np.__version__}"}
    made = _made(WAYS["module attribute"])
    before = digest_of(made)
    monkeypatch.setattr(user_modules, "version_of", lambda package: "0.1")
    assert digest_of(made) != before


def test_versions_are_those_of_the_name_that_is_imported() -> None:
    """Many distributions have another name than what they install."""
    for module, distribution in {"sklearn": "scikit-learn", "dateutil": "python-dateutil"}.items():
        assert user_modules.version_of(module) == f"{distribution} {metadata.version(distribution)}"
    assert user_modules.version_of("json") == user_modules.version_of("usr_nowhere") == ""


#: How a package in site-packages may be installed: the files beside the package itself, for a version.
INSTALLATIONS: dict[str, Callable[[int], dict[str, str]]] = {
    "top_level.txt": lambda version: {
        "METADATA": f"Metadata-Version: 2.1\nName: Another-Name\nVersion: {version}.0\n",
        "top_level.txt": "usr_installed\n",
    },
    "RECORD": lambda version: {
        "METADATA": f"Metadata-Version: 2.1\nName: Another-Name\nVersion: {version}.0\n",
        "RECORD": "usr_installed/__init__.py,,\nusr_installed/values.py,,\n",
    },
    "no metadata": lambda version: {},
    "metadata that are missing": lambda version: {"RECORD": "usr_installed/__init__.py,,\n"},
    "metadata that are empty": lambda version: {"METADATA": "", "top_level.txt": "usr_installed\n"},
}


@pytest.mark.parametrize("installation", INSTALLATIONS)
@pytest.mark.parametrize("way", ["in a helper", "in the measure"])
def test_values_of_an_upgraded_package_are_computed_again(
    way: str,
    installation: str,
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Versions of packages whose distribution has another name were unknown, and stored values remained."""
    packages, out = folder / "site-packages", tmp_path_factory.mktemp("values")
    monkeypatch.syspath_prepend(packages)

    def install(version: int, k: int) -> None:
        _forget()
        user_modules.version_of.cache_clear()
        user_modules._distributions.cache_clear()
        shutil.rmtree(packages, ignore_errors=True)
        info = packages / f"another_name-{version}.0.dist-info"
        (packages / "usr_installed").mkdir(parents=True)
        (packages / "usr_installed/__init__.py").write_text("")
        (packages / "usr_installed/values.py").write_text(f"K = {k}\n")
        for name, text in INSTALLATIONS[installation](version).items():
            info.mkdir(exist_ok=True)
            (info / name).write_text(text)

    (folder / "usr_helper.py").write_text("def f():\n    from usr_installed.values import K\n    return K\n")
    measured = "usr_helper.f()" if way == "in a helper" else "__import__('usr_installed.values').values.K"
    text = f"""
    import ir_measures, usr_helper
    made = ir_measures.define_byquery(lambda qrels, run: float({measured}), name="own")
    """
    qrels, runs = {"q1": {"d1": {"relevance": 1}}}, {"mine": {"q1": {"d1": 1.0}}}

    def value() -> float:
        found = ma.evaluate(runs, qrels, {"own": _made(text)}, out=out, progress=False)
        return float(found["value"].item())

    install(1, 1)
    assert value() == value() == 1.0
    install(1, 1)
    assert value() == 1.0  # without a warning, as nothing changed
    install(2, 7)
    with pytest.warns(MultiAspectWarning, match="they were moved"):
        assert value() == 7.0


def test_what_cannot_be_read_is_left_out(folder: Path) -> None:
    (folder / "usr_broken.py").write_text("import usr_inner\nthis is no Python\n")
    (folder / "usr_odd.py").write_text("import usr_nowhere, usr_inner.more\nfrom .... import x\nS = '\\d'\n")
    contents, versions = sources(["usr_broken", "usr_odd", "usr_nowhere", "usr_outer.f", "__main__", "sys", "json"])
    assert sorted(contents) == ["usr_broken", "usr_inner", "usr_odd"]
    assert versions == {}
    made = types.ModuleType("usr_made")
    sys.modules["usr_made"] = made
    assert sources(["usr_made"]) == ({}, {})


def test_names_in_code() -> None:
    def code(x: Any) -> Any:
        import os.path as p
        from importlib import import_module

        from .. import above  # type: ignore[attr-defined]
        from . import sibling  # type: ignore[attr-defined]

        inner = lambda: np.linalg.norm(x)  # noqa: E731
        return p, import_module("usr_named"), sibling, above, inner, np.random.default_rng

    found = imported_in(code.__code__, "top.package")
    assert {"os", "os.path", "top.package.sibling", "top.above", "usr_named"} <= set(found)
    assert {("np", "linalg"), ("np", "linalg", "norm"), ("np", "random", "default_rng")} <= set(
        attributes_in(code.__code__)
    )


def test_values_are_computed_again(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    out = tmp_path_factory.mktemp("values")
    qrels, runs = {"q1": {"d1": {"relevance": 1}}}, {"mine": {"q1": {"d1": 1.0}}}
    text = """
    import ir_measures, usr_outer
    made = ir_measures.define_byquery(lambda qrels, run: float(usr_outer.f(1)), name="own")
    """
    values: Callable[[], float] = lambda: ma.evaluate(  # noqa: E731
        runs, qrels, {"own": _made(text)}, out=out, progress=False
    )["value"].item()
    assert values() == values() == 3.0
    _forget()
    (folder / "usr_inner.py").write_text("def scale(x):\n    return 10 * x\nTABLE = {}\n")
    with pytest.warns(MultiAspectWarning, match="they were moved"):
        assert values() == 11.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pd.Series([1.0, 5.0], index=["q1", "q2"]), pd.Series([1.0, 5.0], index=["q2", "q1"])),
        (pd.Series([1.0], name="a"), pd.Series([1.0], name="b")),
        (pd.Index([1], name="a"), pd.Index([1], name="b")),
        (pd.DataFrame({"a": [1]}, index=["q1"]), pd.DataFrame({"a": [1]}, index=["q2"])),
        (
            pd.Series([1.0], index=pd.MultiIndex.from_tuples([("q1", "d1")])),
            pd.Series([1.0], index=pd.MultiIndex.from_tuples([("q1", "d2")])),
        ),
        (np.ma.array([1.0, 5.0], mask=[0, 1]), np.ma.array([1.0, 5.0], mask=[1, 0])),
    ],
    ids=["index", "name", "name of an index", "index of a frame", "levels", "mask"],
)
def test_indexes_and_masks_count(one: Any, other: Any) -> None:
    assert digest_of(one) != digest_of(other)
    assert digest_of(one) == digest_of(one.copy())


def test_names_of_the_rows_of_qrels_do_not_count() -> None:
    qrels = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["a", "b"], "label": [1, 0]})
    assert digest_of(ma.Judgments(qrels)) == digest_of(ma.Judgments(qrels.set_index(pd.Index([7, 9]))))
