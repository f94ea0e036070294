"""Errors and warnings: classes, warnings once per call, and parts of messages."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import NamedTuple

#: Maximum number of names that errors list, and of characters of an input that they show.
_MOST_CHOICES, _LONGEST = 30, 160

#: A word of a message that is shortened, such as an id that contains a whole document.
_LONG_WORD = re.compile(r"\S{500,}")

#: Maximum length of a message.
_LONGEST_MESSAGE = 10_000

#: Number of characters that errors show on both sides of an invalid one.
_AROUND = 40

#: The end of errors about qrels that can be read as runs, or runs as qrels.
SWAPPED = "Are the qrels and the runs swapped?"


class MultiAspectError(ValueError):
    """Invalid input. The message says what was expected.

    All errors that this package raises for invalid input are of this class, so
    ``except MultiAspectError`` (or ``except ValueError``) catches all of them.
    """

    def __str__(self) -> str:
        return _shorten(super().__str__())


class MultiAspectWarning(UserWarning):
    """An assumption may affect the results. The message says how to make it explicit."""

    def __str__(self) -> str:
        return _shorten(super().__str__())


def _shorten(message: str) -> str:
    """Return a message without its longest parts, which are ids and texts of the input."""
    message = _LONG_WORD.sub(lambda word: cut(word[0]), message)
    if len(message) <= _LONGEST_MESSAGE:
        return message
    half = _LONGEST_MESSAGE // 2
    return f"{message[:half]} … {message[-half:]}"


#: Causes of which a call has warned: their group or None, and their key.
_Causes = set[tuple[str | None, str]]

#: The causes of which `warn_once` has warned when no call of a tool is under way.
_given: _Causes = set()
_lock = threading.Lock()


def _renew_lock() -> None:
    """Replace the lock: a thread of the parent process may have held it at the fork."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew_lock)

#: Number of causes per group that are reported before a final warning says that there are more.
_PER_GROUP = 3


class Cause(NamedTuple):
    """The arguments of `warn_once`, `warn_of_run` (with a remedy) or `warn` (without a key)."""

    message: str
    key: str | None
    group: str | None
    remedy: str | None = None


_collected: ContextVar[list[Cause] | None] = ContextVar("_collected", default=None)


@contextmanager
def collect_warnings() -> Iterator[list[Cause]]:
    """Collect the causes of warnings instead of issuing them, in this thread only.

    Worker processes cannot warn, and threads share the filters of warnings. The caller passes the
    causes to `reissue`, or those with a remedy to `warn_of_runs`, in the process and thread where a
    warning reaches the user.
    """
    causes: list[Cause] = []
    token = _collected.set(causes)
    try:
        yield causes
    finally:
        _collected.reset(token)


#: Warnings of earlier calls about the same data, which are not repeated.
_earlier: ContextVar[_Causes | None] = ContextVar("_earlier", default=None)


@contextmanager
def warn_once_of(earlier: _Causes) -> Iterator[None]:
    """Issue no warning of `warn_once` that earlier calls have issued.

    This is for objects that keep data for many calls.

    Parameters
    ----------
    earlier : set
        The causes of these warnings, to which new ones are added.
    """
    token = _earlier.set(earlier)
    try:
        yield
    finally:
        _earlier.reset(token)


def warn_once(message: str, *, key: str | None = None, group: str | None = None) -> None:
    """Issue a warning once in each call of a tool for each `message`, or each `key` if given.

    PyTerrier evaluates batches, folds and systems one by one, so one cause would otherwise be
    reported dozens of times. If batches produce many keys for one cause, `group` limits them:
    three are reported, and a fourth warning says that further ones are not.
    """
    key = key or message
    collected = _collected.get()
    if collected is not None:
        # Whoever collects warnings issues them later.
        cause = Cause(message, key, group)
        if cause not in collected:
            collected.append(cause)
        return

    # Objects that keep data for many calls remember of what earlier calls have warned.
    group_and_key = (group, key)
    earlier = _earlier.get()
    if earlier is None:
        _warn_once_in_call(message, group_and_key)
    elif group_and_key not in earlier:
        is_issued = _warn_once_in_call(message, group_and_key)
        if is_issued:
            earlier.add(group_and_key)


def _warn_once_in_call(message: str, group_and_key: tuple[str | None, str]) -> bool:
    """Issue a warning unless this call of a tool has issued it, and return whether it is issued.

    `group_and_key` identifies the cause of the warning.
    """
    reported = _causes_of_call()
    number_in_group = _add_cause(reported, group_and_key)
    if number_in_group is None:
        return False
    if number_in_group > _PER_GROUP:
        message += (
            ". Runs or parts of the qrels (batches, folds) differ; further cases are not reported"
        )
    try:
        warn(message)
    except MultiAspectWarning:
        # A filter raises it as an error, which the next call raises again.
        reported.discard(group_and_key)
        raise
    return True


