"""The values of runs as Parquet files in a directory, from which a later call takes those that are still right."""

from __future__ import annotations

import hashlib
import io
import os
import re
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Floats
from ..collection.runs import read_table, titled
from ..errors import MultiAspectError, MultiAspectWarning, callers_level, choices, number_of
from .digests import digest_of
from .packing import PackedRun, SentRun
from .parquet import check_installed, read_columns, write_atomically
from .plan import Outcome, Plan

__all__ = ["Place", "Store", "evaluate_stored"]

#: Where files go that were written with other measures or judgments. Readers of Parquet skip names with "_".
SUPERSEDED = "_superseded"

#: Seconds after which a temporary file cannot be in use any more.
_ABANDONED = 3600

#: NAME.DIGEST OF THE NAME.DIGEST OF MEASURES AND JUDGMENTS.DIGEST OF THE RUN.parquet
_FILE = re.compile(r"[^.].*\.([0-9a-f]{16})\.([0-9a-f]{16})\.([0-9a-f]{32})\.parquet", re.DOTALL)


@dataclass(frozen=True)
class Store:
    """A directory with one file per run.

    The name of a file has digests of all that its values depend on: the name of the run and its content, the
    measures and the judgments. A file is written under another name and then renamed, so there are no parts of
    files. Several processes may write to one directory.
    """

    directory: Path
    #: The digest of measures and judgments.
    evaluation: str
    #: The names of the files of each run, by the digest of its name, when the directory was opened.
    found: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def open(cls, directory: str | os.PathLike[str], plan: Plan) -> Store:
        """Open a directory, or make it, and move files of other measures and judgments out of the way.

        Raises
        ------
        MultiAspectError
            If Parquet files cannot be written, or the directory contains others.

        Warns
        -----
        MultiAspectWarning
            If files are moved.
        """
        check_installed()
        place = Path(os.path.abspath(os.path.expanduser(directory)))
        try:
            place.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise MultiAspectError(f"out: expected a directory, got the file {directory}") from None
        evaluation = digest_of(plan.labels, plan.measures, plan.judgments, plan.topics)[:16]
        found: dict[str, list[str]] = {}
        foreign: list[str] = []
        others: list[str] = []
        for name in sorted(os.listdir(place)):
            match = _FILE.fullmatch(name)
            if match is not None:
                others.append(name) if match[2] != evaluation else found.setdefault(match[1], []).append(name)
            elif name.endswith(".parquet"):
                foreign.append(name)
            elif name.endswith(".tmp") and _is_abandoned(place / name):
                (place / name).unlink(missing_ok=True)
        if foreign:
            raise MultiAspectError(
                f"out: expected an empty directory, or one that evaluate has written, but {directory} contains "
                f"{choices(foreign[:3])}; use another directory"
            )
        if others:
            _supersede(place, others)
        return cls(place, evaluation, found)

    def place_of(self, name: str) -> Place:
        """Return where the values of a run are stored."""
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return Place(self.directory, f"{_readable(name)}.{digest}.{self.evaluation}", self.found.get(digest, []))


@dataclass(frozen=True)
class Place:
    """Where the values of one run are stored."""

    directory: Path
    #: The name of the file without the digest of the run.
    start: str
    #: The files with values of a run of this name, when the directory was opened.
    earlier: list[str]

    def file(self, digest: str) -> str:
        """Return the name of the file for a run with this digest."""
        return f"{self.start}.{digest[:32]}.parquet"

    def clear(self, but: str = "") -> None:
        """Remove the earlier files."""
        for file in self.earlier:
            if file != but:
                (self.directory / file).unlink(missing_ok=True)


def evaluate_stored(plan: Plan, name: str, run: Any, place: Place, *, skip: bool) -> Outcome:
    """Return the stored values of a run if they are still right; otherwise evaluate it and store its values.

    Parameters
    ----------
    plan : Plan
        The judgments and measures.
    name : str
        The name of the run.
    run : DataFrame, dict, iterable of namedtuples, path, RunTable or SentRun
        The run.
    place : Place
        Where the values of this run are stored.
    skip : bool
        See `Plan.evaluate`.
    """
    try:
        run, digest = _with_digest(name, run, plan.run_columns)
    except MultiAspectError as error:
        place.clear()
        if not skip:
            raise
        return Outcome(name, reason=str(error))
    file = place.file(digest)
    if file in place.earlier:
        values = _values(read_columns(place.directory / file), name, plan)
        if values is not None:
            place.clear(but=file)
            return Outcome(name, values, reused=True)
    # From here on, no reader finds values of another content under this name.
    place.clear()
    outcome = plan.evaluate(name, run, skip=skip)
    if outcome.values is not None:
        write_atomically(place.directory / file, plan.frame([name], [outcome.values]))
    return outcome


def _values(columns: dict[str, Any] | None, name: str, plan: Plan) -> Floats | None:
    """Return the values of a file, or None if its rows are not those of the run: it is evaluated again then."""
    if columns is None:
        return None
    stored = np.asarray(columns.pop("value"), dtype=np.float64)
    values = np.zeros(plan.counted.shape)
    expected = plan.frame([name], [values])
    if len(stored) != len(expected) or any(columns[column] != expected[column].tolist() for column in columns):
        return None
    values[plan.counted] = stored
    return values


class _File(io.BytesIO):
    """The content of a file, with its name for errors."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name


def _with_digest(name: str, run: Any, columns: list[str]) -> tuple[Any, str]:
    """Return a run that can be evaluated, and the digest of its content."""
    if isinstance(run, str | os.PathLike):
        # Read once, so that the values are those of the content with this digest.
        path = os.fspath(run)
        try:
            content = Path(path).expanduser().read_bytes()
        except FileNotFoundError:
            raise MultiAspectError(f"{titled(name)}: {path}: no such file") from None
        except OSError as error:
            raise MultiAspectError(f"{titled(name)}: {path}: cannot be read: {error.strerror or error}") from None
        return _File(content, path), hashlib.sha256(b"file" + content).hexdigest()
    table = run.unpacked() if isinstance(run, SentRun) else read_table(name, run, columns)
    digest = PackedRun.of(table).digest()
    return table, digest if table.others is None else digest_of(digest, table.others)


def _readable(name: str) -> str:
    """Return the part of a file name that tells people which run it is."""
    return re.sub(r"[^A-Za-z0-9-]+", "_", name).strip("_")[:60] or "run"


def _is_abandoned(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _ABANDONED
    except FileNotFoundError:
        return False


def _supersede(place: Path, files: list[str]) -> None:
    (place / SUPERSEDED).mkdir(exist_ok=True)
    for file in files:
        try:
            os.replace(place / file, place / SUPERSEDED / file)
        except FileNotFoundError:  # another process was faster
            continue
    warnings.warn(
        f"{place} contains values of {number_of(len(files), 'run')} with other measures, judgments or versions: "
        f"they were moved to {SUPERSEDED}, and are computed again. Use one directory for each set of measures",
        MultiAspectWarning,
        stacklevel=callers_level(),
    )
