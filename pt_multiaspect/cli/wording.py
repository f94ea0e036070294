"""Messages in the words of the command line: options instead of Python arguments."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

import click

from ..errors import choices, did_you_mean
from ..views import printable
from .summaries import NAME

#: Parts of messages for Python, and their replacements on the command line.
WORDS = {
    "Declare them to get comparable values on other qrels, batches or folds, as in ": "Declare them with --aspects "
    "FILE ('pt-multiaspect describe --write-aspects FILE' writes them) to get comparable values on other qrels, or "
    "in the measure, as in ",
    "Declare them with aspects= to": "Declare them with --aspects FILE to",
    "'not judged', Aspect(unjudged=[…]), only": "'not judged', \"unjudged\": […] in --aspects FILE, only",
    "select other columns, as in aspects=['relevance', …]": "leave its file out of --qrels",
    "Leave it out with aspects=": "Leave its file out of --qrels",
    "or read them anyway with check=False": "or read them anyway with --no-check",
    "or disable the check with check=False": "or disable the check with --no-check",
    "pass dict(suite) to evaluate its measures": "add --average-over judged to evaluate its measures",
    "; pass measures={label: measure}": "; say so by -m LABEL=higher, LABEL=lower or LABEL=MEASURE",
    "that ci= or over= adds": "that --ci adds",
    "name those of the aspects by measures=[...]": "name those of the aspects by -m",
    "omit ci=": "omit --ci",
    "choose one by subset= and split=": "choose one by --subset and --split",
    "drop_identical_ids=True of read_run drops": "--drop-identical-ids drops",
    "drop_identical_ids=False keeps": "--keep-identical-ids keeps",
    "read lines with their format=": "give lines with their format, as in tot=FILE",
    "; register a function with register_distance(name), or pass an Order, its name or "
    "Order.from_distance(aspects, function) as order=": ", as in 'TOMA(distance=manhattan)'",
    "columns of one file by aspects=[…]": "columns of one file, as in --qrels relevance,credibility=FILE",
    " of human in model, which has": " of --human in --qrels, which have",
    "Are human and model swapped": "Are --human and --qrels swapped",
    "evaluate with gate=, so that nothing is missing; otherwise, pass judgments of a model as labels=": "evaluate "
    "the measure with gate=, so that nothing is missing; otherwise, give judgments of a model with --labels",
    "looks like qrels, not a run": "looks like qrels, not a run: write --qrels ASPECT=FILE for each aspect",
    "this looks like a run, not qrels": "this looks like a run, not qrels: give runs after the other options, and "
    "qrels as --qrels ASPECT=FILE",
}

#: The same for messages that differ from case to case, as regular expressions.
PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in {
        r"suite\('([\w-]+)'\) requires aspects=.*": r"the suite \1 requires the label scales: add --aspects FILE, "
        r"which 'pt-multiaspect describe --write-aspects FILE' writes",
        r"suite\('([\w-]+)'\) takes no aspects.*; omit it": r"the suite \1 declares its own label scales: omit "
        r"--aspects",
        r"suite\('([\w-]+)'\): ": r"the suite \1: ",
        # The columns of frames, and sets of aspects declared in Python, have no meaning here.
        r"(the qrels have no column for the aspect .*); expected aspects among ([^(]*) \(columns: .*?\)": r"\1; "
        r"expected aspects among \2, or a further --qrels ASPECT=FILE",
        r"declare Aspect\(unjudged=(\[[^\]]*\])\)": r'declare "unjudged": \1 in --aspects FILE',
        r"Declare the lowest positive grade, as in Aspect\(.*\)$": "Declare the lowest positive grade in --aspects "
        'FILE, as "threshold"',
        r"([Ss])elect the aspects, as in aspects=\[[^\]]*\]": r"\1elect the aspects by their files in --qrels",
        r"declare the grades$": "declare the grades in --aspects FILE",
        r"declare grades, as in aspects=\{.*?\]\}": "declare grades with --aspects FILE ('pt-multiaspect describe "
        "--answers JUDGED --write-aspects FILE' proposes them)",
        r"(expected one JSON object, got \d+ values)$": r"\1; 'pt-multiaspect answers' and 'describe --answers' "
        "read judged answers in JSON Lines",
        r"^(argue_scores|from_criteria|nugget_scores|rubric_scores): ": "",
        r"^n_resamples: expected at least (\d+) \(1 / alpha\) for alpha=([\d.e-]+), got (\d+)": r"--alpha: a level "
        r"of \2 requires at least \1 resamples, but \3 are drawn; use a higher level, or --test t",
        r"\baverage_over='(\w+)'": r"--average-over \1",
        r"\b(strategy|test|correction|method)='(\w+)'": r"--\1 \2",
        r"^(documents|trials|seed|base|format \w+|variants|labels): ": r"--\1: ",
        r"^qid: ": "--query: ",
        r"^aspects: ": "",
        r"^at_least: ": "--at-least: ",
        r"^measure: ": "-m: ",
        r"^by: ": "--by: ",
    }.items()
)


def tell(message: str) -> None:
    """Print a message to standard error."""
    print(f"{NAME}: {printable(message)}", file=sys.stderr)


def reword(message: str) -> str:
    """Return a message of the package with options instead of Python arguments.

    It is applied once to each message, where errors and warnings leave the package.

    Parameters
    ----------
    message : str
        The message of an error or a warning.

    Returns
    -------
    str
        The message; unchanged if it names no Python argument that is known here.
    """
    for python, words in WORDS.items():
        message = message.replace(python, words)
    for pattern, words in PATTERNS:
        message = pattern.sub(words, message)
    return message


def explain_mixed_directory(message: str, directories: Mapping[str, str]) -> str:
    """Add how to leave a file out to a message about a file in a directory of runs.

    Parameters
    ----------
    message : str
        The message of an error.
    directories : mapping of str to str
        The directory as it was given, by the file.

    Returns
    -------
    str
        The message with its remedy.
    """
    mixed = next((directory for file, directory in directories.items() if f": {file}:" in message), None)
    if mixed is None:
        return message
    return f"{message}. If {mixed} also contains other files, give a pattern in quotes, such as '{mixed}/*.run'"


def usage_message(error: click.UsageError) -> str:
    """Return the message of an error in the arguments, which is the same for all versions of Click."""
    command = None if error.ctx is None else error.ctx.command
    if isinstance(error, click.NoSuchOption):
        known = [option for param in command.params for option in param.opts] if command is not None else []
        return f"no such option {error.option_name}{did_you_mean([error.option_name], known)}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"missing {_title(error.param)}{_REMEDIES.get(str(error.param.name), '')}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{_title(error.param)}: {_reason(error)}"
    text = error.format_message().rstrip(".")
    extra = re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", text)
    if extra is not None:
        return f"unexpected argument {extra[1]}"
    return f"{text[:1].lower()}{text[1:]}"


def _reason(error: click.BadParameter) -> str:
    """Return the message of an error in a value."""
    unknown = re.match(r"'(.*?)' is not one of ", error.message)
    if unknown is not None and error.param is not None and isinstance(error.param.type, click.Choice):
        known = error.param.type.choices
        return f"expected one of {choices(known)}, got {unknown[1]!r}{did_you_mean([unknown[1]], known)}"
    no_number = re.match(r"('.*') is not a valid (integer|float)", error.message)
    if no_number is not None:
        return f"expected {'a whole number' if no_number[2] == 'integer' else 'a number'}, got {no_number[1]}"
    return error.message.rstrip(".")


#: Remedies for missing parameters.
_REMEDIES = {
    "qrels": ": give ASPECT=FILE for each aspect, as in --qrels relevance=qrels.txt credibility=qcred.txt",
    "runs": ": give run files, directories, or patterns in quotes",
    "qid": ": give the id of a query",
    "output": ": give the file to write",
    "kind": ": give the kind of figure",
    "values_file": ": give a file of values, such as 'pt-multiaspect evaluate -q -o values.csv' writes",
}


def _title(param: click.Parameter) -> str:
    """Return the long name of an option, or the metavar of an argument."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return "RUN" if param.name in ("run", "runs") else param.metavar or str(param.name).upper()
