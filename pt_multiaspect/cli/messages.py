"""Messages of the command line: errors in arguments, and the options that other errors name."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping

import click

from ..errors import choices, did_you_mean, parameter
from ..views import printable
from .summaries import NAME

#: The options of parameters with another name, for messages of the package.
OPTIONS = {
    "check": "--no-check",
    "measure": "-m",
    "measures": "-m",
    "model": "--qrels",
    "qid": "--query",
}


def tell(message: str) -> None:
    """Print a message to standard error."""
    print(f"{NAME}: {printable(message)}", file=sys.stderr)


def tell_written(file: str) -> None:
    """Tell that a file was written."""
    tell(f"wrote {file}")


def name_option(message: str, parameters: Collection[str]) -> str:
    """Return an error that begins with one of these parameters, with its option instead."""
    title, colon, rest = message.partition(": ")
    if colon and title in parameters:
        return f"{parameter(title)}: {rest}"
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
    mixed = next(
        (directory for file, directory in directories.items() if f": {file}:" in message), None
    )
    if mixed is None:
        return message
    return f"{message}. If {mixed} also contains other files, give a pattern in quotes, such as '{mixed}/*.run'"


def usage_message(error: click.UsageError) -> str:
    """Return the message of an error in the arguments, which is the same for all versions of Click."""
    if error.ctx is None:
        command = None
    else:
        command = error.ctx.command
    if isinstance(error, click.NoSuchOption):
        if command is not None:
            known = [option for param in command.params for option in param.opts]
        else:
            known = []
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
    if (
        unknown is not None
        and error.param is not None
        and isinstance(error.param.type, click.Choice)
    ):
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
    if param.name in ("run", "runs"):
        return "RUN"
    return param.metavar or str(param.name).upper()
