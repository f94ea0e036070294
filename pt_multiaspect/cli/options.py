"""Options that commands share, and parsing of command lines."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import takewhile
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
        try:
            if not ctx.resilient_parsing:  # as for completion
                self._check_hyphens(args)
            rest = super().parse_args(ctx, insert_options(args))
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise
        params = {param.name: param for param in self.params}
        if (
            not ctx.resilient_parsing
            and "measures" in params
            and "runs" in params
            and params["runs"].nargs == -1
        ):
            runs = ctx.params["runs"]
            end = len(runs) - len(list(takewhile(_is_measure, reversed(runs))))
            ctx.params |= {
                "runs": runs[:end],
                "measures": (*ctx.params["measures"], *map(decode, runs[end:])),
            }
        return rest

    def _check_hyphens(self, args: list[str]) -> None:
        """Raise an error for ``-measure`` and ``suite:``, which would be read as ``-m easure`` and as a run."""
        options = {name for param in self.params for name in param.opts}
        for arg in args:
            if arg == "--":
                return
            name = arg.partition("=")[0]
            if len(name) > 2 and f"-{name}" in options:
                raise click.NoSuchOption(name)
            option, is_colon, value = arg.partition(":")
            if is_colon and f"--{option}" in options and not os.path.exists(arg):
                raise click.UsageError(
                    f"--{option}: expected a blank, got {arg!r}; write --{option} {value}"
                )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, after checking that it does not overwrite its input."""
        outputs: dict[Path, str] = {}
        for param in self.params:
            kind, output = param.type, ctx.params[str(param.name)]
            if not isinstance(kind, OutputFile | OutputDirectory) or output is None:
                continue
            _check_not_read(ctx, param, kind)
            title = max(param.opts, key=len)
            other = outputs.setdefault(_resolve(output), title)
            if other != title:
                raise click.UsageError(
                    f"{other} and {title} are the same file, {output}; write two files", ctx
                )
        try:
            return super().invoke(ctx)
        except MultiAspectError as error:
            names = {str(param.name) for param in self.params if isinstance(param, click.Option)}
            message = name_option(str(error), names | OPTIONS.keys())
            raise MultiAspectError(
                explain_mixed_directory(message, ctx.meta.get(DIRECTORIES, {}))
            ) from error


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
        if path.is_dir():
            self.fail(f"expected a file, got the directory {value}", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"there is no directory {path.parent}; create it first", param, ctx)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            self.fail(f"no permission to write {value}; choose another file", param, ctx)
        return value


class OutputDirectory(click.Path):
    """A directory to write files to, created if it does not exist, and the name of one of these files."""

    def __init__(self, example: str) -> None:
        super().__init__(file_okay=False)
        self.example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse standard output."""
        if value == STDIN:
            self.fail("expected a directory, got -", param, ctx)
        return super().convert(value, param, ctx)


def _check_not_read(
    ctx: click.Context, param: click.Parameter, kind: OutputFile | OutputDirectory
) -> None:
    """Raise an error if the output is a file that this command reads, now or the next time."""
    output = str(ctx.params[str(param.name)])
    if isinstance(kind, OutputFile):
        written = output
    else:
        written = os.path.join(output, kind.example)
    title = max(param.opts, key=len)
    for read in ctx.command.params:
        if not isinstance(read.type, click.Path) or isinstance(
            read.type, OutputFile | OutputDirectory
        ):
            continue
        values = ctx.params[str(read.name)] or ()
        for item in map(str, values if isinstance(values, tuple) else [values]):
            for path in (item, item.partition("=")[2]):
                files = _files(path)
                if _resolve(written) in files:
                    raise click.UsageError(
                        f"{title}: {output} is read by this command; write another file", ctx
                    )
                if read.name == "runs" and _is_beside(written, files, path):
                    if written == output:
                        subject = f"{output} would be read as a run"
                    else:
                        subject = "the values would be read as runs"
                    raise click.UsageError(
                        f"{title}: {subject} of {path} the next time; write elsewhere", ctx
                    )


def _resolve(path: str) -> Path:
    return Path(os.path.realpath(os.path.expanduser(path)))


def _is_beside(written: str, files: set[Path], path: str) -> bool:
    """Return whether a file would be among the `files` of a pattern or directory."""
    name, pattern = (
        os.path.basename(written),
        "*" if os.path.isdir(path) else os.path.basename(path),
    )
    is_match = name[0] != "." and fnmatch(name, pattern)
    return is_match and _resolve(os.path.dirname(written)) in {file.parent for file in files}


def _files(path: str) -> set[Path]:
    """Return the files of a path, directory or pattern, which may be none."""
    try:
        if path:
            return {_resolve(file) for file in run_files(path)}
        return set()
    except MultiAspectError:
        return set()


def insert_options(args: list[str]) -> list[str]:
    """Insert the option of several values before each further value: ASPECT=FILE, or a measure."""
    result: list[str] = []
    following: tuple[str, Callable[[str], bool]] | None = None
    awaits_value = False
    for position, arg in enumerate(args):
        if arg == "--":
            return [*result, *args[position:]]
        if awaits_value:
            awaits_value = False
        elif (several := _SEVERAL.get(arg.partition("=")[0])) is not None and arg.startswith("-"):
            following, awaits_value = (arg.partition("=")[0], several), "=" not in arg
        elif following is not None and not arg.startswith("-") and following[1](arg):
            result.append(following[0])
        else:
            following = None
        result.append(arg)
    return result


def looks_like_measure(text: str) -> bool:
    """Return whether an argument is a measure rather than a file."""
    if os.path.exists(os.path.expanduser(text)):
        return False
    # With a cutoff or parameters, it is probably a misspelt measure; files of values have labels
    # with a direction.
    is_written_so = (
        re.fullmatch(r"[\w.()=,]+@\d+|(\w+=)?\w+\(.*\)(@\d+)?|.+=(higher|lower)", text) is not None
    )
    return is_written_so or measure_with_cutoff(text) is not None or not measure_error(text)


def measure_error(text: str) -> str:
    """Return the error of an argument that is not a measure, empty if it is one."""
    try:
        return "" if parse_list([text]) else "no measure"
    except MultiAspectError as error:
        return str(error)


def _is_measure(argument: str) -> bool:
    """Return whether the last argument is a measure; there is neither such a file nor a run with a name."""
    files = (argument, argument.partition("=")[2])
    return not any(
        os.path.exists(os.path.expanduser(file)) for file in files if file
    ) and not measure_error(argument)


def explain_argument(argument: str) -> str:
    """Return what is wrong with an argument for runs that may be meant as a measure, empty for surely a file."""
    if os.path.exists(os.path.expanduser(argument)):
        name = os.path.basename(argument)
        if measure_error(name):
            return ""
        return f"{argument} is read as a run, as there is such a file; write -m {name}"
    if argument == STDIN or re.search(r"[/\\*?\[]|\.\w+$", argument):
        return ""
    if error := measure_error(argument):
        return f"there is no file {argument}, and as a measure it is invalid: {error}"
    return (
        f"no such file: {argument}, which is a measure; write it after -m, as in -m AP {argument}"
    )


def _names_aspects(argument: str) -> bool:
    """Return whether an argument is ASPECT=FILE, and not a measure that contains an equals sign."""
    _, separator, path = argument.partition("=")
    if not separator:
        return False
    return os.path.exists(os.path.expanduser(path)) or not looks_like_measure(argument)


#: Options with several values, and functions that tell whether an argument is a further value.
_SEVERAL: dict[str, Callable[[str], bool]] = {
    **dict.fromkeys((_QRELS, _HUMAN), _names_aspects),
    **dict.fromkeys(("-m", "--measure"), looks_like_measure),
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
    return [CompletionItem(name) for name in SUITES if name.startswith(incomplete)]


@dataclass(frozen=True)
class Requested:
    """The requested measures: as texts, as a suite, or both."""

    texts: tuple[str, ...]
    suite: str | None = None

    def __bool__(self) -> bool:
        return bool(self.texts) or self.suite is not None


def decode(argument: str) -> str:
    """Return an argument that is not a path, which is UTF-8 in any locale; Python decodes it by the locale."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeDecodeError:
        raise MultiAspectError(f"expected UTF-8, got {argument!a}") from None
    except UnicodeEncodeError:  # not an argument of the process
        return argument


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
    first, second = (
        [name for name, is_given in group.items() if is_given] for group in (options, others)
    )
    if first and second:
        raise MultiAspectError(message.format(first[0], second[0]))


