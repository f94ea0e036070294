"""Run files of paths, directories and patterns."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from ..errors import MultiAspectError


def run_files(path: str | os.PathLike[str]) -> list[str]:
    """Return the files of a path, directory or pattern, sorted.

    Parameters
    ----------
    path : str or path
        A file, which need not exist; a directory, whose files are returned except hidden ones; or a pattern such as
        ``runs/*.run``, in which ``**`` matches any number of directories.

    Raises
    ------
    MultiAspectError
        If a directory contains no files, or no file matches a pattern.
    """
    text = os.fspath(path)
    expanded = os.path.expanduser(text)
    if os.path.isdir(expanded):
        inside = sorted(str(file) for file in Path(expanded).iterdir() if file.is_file() and file.name[0] != ".")
        if not inside:
            raise MultiAspectError(f"the directory {text} contains no files; give a directory of runs")
        return inside
    if glob.has_magic(expanded) and not os.path.exists(expanded):
        matches = sorted(match for match in glob.glob(expanded, recursive=True) if os.path.isfile(match))
        if not matches:
            raise MultiAspectError(f"no file matches {text}; check the pattern and the current directory")
        return matches
    return [expanded]


def check_readable(path: str | os.PathLike[str]) -> None:
    """Raise an error if a file cannot be read, without reading it.

    Raises
    ------
    MultiAspectError
        If the file does not exist, is a directory, or reading it is not permitted.
    """
    file = os.path.expanduser(os.fspath(path))
    if not os.path.exists(file):
        raise MultiAspectError(f"{os.fspath(path)}: no such file")
    if os.path.isdir(file):
        raise MultiAspectError(f"{os.fspath(path)}: expected a run file, got a directory")
    if not os.access(file, os.R_OK):
        raise MultiAspectError(f"{os.fspath(path)}: cannot be read: no permission")


def is_read_once(path: str | os.PathLike[str]) -> bool:
    """Return whether a file can be read only once, such as a named pipe or the shell's ``<(command)``."""
    file = os.path.expanduser(os.fspath(path))
    return os.path.exists(file) and not os.path.isfile(file) and not os.path.isdir(file)