def _add_cause(reported: _Causes, group_and_key: tuple[str | None, str]) -> int | None:
    """Add the cause of a warning to those that are reported, and return its number in its group.

    The numbers are 1, 2, … and always 1 without a group. Return None for a cause that is not to be
    reported: it was before, or the last warning of its group was.
    """
    group, _ = group_and_key
    with _lock:  # of several threads, one warns
        if group_and_key in reported:
            return None
        if group is None:
            number_in_group = 1
        else:
            groups = [group_of_cause for group_of_cause, _ in reported]
            number_in_group = groups.count(group) + 1
        # A group has so many warnings, and one more, which says that further ones are not issued.
        if number_in_group > _PER_GROUP + 1:
            return None
        reported.add(group_and_key)
    return number_in_group


#: The name under which the local variables of a call of a tool have the causes of which it has
#: warned.
_CAUSES = "__pt_multiaspect_causes__"


def _causes_of_call() -> _Causes:
    """Return the causes of which the outermost call of a tool, such as a grid search, has warned.

    The set is empty at first, and the caller adds to it.
    """
    frame_of_call = _outermost_call_of_tool()
    if frame_of_call is None:
        return _given
    # The set is stored as one more local variable of the call, so that it ends with the call. The
    # first warning of the call creates it, and later ones find it there.
    local_variables = frame_of_call.f_locals
    causes: _Causes = local_variables.setdefault(_CAUSES, set())
    return causes


def _outermost_call_of_tool() -> FrameType | None:
    """Return the stack frame of the outermost call of a function of `_TOOLS`; None without one."""
    outermost_call = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        # Modules that are being imported have frames, too. Python marks those of functions by a
        # flag: they have local variables of their own.
        is_call = bool(frame.f_code.co_flags & inspect.CO_NEWLOCALS)
        is_of_this_module = frame.f_globals is globals()
        if is_call and not is_of_this_module and _is_of_tool(frame):
            outermost_call = frame
        frame = frame.f_back
    return outermost_call


def warn(message: str) -> None:
    """Issue a warning in every call, unlike `warn_once`.

    Inside `collect_warnings`, it is collected to be issued later.
    """
    collected = _collected.get()
    if collected is not None:
        collected.append(Cause(message, key=None, group=None))
        return
    # The warning is shown at the user's line. `warnings.warn` would remember the text and the line
    # and be silent the next time, when the data may be others; `warn_explicit` without a
    # `registry` remembers nothing.
    frame = _users_frame()
    module_name = str(frame.f_globals.get("__name__", ""))
    warnings.warn_explicit(
        message,
        MultiAspectWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=module_name,
    )


def reissue(cause: Cause) -> None:
    """Issue a collected warning that does not concern a single run."""
    if cause.key is None:
        warn(cause.message)
    else:
        warn_once(cause.message, key=cause.key, group=cause.group)


def warn_of_run(message: str, remedy: str, *, key: str, group: str, run: str = "a run") -> None:
    """Issue a warning about a run, as `warn_once` does.

    If warnings are collected, the caller names all runs of a `group` in one message, with
    `warn_of_runs`.
    """
    collected = _collected.get()
    if collected is None:
        warn_once(f"{run}: {message}. {remedy}", key=key, group=group)
    else:
        collected.append(Cause(message, key, group, remedy))


#: Number of runs that a warning names.
_MOST_RUNS = 3


def warn_of_runs(causes: Iterable[tuple[str, Cause]]) -> None:
    """Issue one warning per group for the causes of all runs, which are given with their titles."""
    messages_by_group: dict[str | None, list[str]] = {}
    remedies: dict[str | None, str | None] = {}
    for title, cause in causes:
        messages = messages_by_group.setdefault(cause.group, [])
        messages.append(f"{title}: {cause.message}")
        remedies.setdefault(cause.group, cause.remedy)
    for group, messages in messages_by_group.items():
        text = "; ".join(messages[:_MOST_RUNS])
        n_further = len(messages) - _MOST_RUNS
        if n_further > 0:
            further = number_of(n_further, "more run")
            text += f"; and {further}"
        warn(f"{text}. {remedies[group]}")


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Drop the warnings of this package in this thread, without marking them as issued."""
    with collect_warnings():
        yield


#: Packages whose stack frames are skipped to find the user's code for a warning.
_TOOLS = (
    "pt_multiaspect",
    "pt_multiaspect_pyterrier",
    "ir_measures",
    "pyterrier",
    "joblib",
    "tqdm",
    "sklearn",
    "lightgbm",
    "xgboost",
    "catboost",
    "optuna",
)


def _is_of_tool(frame: FrameType) -> bool:
    """Return whether a stack frame is of one of `_TOOLS`."""
    module_name = str(frame.f_globals.get("__name__", ""))
    package = module_name.partition(".")[0]
    return package in _TOOLS


def _users_frame() -> FrameType:
    """Return the first stack frame outside `_TOOLS`, or else the outermost one."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_of_tool(frame):
        frame = frame.f_back
    return frame