def option(*names: str, **settings: Any) -> click.Option:
    """Return an option, whose value is text by default. The parameters are those of `click.Option`."""
    if not settings.get("is_flag") and "default" not in settings:
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
    return (
        measure_option(
            "One or more measures, as in -m nDCG@10 TOMA@10; ALIAS=MEASURE sets the column head."
        ),
        option(
            "--suite",
            metavar="NAME",
            shell_complete=_complete_suite,
            help="The measures of a track or for a paper ('pt-multiaspect measures --suites' lists them); with -m "
            "ALIAS, some of them.",
        ),
    )


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
    help="Human judgments of at least 4 topics, drawn at random, if --qrels are those of a model: show "
    "prediction-powered estimates.",
)
MEASURES, OPTIONAL_MEASURES = _measures(), _measures()
STANCES = file_option(
    "--stances",
    dir_okay=False,
    help="The stance or answer of each topic of a TREC Health Misinformation track, which the aspect correctness "
    "requires: the query id, a blank, and the stance per line.",
)
TOPIC_TEXTS = file_option(
    "--topics",
    dir_okay=False,
    help="The texts of the topics, to show them: the query id, a tab and the text per line, or topics of TREC.",
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
    help="A label of any criterion that means that there is none, such as N/A or -1. May be repeated.",
)
VALUES = file_option(
    "--values",
    "values_file",
    metavar="[FORMAT=]FILE",
    help="Values per query instead of qrels and runs: a table that evaluate -q has written, or lines with a FORMAT "
    f"({choices(VALUE_FORMATS)}). -m names the measures in it; -m ALIAS=lower says that lower is "
    "better.",
)
AVERAGE_OVER = option(
    "--average-over",
    type=click.Choice(TOPICS),
    help="The topics of means: all judged ones, or those with a positive document. Default: as the suite has it, "
    "else judged.",
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
    help="Topics that were drawn together, such as turns of a conversation: a file as for --by, or a regular "
    r"expression of the whole query id with one group, as in '(\d+)_.*'; qid if topics are "
    r"independent.",
)
INTERVAL = option(
    "--interval",
    type=click.Choice(INTERVALS),
    default=INTERVALS[0],
    help="Show 95 % confidence intervals: of the means, or of their differences from --baseline. Default: none.",
)
NOTES_BELOW = option(
    "--notes",
    type=click.Choice(NOTES),
    default=NOTES[0],
    help="The notes below a table: on its marks, or full, which also define the measures. Default: short.",
)
MACRO = option(
    "--macro",
    is_flag=True,
    help="With --by, also show means over the groups, which count equally, such as several collections.",
)
MARGIN = option(
    "--margin",
    multiple=True,
    metavar="NUMBER",
    help="The difference from --baseline that is too small to matter, or MEASURE=NUMBER per measure: mark runs "
    "that are not worse by as much (‡), and equivalent ones (≈).",
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
