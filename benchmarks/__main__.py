"""Print the table of ratios, and write it as JSON."""

from __future__ import annotations

import argparse
import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .cases import CASES, figure

RECORDED = Path(__file__).with_name("recorded.json")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--small", action="store_true", help="the small version, which the tests check"
    )
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks.json"), help="the JSON file"
    )
    parser.add_argument(
        "--record", action="store_true", help=f"also write the figures to {RECORDED.name}"
    )
    given = parser.parse_args()
    size = "small" if given.small else "full"
    packages = ("numpy", "pandas", "polars", "pyarrow", "pyterrier", "ir-measures")
    rows: list[dict[str, object]] = []
    result = {
        "size": size,
        "python": platform.python_version(),
        "packages": {package: _version(package) for package in packages},
        "cases": rows,
    }
    print(f"{'case':<68} {'against':<50} {'figure':>8} {'goal':>6}")
    for case in CASES:
        if given.only not in case.name or (given.small and not case.has_small):
            continue
        measured, taken = figure(case, given.small)
        unit = "" if case.unit == "ratio" else f" {case.unit}"
        mark = "" if measured <= case.goal else "  above the goal"
        row = f"{case.name:<68} {case.against:<50} {measured:8.3f} {case.goal:6g}{unit}  ({taken:.0f} s){mark}"
        print(row, flush=True)
        rounded = round(measured, 4)
        rows.append(
            {
                "case": case.name,
                "against": case.against,
                "figure": rounded,
                "goal": case.goal,
                "unit": case.unit,
            }
        )
        # After each row, as the full table takes minutes.
        _write(given.output, result)
        if given.record:
            recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
            recorded.setdefault(size, {})[case.name] = rounded
            _write(RECORDED, recorded)


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
