"""Values of runs as files in a directory, which a later call reuses if they are still valid."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import stat
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._writing import TEMPORARY, write_file
from ..collection.run import name_run_in_errors
from ..errors import Cause, MultiAspectError, choices, collect_warnings, number_of, shown, warn
from ..integration.parsing import record_measures
from ..io.file_contents import load
from ..io.runs import run_title
from .digests import digest_of
from .plan import Outcome, Plan, counted_frame
from .provenance import measures_in_full

#: The subdirectory for files that were written with other measures or judgments.
SUPERSEDED = "_superseded"

#: Seconds after which a temporary file cannot be in use any more.
_ABANDONED = 3600

#: NAME.DIGEST OF THE NAME.DIGEST OF MEASURES AND JUDGMENTS.DIGEST OF THE RUN.npz
_FILE = re.compile(r"[^.].*\.([0-9a-f]{16})\.([0-9a-f]{16})\.([0-9a-f]{32})\.npz", re.DOTALL)

#: Length of the checksum at the end of a file, in the comment of the archive.
_CHECKSUM = 64


@dataclass(frozen=True)
class Store:
    """A directory with one file per run.

    The name of a file contains digests of everything that its values depend on: the name of the run and its
    content, the measures and the judgments. A file is written under a temporary name and then renamed, so that it
    is always complete. Several processes may write to one directory.
    """

    directory: Path
    #: The digest of measures and judgments.
    evaluation: str
    #: The names of the files of each run, by the digest of its name, when the directory was opened.
    files: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def open(cls, directory: str | os.PathLike[str], plan: Plan) -> Store:
        """Open or create a directory, and move files of other measures and judgments to a subdirectory.

        Temporary files that killed processes left are removed from a directory that contains values.

        Raises
        ------
        MultiAspectError
            If the path is invalid, or the directory cannot be written or contains other files of this kind.

        Warns
        -----
        MultiAspectWarning
            If files are moved.
        """
        folder = _folder(directory, "out")
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise MultiAspectError(f"out: expected a directory, got the file {directory}")
        evaluation = digest_of(plan.labels, plan.measures, plan.judgments, plan.average_over)[:16]
        with _file_errors():
            folder.mkdir(parents=True, exist_ok=True)
            names = sorted(os.listdir(folder))
        matches = {name: match for name in names if (match := _FILE.fullmatch(name))}
        foreign = [name for name in names if name.endswith(".npz") and name not in matches]
        if foreign:
            raise MultiAspectError(
                f"out: expected an empty directory, or one that evaluate has written, but {directory} contains "
                f"{choices(foreign[:3])}; use another directory"
            )
        others = [name for name, match in matches.items() if match[2] != evaluation]
        files: dict[str, list[str]] = {}
        for name, match in matches.items():
            if match[2] == evaluation:
                files.setdefault(match[1], []).append(name)
        if others:
            with _file_errors():
                _move_superseded(folder, others)
        if others or files:  # other programs may name temporary files alike
            _remove_abandoned([folder / name for name in names if TEMPORARY.fullmatch(name)])
        return cls(folder, evaluation, files)

    def run_files(self, name: str) -> RunFiles:
        """Return the files of the values of a run."""
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        readable = re.sub(r"[^A-Za-z0-9-]+", "_", name).strip("_")[:60] or "run"
        return RunFiles(self.directory, f"{readable}.{digest}.{self.evaluation}", self.files.get(digest, []))


@dataclass(frozen=True)
class RunFiles:
    """The files of the values of one run."""

    directory: Path
    #: The name of the file without the digest of the run.
    start: str
    #: The files with values of a run of this name, when the directory was opened.
    earlier: list[str]

    def clear(self, but: str = "") -> None:
        """Remove the earlier files."""
        for file in self.earlier:
            if file != but:
                (self.directory / file).unlink(missing_ok=True)


def evaluate_stored(plan: Plan, name: str, run: Any, files: RunFiles, digest: str | None, *, skip: bool) -> Outcome:
    """Return the stored values of a run if they are still valid; otherwise evaluate it and store its values.

    Parameters
    ----------
    plan : Plan
        The judgments and measures.
    name : str
        The name of the run.
    run : Run or path
        The run.
    files : RunFiles
        The files of the values of this run.
    digest : str or None
        The digest of its content; None if the run is a path that has not been read yet.
    skip : bool
        See `Plan.evaluate`.
    """
    if digest is None:
        try:
            with name_run_in_errors(run_title(name)):
                run = load(run)  # read once, so that the content and its digest match
        except MultiAspectError as error:
            files.clear()
            if not skip:
                raise
            return Outcome(name, reason=str(error))
        digest = hashlib.sha256(run.data).hexdigest()
    file = f"{files.start}.{digest[:32]}.npz"
    with _file_errors(), collect_warnings() as causes:
        if file in files.earlier:
            part = _read(files.directory / file)
            if part is not None:
                files.clear(but=file)
                values = np.zeros(plan.counted.shape)
                values[plan.counted] = part["value"]
                about = json.loads(part["about"].tobytes())
                earlier = [Cause(*cause) for cause in about["causes"]]
                return Outcome(name, values, earlier, reused=True, documents=about["documents"])
        # After this, readers no longer find values of earlier content under this name.
        files.clear()
    outcome = plan.evaluate(name, run, skip=skip)
    if outcome.values is not None:
        with _file_errors():
            write_file(files.directory / file, _content(file, plan, outcome))
    return replace(outcome, causes=[*causes, *outcome.causes])


def read_directory(directory: str | os.PathLike[str]) -> pd.DataFrame:
    """Read the values of a directory, for `read_values`."""
    folder = _folder(directory, "path")
    files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    matches = [match for file in files if (match := _FILE.fullmatch(file))]
    if len({match[2] for match in matches}) > 1 or len({match[1] for match in matches}) < len(matches):
        raise MultiAspectError(
            f"{directory}: expected values of one evaluation, with one file per run; evaluate the runs again"
        )
    parts = [part for match in matches if (part := _read(folder / match[0])) is not None]
    if not parts:
        got = "" if os.path.exists(folder) else "no such file; "
        raise MultiAspectError(
            f"{directory}: {got}expected a directory with values that evaluate has written with out=, or a file"
        )
    about = [json.loads(part["about"].tobytes()) for part in parts]
    labels, qids = list(about[0]["measures"]), np.array(about[0]["qids"], dtype=object)
    counted = np.ones((len(labels), len(qids)), dtype=bool)
    if about[0]["counted"] is not None:
        counted = np.array(about[0]["counted"], dtype=bool)
    values = np.zeros((len(parts), *counted.shape))
    for row, part in zip(values, parts, strict=True):
        row[counted] = part["value"]
    result = counted_frame([run["name"] for run in about], labels, qids, list(values), counted)
    record_measures(result, about[0]["measures"])
    return result


def _content(file: str, plan: Plan, outcome: Outcome) -> bytes:
    """Return the content of an .npz file with the values of a run, their measures and queries, and the warnings.

    The comment at the end of the archive is a digest of the preceding bytes and the name of the file.
    """
    about = {
        "name": outcome.name,
        "measures": measures_in_full(dict(zip(plan.labels, plan.measures, strict=True))),
        "qids": plan.judgments.qids.tolist(),
        "counted": None if plan.counted.all() else plan.counted.astype(int).tolist(),
        "causes": outcome.causes,
        "documents": outcome.documents,
    }
    content = io.BytesIO()
    assert outcome.values is not None
    np.savez(
        content, value=outcome.values[plan.counted], about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    )
    with zipfile.ZipFile(content, "a") as archive:
        archive.comment = bytes(_CHECKSUM)
    body = content.getvalue()[:-_CHECKSUM]
    return body + _checksum(file, body)


def _checksum(file: str, body: bytes) -> bytes:
    return hashlib.sha256(os.fsencode(file) + body).hexdigest().encode()


def _read(path: Path) -> Any:
    """Return the arrays of a file; None if it no longer exists or, with a warning, if it is damaged."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:  # another process has replaced it
        return None
    except OSError as error:
        reason = f"cannot be read ({error.strerror or error})"
    else:
        body = content[:-_CHECKSUM]
        if content[-_CHECKSUM:] == _checksum(path.name, body):
            return np.load(io.BytesIO(content))
        reason = "is damaged"
    warn(f"out: {path} {reason}: its values are not used, and evaluate computes them again")
    return None


