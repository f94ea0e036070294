"""Names of runs that are files: short ones, and those by which the command line knows a baseline."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from ..errors import MultiAspectError, did_you_mean, known_names, shown
from ..io.runs import name_of_file

#: An extension, which unlike a decimal begins with a letter.
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]*$")
_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")


def shorten_names(files: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """Return the names of files without the extensions and the first words that all of them share.

    Parameters
    ----------
    files : sequence of str
        Paths. Files that contain the name of their run, as predictions of MTEB do, keep it.
    taken : iterable of str
        Other names. If a short one is among them, all names remain as they are.

    Returns
    -------
    list of str
        The names, as distinct as those of the files; none is empty or has no letter. A single one
        is unchanged.

    Examples
    --------
    >>> from pt_multiaspect.cli.run_names import shorten_names
    >>> shorten_names(["runs/input.bm25.txt.gz", "runs/input.dense.txt.gz"])
    ['bm25', 'dense']
    >>> shorten_names(["k1=0.9.run", "k1=1.2.run"])
    ['k1=0.9', 'k1=1.2']
    """
    names = [name_of_file(file) for file in files]
    is_of_file = [Path(file).name.startswith(name) for file, name in zip(files, names, strict=True)]
    own = [name for name, is_own in zip(names, is_of_file, strict=True) if is_own]
    others = {*taken, *(name for name, is_own in zip(names, is_of_file, strict=True) if not is_own)}
    remaining = iter(_drop_common_words(_drop_common_extensions(own)))
    short = [
        next(remaining) if is_own else name for name, is_own in zip(names, is_of_file, strict=True)
    ]
    is_taken = any(name in others for name, is_own in zip(short, is_of_file, strict=True) if is_own)
    return names if is_taken else short


def _drop_common_extensions(names: list[str]) -> list[str]:
    """Return names without the extensions that all share."""
    while len(names) > 1:
        extension = _EXTENSION.search(names[0])
        if extension is None:
            shorter = []
        else:
            shorter = [name.removesuffix(extension[0]) for name in names]
        if (
            extension is None
            or not all(name.endswith(extension[0]) for name in names)
            or "" in shorter
        ):
            break
        names = shorter
    return names


def _drop_common_words(names: list[str]) -> list[str]:
    """Return names without as many words at their beginning that all share as leave a letter in each."""
    words = [re.findall(r"[^-_. ]*[-_. ]+|[^-_. ]+", name) for name in names]
    shared = list(takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False)))
    for n_dropped in range(len(shared) if len(names) > 1 else 0, 0, -1):
        rests = ["".join(of_name[n_dropped:]) for of_name in words]
        if all(re.search(r"[^\W\d_]", rest) for rest in rests):
            return rests
    return names


def pick_baseline(text: str | None, runs: Iterable[str] | Mapping[str, object]) -> str | None:
    """Return the name of the run that --baseline gives by its name or its file, with or without extension.

    Parameters
    ----------
    text : str or None
        The value of --baseline.
    runs : iterable of str, or mapping of str to object
        The names of runs, or runs by name, of which texts are paths.

    Raises
    ------
    MultiAspectError
        If there is no such run, or there are several.
    """
    names = list(runs)
    if text is None or text in names:
        return text
    files = {name: name for name in names}
    if isinstance(runs, Mapping):
        files |= {name: run for name, run in runs.items() if isinstance(run, str)}
    same_path = [name for name, file in files.items() if _is_same_file(text, file)]
    if len(same_path) == 1:
        return same_path[0]
    wanted = {Path(text).name, name_of_file(text)}
    spellings = {name: {name, Path(file).name, name_of_file(file)} for name, file in files.items()}
    stems = {}
    for name in names:
        stems[name] = set().union(*map(_stems, spellings[name]))
    for known in (spellings, stems):
        matching = [name for name in names if wanted & known[name]]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise MultiAspectError(
                f"--baseline: {text!r} may be {' or '.join(matching)}; give its whole name"
            )
    name = Path(text).name
    known_spellings = [*names, *(stem for name in names for stem in stems[name])]
    by_lower = {spelling.lower(): spelling for spelling in reversed(known_spellings)}
    hint = did_you_mean([by_lower.get(name.lower(), name)], known_spellings)
    listed = known_names(names, hint)
    raise MultiAspectError(
        f"--baseline: expected one of the runs ({listed}), got "
        f"{shown(text)}{hint or '; add it to the runs'}"
    )


def _is_same_file(text: str, file: str) -> bool:
    """Return whether two paths are the same existing file."""
    return os.path.exists(text) and os.path.exists(file) and os.path.samefile(text, file)


def _stems(name: str) -> tuple[str, str]:
    """Return a name without its last extension, and without its last two, as in ``bm25.run.gz``."""
    stem = Path(name).stem
    return stem, Path(stem).stem if Path(name).suffix in _COMPRESSIONS else stem
