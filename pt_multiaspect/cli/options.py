"""Options that commands share, and parsing of command lines."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import click
import ir_measures
from click.shell_completion import CompletionItem

from ..bases.strings import measure_with_cutoff
from ..errors import MultiAspectError, choices
from ..evaluation.topics import TOPICS
from ..evaluation.value_files import FORMATS as VALUE_FORMATS
from ..integration.measure_lists import parse_list
from ..io.runs import run_files
from ..suites.catalogue import SUITES
from ..tables.systems import INTERVALS, NOTES
from .messages import OPTIONS, explain_mixed_directory, name_option
from .tables import SUFFIXES

#: The significance level.
ALPHA = 0.05

#: The corrections of --correction; 'none' is None in Python.
CORRECTIONS = ("holm", "bonferroni", "fdr_bh", "none")


#: The options with one file per aspect.
_QRELS, _HUMAN = "--qrels", "--human"

#: The argument for standard input.
STDIN = "-"


class Command(click.Command):
    """A command with options of several values, as in ``--qrels relevance=a.txt cost=b.txt``.

    These are --qrels, --human and -m. It does not overwrite its input, and its errors name options.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, where one --qrels, --human or -m may have several values."""
        is_completion = ctx.resilient_parsing
        try:
            if not is_completion:
                self._check_hyphens(args)
            unparsed = super().parse_args(ctx, insert_options(args))
        except click.UsageError as error:
            # The message names the command of the context.
            if error.ctx is None:
                error.ctx = ctx
            raise
        if not is_completion and self._takes_measures_after_runs():
            _move_measures_after_runs(ctx.params)
        return unparsed

    def _takes_measures_after_runs(self) -> bool:
        """Return whether the command has measures, and any number of runs."""
        params = {param.name: param for param in self.params}
        if "measures" not in params or "runs" not in params:
            return False
        any_number = -1  # of Click
        return params["runs"].nargs == any_number

    def _check_hyphens(self, args: list[str]) -> None:
        """Raise an error for ``-measure`` and ``suite:`` instead of ``--measure`` and ``--suite``.

        They would be read as ``-m easure`` and as a run.
        """
        options = {name for param in self.params for name in param.opts}
        for arg in args:
            # What follows is no option.
            if arg == "--":
                return
            # -measure or -measure=AP
            name, _, _ = arg.partition("=")
            with_two_hyphens = f"-{name}"
            if name.startswith("-") and with_two_hyphens in options:
                raise click.NoSuchOption(name)
            # suite: or suite:NAME, unless it is a file
            bare_name, colon, value = arg.partition(":")
            is_option = colon and f"--{bare_name}" in options
            if is_option and not os.path.exists(arg):
                raise click.UsageError(
                    f"--{bare_name}: expected a blank, got {arg!r}; write --{bare_name} {value}"
                )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, after checking that it does not overwrite its input."""
        self._check_outputs(ctx)
        try:
            return super().invoke(ctx)
        except MultiAspectError as error:
            message = self._error_for_shell(error, ctx)
            raise MultiAspectError(message) from error

    def _check_outputs(self, ctx: click.Context) -> None:
        """Raise an error if an output is also read, or if two outputs are the same file."""
        option_of_file: dict[Path, str] = {}
        for param in self.params:
            output = ctx.params[str(param.name)]
            if output is None or not isinstance(param.type, OutputFile | OutputDirectory):
                continue
            _check_not_read(ctx, param, param.type)
            option = _long_name(param)
            file = _resolve(output)
            if file in option_of_file:
                first = option_of_file[file]
                raise click.UsageError(
                    f"{first} and {option} are the same file, {output}; write two files", ctx
                )
            option_of_file[file] = option

    def _error_for_shell(self, error: MultiAspectError, ctx: click.Context) -> str:
        """Return the message of an error, with names of options instead of parameters."""
        own_options = {str(param.name) for param in self.params if isinstance(param, click.Option)}
        message = name_option(str(error), own_options | OPTIONS.keys())
        directories_of_runs = ctx.meta.get(DIRECTORIES, {})
        return explain_mixed_directory(message, directories_of_runs)


#: The key of the directories of runs, by file, in the context of a command.
DIRECTORIES = "pt_multiaspect.directories"