@contextmanager
def errors_of(title: object) -> Iterator[None]:
    """Begin errors of this package with a title, such as the name of a parameter or measure."""
    try:
        yield
    except MultiAspectError as error:
        # The new error takes the place of the old one, and has the same cause.
        raise MultiAspectError(f"{title}: {error}") from error.__cause__


@contextmanager
def refuse_surrogates(title: object) -> Iterator[None]:
    """Raise an error with a title if Python or pandas encodes text with a lone surrogate."""
    try:
        yield
    except UnicodeEncodeError as error:
        text = error.object
        surrogate = text[error.start]
        # Texts may have been joined by NUL characters: the parts between these are single texts.
        text_before = text[: error.start].rpartition("\0")[2]
        text_after = text[error.start + 1 :].partition("\0")[0]
        excerpt = text_before[-_AROUND:] + surrogate + text_after[:_AROUND]
        raise MultiAspectError(
            f"{title}: expected text that UTF-8 can represent, got {excerpt!r}: {surrogate!r} is "
            "half of a character, as where text was cut; repair it or leave it out"
        ) from None


#: The options of parameters with another name, if messages are for the shell.
_options: ContextVar[Mapping[str, str] | None] = ContextVar("_options", default=None)


@contextmanager
def messages_for_shell(options: Mapping[str, str]) -> Iterator[None]:
    """Name parameters in messages as options of the shell.

    Parameters
    ----------
    options : mapping of str to str
        The options of parameters that have another name. By default, the option of ``average_over``
        is ``--average-over``.
    """
    token = _options.set(options)
    try:
        yield
    finally:
        _options.reset(token)


def in_shell() -> bool:
    """Return whether messages are for the shell: inside `messages_for_shell`.

    Remedies there can differ in more than the names of parameters.
    """
    options = _options.get()  # None outside
    return options is not None


def parameter(name: str, value: object = None) -> str:
    """Return how to give a parameter: ``aspects=`` in Python, ``--aspects`` in the shell.

    Parameters
    ----------
    name : str
        The name of the parameter.
    value : object, optional
        A value to give, which JSON can represent. In the shell, options of bool have none.

    Returns
    -------
    str
        As in ``average_over='judged'``, in the shell ``--average-over judged``.
    """
    options = _options.get()
    if options is None:
        if value is None:
            return f"{name}="
        return f"{name}={value!r}"
    option = options.get(name, f"--{name.replace('_', '-')}")
    if value is None or isinstance(value, bool):
        return option
    if isinstance(value, str):
        text = value
    else:
        text = json.dumps(value, ensure_ascii=False)
    return f"{option} {shlex.quote(text)}"


def number_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("query"):
        plural = noun.removesuffix("y") + "ies"
    else:
        plural = noun + "s"
    return f"{number} {plural}"


def agree(number: int, total: int, singular: str, plural: str) -> str:
    """Return the form of a verb for some of all.

    Examples: '1 of 2 pairs has', '0 of 1 pair has', '0 of 2 pairs have'.
    """
    if number == 1 or total == 1:
        return singular
    return plural


def tally(number: int, noun: str) -> str:
    """Return the total count in parentheses, for an error that shows the first case only."""
    return f"({number_of(number, f'such {noun}')} in all)"


def did_you_mean(unknown: Iterable[object], known: Iterable[object]) -> str:
    """Return a question that suggests known names similar to `unknown` ones, empty if none are."""
    # Imported here, as few calls need it.
    from difflib import get_close_matches

    known_texts = [str(name) for name in known]
    suggestions: list[str] = []
    for name in unknown:
        suggestions += get_close_matches(str(name), known_texts, n=1, cutoff=0.7)
    distinct = dict.fromkeys(suggestions)
    if distinct:
        return f". Did you mean {choices(distinct)}?"
    return ""


