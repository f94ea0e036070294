"""The declarations of the package: lowest dependencies, the smoke set, and the cost of importing it."""

from __future__ import annotations

import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from shared_data import shared_path

import pt_multiaspect as ma

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

#: What an import of the package must not import: heavy packages, and its own that evaluating a run
#: does not need.
HEAVY = (
    "sklearn",
    "matplotlib",
    "scipy",
    "bs4",
    "polars",
    "pooch",
    "joblib",
    "textstat",
    "lightgbm",
    "xgboost",
    "click",
    "jinja2",
    "vl_convert",
    "pt_multiaspect.analysis",
    "pt_multiaspect.answers",
    "pt_multiaspect.description",
    "pt_multiaspect.plots",
    "pt_multiaspect.collection.readability",
    "pt_multiaspect.reporting",
    "pt_multiaspect.tables",
    "pt_multiaspect.testing",
)


def requirements(extra: str | None = None) -> dict[str, str]:
    """The lowest version of each package that is required on Linux, own extras followed."""
    result = {}
    for line in (
        PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    ):
        own = re.fullmatch(r"pt-multiaspect\[(.*)\]", line)
        if own:
            for part in own[1].split(","):
                result.update(requirements(part))
        elif "== 'darwin'" not in line:
            name, version = re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line).groups()
            result[name] = version
    return result


def parts(version: str) -> tuple[int, ...]:
    numbers = [int(part) for part in version.split(".")]
    return tuple([*numbers, 0, 0][:3])


def test_every_dependency_is_tested_at_its_lower_bound():
    lines = (ROOT / ".ci" / "lowest.txt").read_text(encoding="utf-8").split()
    pinned = dict(line.split("==") for line in lines)
    declared = requirements() | requirements("test")
    assert {name: parts(version) for name, version in pinned.items()} == {
        name: parts(version) for name, version in declared.items()
    }


def test_optional_dependencies_of_users_are_tested():
    tested = requirements("test")
    assert requirements("plots").items() <= tested.items()
    assert requirements("readability").items() <= tested.items()
    assert requirements("report").items() <= tested.items()
    assert requirements("data").items() <= tested.items()
    assert requirements("compressed").items() <= tested.items()
    assert requirements("parquet").items() <= tested.items()
    users = requirements("ltr")
    assert parts(users["lightgbm"]) == parts(tested["lightgbm"])
    assert parts(users["xgboost"]) == parts(tested["xgboost-cpu"])


def imports_of_pages() -> set[str]:
    """Return the packages that code cells of the pages import, as in "import xgboost"."""
    imported = set()
    for page in (ROOT / "docs").rglob("*.md"):
        for cell in re.findall(r"```\{code-cell\}\n(.*?)```", page.read_text("utf-8"), re.S):
            imported.update(re.findall(r"^ *(?:import|from) (\w+)", cell, re.M))
    return imported


def test_what_the_pages_import_is_installed_with_them():
    """The extra docs has the optional packages that the pages import."""
    optional = {"catboost"}
    for extra in ("judges", "ltr", "parquet", "plots", "report"):
        optional |= set(requirements(extra))
    imported = imports_of_pages() & optional
    assert imported >= {"catboost", "lightgbm", "xgboost"}
    distribution_of_module = {"xgboost": "xgboost-cpu"}
    installed = requirements("docs")
    for module in imported:
        assert distribution_of_module.get(module, module) in installed


def test_the_versions_of_the_pages_are_those_of_the_tests():
    of_pages = requirements("docs")
    of_tests = requirements("test")
    for name in set(of_pages) & set(of_tests):
        assert of_pages[name] == of_tests[name], name


def test_one_package_of_xgboost_is_installed():
    """xgboost and xgboost-cpu install the same files."""
    assert "xgboost" not in requirements("docs")
    assert "xgboost" not in requirements("test")


def test_the_smoke_set_exists_and_contains_the_demo():
    files = (ROOT / ".ci" / "smoke.txt").read_text(encoding="utf-8").split()
    assert "tests/test_demo.py" in files
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_published_figures_may_not_be_skipped_where_their_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("PT_MULTIASPECT_SHARED", raising=False)
    with pytest.raises(pytest.skip.Exception):
        shared_path("golden", "of_no_paper.json")
    monkeypatch.setenv("PT_MULTIASPECT_SHARED", str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match="of_no_paper"):
        shared_path("golden", "of_no_paper.json")
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert run.index("export PT_MULTIASPECT_SHARED=") < run.index("pytest")
    assert 'PT_MULTIASPECT_EXAMPLES=1 "$work/dev/bin/pytest" -q -m ""' in run


def test_engines_are_tested_alike_here_and_on_github():
    """By one script, in environments of the same extras, which no job skips."""
    run, job = (
        (ROOT / path).read_text(encoding="utf-8")
        for path in (".ci/run", ".github/workflows/test.yml")
    )
    for text, command in (
        (run, '.ci/engines "$work/engines/bin/python"'),
        (job, ".ci/engines python"),
    ):
        assert text.count(command) == 1
        assert text.index("[test,engines]") < text.index(command)
    assert {"pyspark", "dask", "ray"} == {
        re.match(r"[\w-]+", line)[0] for line in PROJECT["optional-dependencies"]["engines"]
    }


def run_code(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_import_loads_nothing_that_waits_for_its_use():
    code = f"""
import sys
import pyterrier
assert "pt_multiaspect_pyterrier" in sys.modules and "pt_multiaspect" not in sys.modules
before = set(sys.modules)
import pt_multiaspect
new = set(sys.modules) - before
print("pt_multiaspect" in new, *sorted(set({HEAVY!r}) & new))"""
    assert run_code(code) == "True"


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("TMOA", ". Did you mean TOMA?"),  # Python itself suggests nothing
        ("CAMM", ". Did you mean CAM?"),
        ("xyz", ""),
    ],
)
def test_misspelt_names_are_answered_by_similar_ones_once(name: str, question: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(ma, name)
    told = "".join(traceback.format_exception(caught.value)).rstrip()
    assert told.endswith(f"module 'pt_multiaspect' has no attribute '{name}'{question}")