class OutputFile(click.Path):
    """A file to write, checked before anything is computed, and the formats of its suffixes."""

    def __init__(self, formats: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.formats = formats

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check that the file can be written."""
        if value == STDIN:
            self.fail("expected a file, got -; omit the option to print", param, ctx)
        path = Path(os.path.expanduser(value))
        if path.is_dir() or value.endswith(os.sep):
            self.fail(f"expected a file, got the directory {value}", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"there is no directory {path.parent}; create it first", param, ctx)
        # A new file requires permission to write in its directory.
        changed = path
        if not path.exists():
            changed = path.parent
        if not os.access(changed, os.W_OK):
            self.fail(f"no permission to write {value}; choose another file", param, ctx)
        return value


class OutputDirectory(click.Path):
    """A directory to write files to, created if it is new, and the name of one of the files."""

    def __init__(self, example: str) -> None:
        super().__init__(file_okay=False)
        self.example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse standard output."""
        if value == STDIN:
            self.fail("expected a directory, got -", param, ctx)
        return super().convert(value, param, ctx)


def _move_measures_after_runs(values: dict[str, Any]) -> None:
    """Move the measures at the end of the values of 'runs' to those of 'measures', in place."""
    runs = list(values["runs"])
    measures = []
    # From the last argument on, so that the measures are found in reverse order.
    while runs and _is_measure(runs[-1]):
        measures.append(runs.pop())
    measures.reverse()
    values["runs"] = tuple(runs)
    values["measures"] = (*values["measures"], *map(decode, measures))


def _check_not_read(
    ctx: click.Context, param: click.Parameter, kind: OutputFile | OutputDirectory
) -> None:
    """Raise an error if the output of `param` is a file that the command reads.

    With ``runs/*.run`` as runs, a new file ``runs/values.run`` is refused, too: it would be read as
    a run when the command is called again.
    """
    output = str(ctx.params[str(param.name)])
    # The file that is written: of a directory, one of several.
    written = output
    if isinstance(kind, OutputDirectory):
        written = os.path.join(output, kind.example)
    option = _long_name(param)
    input_paths = list(_input_paths(ctx))
    for _, path in input_paths:
        if _resolve(written) in _files(path):
            raise click.UsageError(
                f"{option}: {output} is read by this command; write another file", ctx
            )
    run_paths = [path for name, path in input_paths if name == "runs"]
    for path in run_paths:
        if not _is_beside(written, _files(path), path):
            continue
        if written == output:
            subject = f"{output} would be read as a run"
        else:
            subject = "the values would be read as runs"
        raise click.UsageError(f"{option}: {subject} of {path} the next time; write elsewhere", ctx)


def _input_paths(ctx: click.Context) -> Iterator[tuple[str, str]]:
    """Yield the paths that a command reads, each after the name of its option or argument."""
    for param in ctx.command.params:
        if _is_input(param):
            name = str(param.name)
            for path in _candidate_paths(ctx.params[name]):
                yield name, path


def _long_name(param: click.Parameter) -> str:
    """Return the long name of an option, such as --output of -o and --output."""
    return max(param.opts, key=len)


def _is_input(param: click.Parameter) -> bool:
    """Return whether the value of an option or argument is files to read."""
    if isinstance(param.type, OutputFile | OutputDirectory):
        return False
    return isinstance(param.type, click.Path)


def _candidate_paths(value: object) -> list[str]:
    """Return the paths that the value of an option may contain: each item, and PATH of NAME=PATH.

    The value is a tuple of items, one item, or None.
    """
    if value is None:
        return []
    if isinstance(value, tuple):
        items = value
    else:
        items = (value,)
    paths = []
    for item in items:
        text = str(item)
        paths.append(text)
        _, equals_sign, named_path = text.partition("=")
        if equals_sign:
            paths.append(named_path)
    return paths


def _resolve(path: str) -> Path:
    """Return the absolute path without links, which is the same for each spelling of a path."""
    return Path(os.path.realpath(os.path.expanduser(path)))


def path_exists(text: str) -> bool:
    """Return whether there is a file or directory of this path, which may begin with ~."""
    return os.path.exists(os.path.expanduser(text))


def _is_beside(written: str, files: set[Path], path: str) -> bool:
    """Return whether a new file would be among the files of a directory or pattern.

    Parameters
    ----------
    written : str
        The file to write.
    files : set of Path
        The present files of the directory or pattern.
    path : str
        The directory or pattern.
    """
    name = os.path.basename(written)
    # Directories and patterns of runs leave out hidden files.
    if name.startswith("."):
        return False
    pattern = os.path.basename(path)
    if os.path.isdir(path):
        pattern = "*"
    folders = {file.parent for file in files}
    folder = _resolve(os.path.dirname(written))
    return fnmatch(name, pattern) and folder in folders


def _files(path: str) -> set[Path]:
    """Return the files of a path, directory or pattern, which may be none."""
    if not path:
        return set()
    try:
        files = run_files(path)
    except MultiAspectError:
        return set()
    return {_resolve(file) for file in files}


def insert_options(args: list[str]) -> list[str]:
    """Return arguments in which each further value has its option: ``-m AP RR`` is ``-m AP -m RR``.

    Options of several values are those of `_IS_FURTHER_VALUE`.
    """
    result: list[str] = []
    remaining = deque(args)
    while remaining:
        arg = remaining.popleft()
        result.append(arg)
        if arg == "--":  # no options follow
            return [*result, *remaining]
        option, equals_sign, _ = arg.partition("=")
        if option not in _IS_FURTHER_VALUE:
            continue
        # The first value is part of the argument, as in -m=AP, or the next argument.
        is_value_next = not equals_sign and bool(remaining) and remaining[0] != "--"
        if is_value_next:
            result.append(remaining.popleft())
        while remaining and _is_value_of(option, remaining[0]):
            result += [option, remaining.popleft()]
    return result


def _is_value_of(option: str, argument: str) -> bool:
    """Return whether an argument after the values of an option is a further value of it."""
    if argument.startswith("-"):
        return False
    is_further_value = _IS_FURTHER_VALUE[option]
    return is_further_value(argument)


def looks_like_measure(text: str) -> bool:
    """Return whether an argument is a measure, even a misspelt one, rather than a file."""
    if path_exists(text):
        return False
    if _MEASURE_SYNTAX.fullmatch(text):
        return True
    if measure_with_cutoff(text) is not None:  # nDCG10, meant as nDCG@10
        return True
    return is_valid_measure(text)


#: What is written like a measure; its name may be unknown.
_MEASURE_SYNTAX = re.compile(
    r"""
    [\w.()=,]+@\d+                   # a cutoff: nDGC@10
    | (\w+=)? \w+ \(.*\) (@\d+)?     # parameters: CAM(base=AP), or with an alias: C=CAM(base=AP)@10
    | .+=(higher|lower)              # the direction of a label in a file of values: latency=lower
    """,
    re.VERBOSE,
)


def is_valid_measure(text: str) -> bool:
    """Return whether an argument can be read as a measure or a list of measures."""
    return _measure_error(text) is None


def _measure_error(text: str) -> str | None:
    """Return the error of reading an argument as measures, None if it can be read as such."""
    try:
        measures = parse_list([text])
    except MultiAspectError as error:
        return str(error)
    if measures:
        return None
    return "no measure"


def _is_measure(argument: str) -> bool:
    """Return whether an argument is a measure rather than a run, given as FILE or as NAME=FILE."""
    _, _, named_path = argument.partition("=")
    if path_exists(argument) or path_exists(named_path):
        return False
    return is_valid_measure(argument)


def explain_argument(argument: str) -> str:
    """Return what is wrong with an argument for runs that may be meant as a measure.

    The text is empty if the argument is surely a file.
    """
    if path_exists(argument):
        name = os.path.basename(argument)
        if not is_valid_measure(name):
            return ""
        return f"{argument} is read as a run, as there is such a file; write -m {name}"
    if argument == STDIN or _FILE_SYNTAX.search(argument):
        return ""
    error = _measure_error(argument)
    if error is not None:
        return f"there is no file {argument}, and as a measure it is invalid: {error}"
    return (
        f"no such file: {argument}, which is a measure; write it after -m, as in -m AP {argument}"
    )


#: What only files have in their names.
_FILE_SYNTAX = re.compile(
    r"""
    [/\\*?\[]      # a directory, or a pattern: runs/*.run
    | \.\w+$       # an extension: bm25.run
    """,
    re.VERBOSE,
)


def _names_aspects(argument: str) -> bool:
    """Return whether an argument is ASPECT=FILE, and not a measure that contains an equals sign."""
    _, equals_sign, path = argument.partition("=")
    if not equals_sign:
        return False
    if path_exists(path):
        return True
    return not looks_like_measure(argument)


#: Options with several values, and functions that return whether an argument is a further value.
_IS_FURTHER_VALUE: dict[str, Callable[[str], bool]] = {
    _QRELS: _names_aspects,
    _HUMAN: _names_aspects,
    "-m": looks_like_measure,
    "--measure": looks_like_measure,
}


def complete_measure(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the measures whose names begin with the given text."""
    names = sorted(ir_measures.measures.registry)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _complete_suite(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the suites whose names begin with the given text."""
    return [CompletionItem(name) for name in SUITES if name.startswith(incomplete)]


@dataclass(frozen=True)
class Requested:
    """The requested measures: as texts, as a suite, or both."""

    texts: tuple[str, ...]
    suite: str | None = None

    def __bool__(self) -> bool:
        return bool(self.texts) or self.suite is not None


def decode(argument: str) -> str:
    """Return an argument that is not a path as UTF-8 text, whatever the locale."""
    # Python has decoded the argument by the locale. First, restore its bytes.
    try:
        argument_bytes = os.fsencode(argument)
    except UnicodeEncodeError:
        # The text is not from the shell, but from a call of `main`.
        return argument
    try:
        return argument_bytes.decode("utf-8")
    except UnicodeDecodeError:
        raise MultiAspectError(f"expected UTF-8, got {argument!a}") from None


class _Text(click.types.StringParamType):
    """A text that is not a path."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Decode the argument."""
        try:
            return decode(str(value))
        except MultiAspectError as error:
            self.fail(str(error), param, ctx)


def refuse_together(options: Mapping[str, bool], others: Mapping[str, bool], message: str) -> None:
    """Raise an error if one of the options is given together with one of the others.

    Parameters
    ----------
    options, others : mapping of str to bool
        Whether each option is given.
    message : str
        The error, with places for the first option and the first of the others that are given.
    """
    given_options = [name for name, is_given in options.items() if is_given]
    given_others = [name for name, is_given in others.items() if is_given]
    if given_options and given_others:
        raise MultiAspectError(message.format(given_options[0], given_others[0]))


def refuse_without(options: Mapping[str, bool], required: str, *, is_given: bool) -> None:
    """Raise an error if one of the options is given without the option that it requires.

    Parameters
    ----------
    options : mapping of str to bool
        Whether each option is given.
    required : str
        The required option, as in ``--by FILE``.
    is_given : bool
        Whether the required option is given.
    """
    if is_given:
        return
    for option, option_is_given in options.items():
        if option_is_given:
            raise MultiAspectError(f"{option} requires {required}")


def option(*names: str, **settings: Any) -> click.Option:
    """Return an option with the parameters of `click.Option`; its value is text by default.

    Flags have no text, and Click takes the type of other options from their default, if any.
    """
    is_flag = settings.get("is_flag", False)
    has_default = "default" in settings
    if not is_flag and not has_default:
        settings = {"type": _Text(), **settings}
    return click.Option(names, **settings)


def file_option(
    *names: str, dir_okay: bool = True, metavar: str = "FILE", **settings: Any
) -> click.Option:
    """Return an option whose value is a file or, unless `dir_okay` is False, a directory."""
    return option(*names, metavar=metavar, type=click.Path(dir_okay=dir_okay), **settings)


def output(formats: Mapping[str, str], help: str, **settings: Any) -> click.Option:
    """Return the option --output, where the suffix of the file sets the format."""
    return option("-o", "--output", metavar="FILE", type=OutputFile(formats), help=help, **settings)


def measure_option(help: str, name: str = "measures") -> click.Option:
    """Return the option -m, which has several values."""
    settings = {"multiple": True, "metavar": "MEASURE...", "shell_complete": complete_measure}
    return option("-m", "--measure", name, help=help, **settings)


def _measures() -> tuple[click.Option, ...]:
    """Return new options -m and --suite."""
    measures = measure_option(
        "One or more measures, as in -m nDCG@10 TOMA@10; ALIAS=MEASURE sets the column head."
    )
    named_suite = option(
        "--suite",
        metavar="NAME",
        shell_complete=_complete_suite,
        help="The measures of a track or for a paper ('pt-multiaspect measures --suites' lists "
        "them); with -m ALIAS, some of them.",
    )
    return (measures, named_suite)


def _files_by_aspect(*names: str, help: str) -> click.Option:
    """Return an option with one file per aspect."""
    return file_option(*names, multiple=True, metavar="ASPECT=FILE...", help=help)


#: The qrels, which commands of several runs also accept as their first argument.
QRELS = _files_by_aspect(
    _QRELS,
    help="The qrels of each aspect. Default: the first argument is a qrels file of relevance.",
)
QRELS_ONLY = _files_by_aspect(_QRELS, help="The qrels of each aspect.")
#: Part of every command that reads qrels.
CHECK = option(
    "--no-check", is_flag=True, help="Accept qrels files of aspects that judge different documents."
)
HUMAN = _files_by_aspect(
    _HUMAN,
    help="Human judgments of at least 4 topics, drawn at random, if --qrels are those of a model: "
    "show prediction-powered estimates.",
)
MEASURES, OPTIONAL_MEASURES = _measures(), _measures()
STANCES = file_option(
    "--stances",
    dir_okay=False,
    help="The stance or answer of each topic of a TREC Health Misinformation track, which the "
    "aspect correctness requires: the query id, a blank, and the stance per line.",
)
TOPIC_TEXTS = file_option(
    "--topics",
    dir_okay=False,
    help="The texts of the topics, to show them: the query id, a tab and the text per line, or "
    "topics of TREC.",
)
ASPECTS = file_option(
    "--aspects",
    metavar="FILE|JSON",
    help="The label scales of the aspects, for all measures that declare none.",
)
#: Only for judged answers.
UNJUDGED = option(
    "--unjudged",
    multiple=True,
    metavar="CODE",
    help="A label of any criterion that means that there is none, such as N/A or -1. May be "
    "repeated.",
)
VALUES = file_option(
    "--values",
    "values_file",
    metavar="[FORMAT=]FILE",
    help="Values per query instead of qrels and runs: a table that evaluate -q has written, or "
    "lines with a FORMAT "
    f"({choices(VALUE_FORMATS)}). -m names the measures in it; -m ALIAS=lower says that lower is "
    "better.",
)
AVERAGE_OVER = option(
    "--average-over",
    type=click.Choice(TOPICS),
    help="The topics of means: all judged ones, or those with a positive document. Default: as "
    "the suite has it, else judged.",
)
#: What commands that evaluate all runs require besides qrels and runs.
EVALUATION = (*MEASURES, STANCES, ASPECTS, AVERAGE_OVER)
BY = option(
    "--by",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),  # a text may be the name of a column
    help="Groups of topics: the query id, a blank or tab, and the name of the group per line.",
)
CLUSTER = option(
    "--cluster",
    metavar="FILE|PATTERN",
    help="Topics that were drawn together, such as turns of a conversation: a file as for --by, "
    "or a regular "
    r"expression of the whole query id with one group, as in '(\d+)_.*'; qid if topics are "
    r"independent.",
)
INTERVAL = option(
    "--interval",
    type=click.Choice(INTERVALS),
    default=INTERVALS[0],
    help="Show 95 % confidence intervals: of the means, or of their differences from --baseline. "
    "Default: none.",
)
NOTES_BELOW = option(
    "--notes",
    type=click.Choice(NOTES),
    default=NOTES[0],
    help="The notes below a table: on its marks, or full, which also define the measures. "
    "Default: short.",
)
MACRO = option(
    "--macro",
    is_flag=True,
    help="With --by, also show means over the groups, which count equally, such as several "
    "collections.",
)
MARGIN = option(
    "--margin",
    multiple=True,
    metavar="NUMBER",
    help="The difference from --baseline that is too small to matter, or MEASURE=NUMBER per "
    "measure: mark runs that are not worse by as much (‡), and equivalent ones (≈).",
)
#: The file of commands that return a table.
OUTPUT = output(SUFFIXES, f"Write to a file, in the format of its suffix: {choices(SUFFIXES)}.")
RUNS = click.Argument(
    ["runs"], nargs=-1, required=True, metavar="RUN... [MEASURE...]", type=click.Path()
)
OPTIONAL_RUNS = click.Argument(
    ["runs"], nargs=-1, metavar="[RUN...] [MEASURE...]", type=click.Path()
)
RUN = click.Argument(
    ["runs"], metavar="RUN", type=click.Path(), callback=lambda ctx, param, value: (value,)
)