def refuse_unknown(
    given: Iterable[object], known: Iterable[object], what: str, parameter: str = ""
) -> None:
    """Raise an error if given names are not known.

    Parameters
    ----------
    given, known : iterable of object
        The names.
    what : str
        What was expected, as in "aspects" or "one of the runs".
    parameter : str, optional
        The parameter, or the source of the names, at the beginning of the error.
    """
    options = list(known)
    lookup = set(options)
    # A name that is not hashable, such as a list, cannot be known.
    unknown = [name for name in given if not isinstance(name, Hashable) or name not in lookup]
    if unknown:
        start = _start(parameter)
        hint = did_you_mean(unknown, options)
        expected = known_names(options, hint)
        got = choices(map(_unknown_name, unknown))
        raise MultiAspectError(f"{start}expected {what} ({expected}), got {got}{hint}")


def _unknown_name(name: object) -> str:
    """Return an unknown name for an error: without quotes, unless it is long or not a text."""
    if isinstance(name, str) and len(name) <= _LONGEST and "\n" not in name:
        return name
    return shown(name)


def refuse_repeated(names: Iterable[Hashable], what: str, parameter: str = "") -> None:
    """Raise an error if names are repeated; see `refuse_unknown`."""
    times_of_name = Counter(names)
    repeated = [name for name, times in times_of_name.items() if times > 1]
    if repeated:
        start = _start(parameter)
        got = choices(repeated)
        raise MultiAspectError(f"{start}expected distinct {what}, got several {got}")


def refuse_none(items: Sized, what: str, parameter: str = "") -> None:
    """Raise an error if there are no items."""
    if not len(items):
        raise MultiAspectError(f"{_start(parameter)}expected at least one {what}, got none")


def refuse_single(names: Collection[object], what: str) -> None:
    """Raise an error if there are fewer than two names."""
    n_names = len(names)
    if n_names >= 2:
        return
    got = "none"
    if n_names == 1:
        got = f"only {choices(names)}"
    raise MultiAspectError(f"expected at least two {what}, got {got}")


def refuse_taken(names: Iterable[str], taken: Collection[str], what: str) -> None:
    """Raise an error if an alias of a measure is already the name of `what`."""
    for name in names:
        if name in taken:
            raise MultiAspectError(
                f"the alias {name!r} of a measure is the name of {what}; use another alias"
            )


def _start(parameter: str) -> str:
    """Return the start of an error about a parameter, '' if it has no name."""
    if parameter:
        return f"{parameter}: "
    return ""


def choices(names: Iterable[object]) -> str:
    """Join `names` in their order for an error; of many, the first ones and the total."""
    texts = list(map(str, names))
    if len(texts) > _MOST_CHOICES:
        first_texts = ", ".join(texts[:_MOST_CHOICES])
        return f"{first_texts}, … ({len(texts)} in total)"
    return ", ".join(texts) or "none"


def known_names(names: Sequence[object], hint: str) -> str:
    """List known names for an error; of many, the first ones, or only their number.

    Parameters
    ----------
    names : sequence of object
        The known names.
    hint : str
        What `did_you_mean` suggests, which replaces a long list; empty for nothing.
    """
    all_names = choices(names)
    if len(all_names) <= _LONGEST:
        return all_names
    n_names = len(names)
    if hint:
        return f"{n_names} in total"
    texts = list(map(str, names))
    # The first name is listed even if it is too long.
    listed = texts[0]
    for n_listed in range(2, n_names + 1):
        longer = ", ".join(texts[:n_listed])
        if len(longer) > _LONGEST:
            break
        listed = longer
    if n_names == 1:
        return listed
    return f"{listed}, … ({n_names} in total)"


def join_names(names: Sequence[str]) -> str:
    """Join names in a sentence: 'a, b and c'."""
    *others, last = names
    if not others:
        return last
    before = ", ".join(others)
    return f"{before} and {last}"


def shown(value: object) -> str:
    """Return a short description of any input for an error message; of a frame, its columns."""
    # Python does not print integers of thousands of digits.
    if isinstance(value, int) and abs(value) > 10**30:
        return f"an integer of {value.bit_length()} bits"
    type_name = type(value).__name__
    columns = getattr(value, "columns", None)
    # Of frames; other objects with columns have no shape.
    if columns is not None and hasattr(value, "shape"):
        return f"a {type_name} with the columns {choices(columns)}"
    text = repr(value)
    # Such as arrays and Series.
    if "\n" in text and hasattr(value, "__len__"):
        return f"{type_name} of length {len(value)}"
    return cut(text)


def cut(text: str, limit: int = _LONGEST) -> str:
    """Truncate a text."""
    if len(text) <= limit:
        return text
    return f"{text[: limit - 1]}…"