@contextmanager
def _file_errors() -> Iterator[None]:
    """Convert errors of files into errors of the parameter ``out=``."""
    try:
        yield
    except OSError as error:
        remedy = (
            "; workers on other machines need a directory that all share" if error.errno == errno.ENOENT else ""
        )
        raise MultiAspectError(f"out: cannot write {error.filename}: {error.strerror or error}{remedy}") from error


def _folder(directory: object, parameter: str) -> Path:
    """Return the absolute path of a directory, which need not exist."""
    name = os.fspath(directory) if isinstance(directory, os.PathLike) else directory
    if isinstance(name, str) and name and "\0" not in name:
        with suppress(UnicodeEncodeError):  # a lone surrogate
            os.fsencode(name)
            return Path(os.path.abspath(os.path.expanduser(name)))
    remedy = "; '.' is the current directory" if isinstance(name, str) and not name else ""
    raise MultiAspectError(f"{parameter}: expected the path of a directory, got {shown(directory)}{remedy}")


def _remove_abandoned(files: list[Path]) -> None:
    for file in files:
        with suppress(OSError):  # another process was faster, or it belongs to another user
            status = file.lstat()
            if stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > _ABANDONED:
                file.unlink()


def _move_superseded(folder: Path, files: list[str]) -> None:
    (folder / SUPERSEDED).mkdir(exist_ok=True)
    for file in files:
        with suppress(FileNotFoundError):  # another process was faster
            os.replace(folder / file, folder / SUPERSEDED / file)
    warn(
        f"{folder} contains values of {number_of(len(files), 'run')} with other measures, judgments or versions: "
        f"they were moved to {SUPERSEDED}, and are computed again. Use one directory for each set of measures"
    )
