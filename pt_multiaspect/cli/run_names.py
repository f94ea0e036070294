"""Names of runs that are files: short names, and those by which a baseline is given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import MultiAspectError, did_you_mean, known_names, shown
from ..io.runs import name_of_file

#: An extension, which unlike a decimal begins with a letter.
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]*$")
_COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")

#: A word of a name, with the separators that follow it: ``trec_`` and ``run`` in ``trec_run``.
_WORD = re.compile(
    r"""
    [^-_. ]*[-_. ]+      # a word with separators; at the beginning, perhaps only these
    | [^-_. ]+            # the last word
    """,
    re.VERBOSE,
)

#: A letter: a character of words that is neither a digit nor an underscore.
_LETTER = re.compile(r"[^\W\d_]")


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
    names = {file: name_of_file(file) for file in files}
    # Names from the path are shortened. Others are written in the file, and kept.
    names_from_path: dict[str, str] = {}
    kept_names = set(taken)
    for file, name in names.items():
        if Path(file).name.startswith(name):
            names_from_path[file] = name
        else:
            kept_names.add(name)
    without_extensions = _drop_common_extensions(list(names_from_path.values()))
    short_names = _drop_common_words(without_extensions)
    # A short name must not be that of another run; else no name is shortened.
    if kept_names.isdisjoint(short_names):
        names |= dict(zip(names_from_path, short_names, strict=True))
    return [names[file] for file in files]


def _drop_common_extensions(names: list[str]) -> list[str]:
    """Return names without the extensions that all share, unless one would be empty."""
    while len(names) > 1:
        match = _EXTENSION.search(names[0])
        if match is None:
            return names
        extension = match[0]
        is_shared = all(name.endswith(extension) for name in names)
        if not is_shared or extension in names:
            return names
        names = [name.removesuffix(extension) for name in names]
    return names


def _drop_common_words(names: list[str]) -> list[str]:
    """Return names without the first words that all share, as many as leave a letter in each.

    Words end with hyphens, underscores, dots or blanks: *trec_bm25* has the words *trec_* and
    *bm25*.
    """
    if len(names) < 2:
        return names
    words_by_name = [_WORD.findall(name) for name in names]
    n_common = _number_of_common_words(words_by_name)
    for n_dropped in range(n_common, 0, -1):  # as many as possible
        shorter = ["".join(words[n_dropped:]) for words in words_by_name]
        if all(_LETTER.search(name) for name in shorter):
            return shorter
    return names


def _number_of_common_words(words_by_name: list[list[str]]) -> int:
    """Return the number of words at the beginning that all names share."""
    n_common = 0
    # The shortest name ends the comparison.
    for words in zip(*words_by_name, strict=False):
        if len(set(words)) > 1:
            break
        n_common += 1
    return n_common


def pick_baseline(text: str | None, runs: Iterable[str] | Mapping[str, object]) -> str | None:
    """Return the name of the run that --baseline gives, by name or file, with or without extension.

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
    file_by_name = _files_by_name(runs)
    names = list(file_by_name)
    if text is None or text in names:
        return text
    # 1. The text is the path of a run.
    same_file = [name for name, file in file_by_name.items() if _is_same_file(text, file)]
    if len(same_file) == 1:
        return same_file[0]
    # 2. It is the name of a run, or of its file.
    whole_names = {name: {name, *_spellings(file)} for name, file in file_by_name.items()}
    baseline = _only_match(text, whole_names)
    if baseline is not None:
        return baseline
    # 3. It is such a name without its extension, which several runs may share.
    stems = {name: _stems(whole_names[name]) for name in names}
    baseline = _only_match(text, stems)
    if baseline is not None:
        return baseline
    raise _unknown_baseline(text, stems)


def _files_by_name(runs: Iterable[str] | Mapping[str, object]) -> dict[str, str]:
    """Return the file of each run; its name, which may be a path, if the file is not known."""
    if not isinstance(runs, Mapping):
        return {name: name for name in runs}
    file_by_name = {}
    for name, run in runs.items():
        if isinstance(run, str):
            file_by_name[name] = run
        else:
            file_by_name[name] = name
    return file_by_name


def _spellings(file: str) -> set[str]:
    """Return the names that may mean the run of a file: that of the file, and that of the run."""
    return {Path(file).name, name_of_file(file)}


def _only_match(text: str, known: Mapping[str, set[str]]) -> str | None:
    """Return the run of which a spelling is that of --baseline; None if there is none.

    Raise an error if there are several.
    """
    wanted = _spellings(text)
    matching = [name for name, spellings in known.items() if wanted & spellings]
    if len(matching) > 1:
        names = " or ".join(matching)
        raise MultiAspectError(f"--baseline: {text!r} may be {names}; give its whole name")
    if matching:
        return matching[0]
    return None


def _unknown_baseline(text: str, stems: Mapping[str, set[str]]) -> MultiAspectError:
    """Return the error for a baseline that is not among the runs.

    `stems` are the names of each run without extensions, by name of the run.
    """
    names = list(stems)
    hint = _hint_of_baseline(text, stems)
    remedy = hint or "; add it to the runs"
    listed = known_names(names, hint)
    return MultiAspectError(
        f"--baseline: expected one of the runs ({listed}), got {shown(text)}{remedy}"
    )


def _hint_of_baseline(text: str, stems: Mapping[str, set[str]]) -> str:
    """Return which run a misspelt baseline may mean, as in ``; did you mean bm25?``, or nothing.

    It may be spelt like the name of a run, or like one of its `stems`.
    """
    spellings = list(stems)
    for stems_of_run in stems.values():
        spellings += stems_of_run
    file_name = Path(text).name
    in_right_case = _correct_case(file_name, spellings)
    return did_you_mean([in_right_case], spellings)


def _correct_case(text: str, spellings: Sequence[str]) -> str:
    """Return the first spelling that is the text but for upper and lower case; else the text."""
    for spelling in spellings:
        if spelling.lower() == text.lower():
            return spelling
    return text


def _is_same_file(text: str, file: str) -> bool:
    """Return whether two paths are the same existing file."""
    if not os.path.exists(text) or not os.path.exists(file):
        return False
    return os.path.samefile(text, file)


def _stems(names: Iterable[str]) -> set[str]:
    """Return names without extension; for ``bm25.run.gz``, ``bm25.run`` and ``bm25``."""
    stems = set()
    for name in names:
        path = Path(name)
        stems.add(path.stem)
        if path.suffix in _COMPRESSIONS:
            stems.add(Path(path.stem).stem)
    return stems
