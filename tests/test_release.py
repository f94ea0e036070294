"""A release: one version, a changelog that has it with a date, and a workflow that checks both."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pt_multiaspect as ma
from pt_multiaspect.reporting.record import installed_versions

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent


def test_the_version_is_in_one_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {
        "attr": "pt_multiaspect._version.__version__"
    }
    files = [
        path
        for path in [
            ROOT / "CITATION.cff",
            ROOT / "docs" / "conf.py",
            *(ROOT / "pt_multiaspect").rglob("*"),
        ]
        if path.suffix in {".bib", ".cff", ".json", ".md", ".py", ".rst"}
    ]
    version = re.compile(rf"(?<![\d.]){re.escape(ma.__version__)}(?![\d.])")
    stating = [path.name for path in files if version.search(path.read_text(encoding="utf-8"))]
    assert stating == ["_version.py"]


def test_the_version_of_the_code_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable installation keeps the metadata of the day on which it was made."""
    installed = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata,
        "version",
        lambda name: "0.0.1" if name == "pt-multiaspect" else installed(name),
    )
    assert installed_versions()["pt-multiaspect"] == ma.__version__
    assert f"Version {ma.__version__}" in ma.cite("TOMA")
    qrels, run = {"q1": {"d1": 1, "d2": 0}}, {"q1": {"d1": 1.0}}
    page = ma.report({"ours": run}, qrels, ["nDCG"], progress=False).to_html()
    assert f"pt_multiaspect {ma.__version__}" in page
    assert "0.0.1" not in page


def release(
    root: Path, tag: str, changelog: str, version: str = "1.2.3"
) -> subprocess.CompletedProcess[str]:
    """Run the check of the workflow in a repository with this changelog and version."""
    for folder in (".ci", "pt_multiaspect"):
        (root / folder).mkdir()
    script = shutil.copy(ROOT / ".ci" / "release.py", root / ".ci")
    (root / "pt_multiaspect" / "_version.py").write_text(
        f'__version__ = "{version}"\n', encoding="utf-8"
    )
    (root / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    return subprocess.run(
        [sys.executable, script, tag], capture_output=True, text=True, encoding="utf-8", check=False
    )


def test_the_section_of_the_tag_is_printed(tmp_path: Path) -> None:
    changelog = (
        "# Changelog\n\n## 1.2.3 (2026-12-31)\n\n### Measures\n\n- One.\n\n"
        "## 1.2.2 (2026-12-01)\n\n- Two.\n"
    )
    done = release(tmp_path, "v1.2.3", changelog)
    assert (done.returncode, done.stdout) == (0, "### Measures\n\n- One.\n")


@pytest.mark.parametrize(
    ("tag", "changelog", "expected"),
    [
        (
            "v1.2.4",
            "## 1.2.3 (2026-12-31)\n\n- One.\n",
            "the tag is v1.2.4, but .* states 1.2.3: expected v1.2.3",
        ),
        ("1.2.3", "## 1.2.3 (2026-12-31)\n\n- One.\n", "the tag is 1.2.3, .*: expected v1.2.3"),
        (
            "v1.2.3",
            "## 1.2.3 (unreleased, 2026-12-31)\n\n- One.\n",
            r'expected "## 1.2.3 \(YYYY-MM-DD\)", got "## 1',
        ),
        ("v1.2.3", "## 1.2.3\n\n- One.\n", 'got "## 1.2.3"$'),
        ("v1.2.3", "## 1.2.3 (2026-13-01)\n\n- One.\n", "no date of release"),
        ("v1.2.3", "## 1.2.30 (2026-12-31)\n\n- One.\n", "has 0 sections of version 1.2.3"),
        ("v1.2.3", "## 1.2.3 (2026-12-31)\n\n- One.\n\n## 1.2.3 (2026-12-30)\n", "has 2 sections"),
        ("v1.2.3", "## 1.2.3 (2026-12-31)\n\n## 1.2.2 (2026-12-01)\n\n- Two.\n", "is empty"),
    ],
)
def test_what_is_not_released(tmp_path: Path, tag: str, changelog: str, expected: str) -> None:
    done = release(tmp_path, tag, f"# Changelog\n\n{changelog}")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(f"^not released: .*{expected}", done.stderr)
    assert len(done.stderr.splitlines()) == 1


def test_the_changelog_has_a_section_of_the_version() -> None:
    """It may be unreleased; the tag is then refused, with the heading to write."""
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "release.py", f"v{ma.__version__}"],
        capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    heading = re.search(
        rf"^## {re.escape(ma.__version__)} \((.+)\)$",
        (ROOT / "CHANGELOG.md").read_text("utf-8"),
        re.M,
    )
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", heading[1]):
        assert done.returncode == 0
        assert len(done.stdout) > 100
    else:
        assert heading[1].startswith("unreleased")
        assert f'expected "## {ma.__version__} (YYYY-MM-DD)"' in done.stderr
