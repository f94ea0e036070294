"""Messages of the command line: errors in arguments, and the options that other errors name."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping, Sequence

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
    """Return the message of an error; if it begins with a parameter, with its option instead.

    Of ``measures: expected …``, this is ``-m: expected …``. `parameters` are the names of those
    that have an option.
    """
    name, colon, text = message.partition(": ")
    if colon and name in parameters:
        option = parameter(name)  # as the shell names it
        return f"{option}: {text}"
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
    for file, directory in directories.items():
        is_about_file = f": {file}:" in message
        if is_about_file:
            return (
                f"{message}. If {directory} also contains other files, give a pattern in quotes, "
                f"such as '{directory}/*.run'"
            )
    return message


def usage_message(error: click.UsageError) -> str:
    """Return the message of an error in the arguments, the same for all versions of Click."""
    if isinstance(error, click.NoSuchOption):
        return _unknown_option(error)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        remedy = _REMEDIES.get(str(error.param.name), "")
        return f"missing {_title(error.param)}{remedy}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{_title(error.param)}: {_reason(error)}"
    text = error.format_message().rstrip(".")
    unexpected = re.fullmatch(r"Got unexpected extra arguments? \((?P<arguments>.*)\)", text)
    if unexpected is not None:
        arguments = unexpected["arguments"]
        return f"unexpected argument {arguments}"
    first_letter = text[:1].lower()
    return first_letter + text[1:]


def _unknown_option(error: click.NoSuchOption) -> str:
    """Return the message for an option that the command does not have, with a similar one."""
    known: list[str] = []
    if error.ctx is not None:
        for param in error.ctx.command.params:
            known += param.opts
    hint = did_you_mean([error.option_name], known)
    return f"no such option {error.option_name}{hint}"


def _reason(error: click.BadParameter) -> str:
    """Return what is wrong with a value, without the option."""
    unknown = re.match(r"'(?P<value>.*?)' is not one of ", error.message)
    if unknown is not None:
        known = _choices_of(error.param)
        if known:
            value = unknown["value"]
            hint = did_you_mean([value], known)
            return f"expected one of {choices(known)}, got {value!r}{hint}"
    no_number = re.match(r"(?P<value>'.*') is not a valid (?P<type>integer|float)", error.message)
    if no_number is not None:
        value = no_number["value"]
        if no_number["type"] == "integer":
            return f"expected a whole number, got {value}"
        return f"expected a number, got {value}"
    return error.message.rstrip(".")


def _choices_of(param: click.Parameter | None) -> Sequence[str]:
    """Return the values that an option or argument accepts; none if it accepts others."""
    if param is not None and isinstance(param.type, click.Choice):
        return param.type.choices
    return ()


#: Remedies for missing parameters.
_REMEDIES = {
    "qrels": ": give ASPECT=FILE for each aspect, as in --qrels relevance=qrels.txt "
    "credibility=qcred.txt",
    "runs": ": give run files, directories, or patterns in quotes",
    "qid": ": give the id of a query",
    "output": ": give the file to write",
    "kind": ": give the kind of figure",
    "values_file": ": give a file of values, such as 'pt-multiaspect evaluate -q -o values.csv' "
    "writes",
}


def _title(param: click.Parameter) -> str:
    """Return the long name of an option, or the metavar of an argument."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    if param.name in ("run", "runs"):
        return "RUN"
    return param.metavar or str(param.name).upper()
