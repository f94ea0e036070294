"""The run files that a path, a directory or a pattern refers to."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from ..errors import MultiAspectError

__all__ = ["check_readable", "run_files"]


def run_files(path: str | os.PathLike[str]) -> list[str]:
    """Return the files of a path, directory or pattern, sorted.

    Parameters
    ----------
    path : str or path
        A file, which need not exist; a directory, whose files are returned except hidden ones; or a pattern such as
        ``runs/*.run``, in which ``**`` stands for any number of directories.

    Raises
    ------
    MultiAspectError
        If a directory contains no files, or no file matches a pattern.
    """
    given = os.fspath(path)
    expanded = os.path.expanduser(given)
    if os.path.isdir(expanded):
        inside = sorted(str(each) for each in Path(expanded).iterdir() if each.is_file() and each.name[0] != ".")
        if not inside:
            raise MultiAspectError(f"the directory {given} contains no files; give a directory of runs")
        return inside
    if glob.has_magic(expanded) and not os.path.exists(expanded):
        matches = sorted(each for each in glob.glob(expanded, recursive=True) if os.path.isfile(each))
        if not matches:
            raise MultiAspectError(f"no file matches {given}; check the pattern and the current directory")
        return matches
    return [expanded]


def check_readable(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file cannot be read, without reading it.

    Raises
    ------
    MultiAspectError
        If there is no such file, it is a directory, or reading it is not permitted.
    """
    place = os.path.expanduser(os.fspath(path))
    if not os.path.exists(place):
        raise MultiAspectError(f"{os.fspath(path)}: no such file")
    if os.path.isdir(place):
        raise MultiAspectError(f"{os.fspath(path)}: expected a run file, got a directory")
    if not os.access(place, os.R_OK):
        raise MultiAspectError(f"{os.fspath(path)}: cannot be read: no permission")
