"""Build the sdist, and the wheel from it, and compare with the package and with a wheel built without the sdist.

Usage: python .ci/build.py OUTPUT, with the package build installed. Nothing is written to the
checkout.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def content(wheel: Path) -> dict[str, int]:
    """The checksum of each file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}


def main(output: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        source.mkdir()
        modules = [path.name for path in ROOT.glob("pt_multiaspect_*.py")]
        for name in ("pyproject.toml", "README.md", "LICENSE", *modules):
            shutil.copy(ROOT / name, source)
        shutil.copytree(
            ROOT / "pt_multiaspect",
            source / "pt_multiaspect",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        package = {
            path.relative_to(source).as_posix()
            for pattern in ("pt_multiaspect/**/*", "pt_multiaspect_*.py")
            for path in source.glob(pattern)
            if path.is_file()
        }
        build = [sys.executable, "-m", "build"]
        subprocess.run(
            [*build, "--outdir", str(output), str(source)], check=True, stdout=subprocess.DEVNULL
        )
        subprocess.run(
            [*build, "--wheel", "--outdir", folder, str(source)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (wheel,), (direct,) = output.glob("*.whl"), Path(folder).glob("*.whl")
        files = content(wheel)
        if files != content(direct):
            differing = {name for name, _ in files.items() ^ content(direct).items()}
            sys.exit(
                f"the wheels built from the sdist and from the checkout differ: {sorted(differing)}"
            )
        shipped = {name for name in files if ".dist-info/" not in name}
        if shipped != package:
            sys.exit(f"the wheel and the package have different files: {sorted(shipped ^ package)}")
    print(f"{wheel.name}: {len(shipped)} files, the same from the sdist")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
