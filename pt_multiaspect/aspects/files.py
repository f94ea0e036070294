"""Files of declared aspects."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from .._numbers import read_json
from ..errors import MultiAspectError, refuse_unknown

#: The suffix of strings that are read as file names where aspects are expected.
FILE_ENDING = ".json"

#: The version of the files that `Aspects.to_file` writes.
FILE_VERSION = 1


def read_file(path: str | PathLike[str]) -> object:
    """Return the content of a JSON file of aspects."""
    try:
        return read_json(Path(path).expanduser().read_text(encoding="utf-8-sig"), "a file of aspects")
    except FileNotFoundError as error:
        raise MultiAspectError(
            f"no such file (a string that ends in {FILE_ENDING} is the name of a file of aspects, which "
            "Aspects.to_file writes; to select a column of that name, give a list of names)"
        ) from error
    except OSError as error:
        raise MultiAspectError(f"the file cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise MultiAspectError("expected a JSON file of aspects in UTF-8, got other bytes") from error


def scales_and_name(content: object) -> tuple[Mapping[str, Any], str | None]:
    """Return the scales in JSON, and the name of the set if there is one; the scales are not checked.

    Parameters
    ----------
    content : object
        A scale per aspect, or the output of `Aspects.to_file`, recognised by the keys version and aspects.
    """
    if not isinstance(content, Mapping):
        raise MultiAspectError(f"expected a JSON object with a scale per aspect, got {type(content).__name__}")
    marks = [key for key in ("version", "aspects") if key in content]
    if not marks:
        return content, None
    if len(marks) == 1:
        raise MultiAspectError(
            f"expected a scale per aspect, or the keys version and aspects, as Aspects.to_file writes them, got "
            f"the key {marks[0]} alone"
        )
    version = content["version"]
    if isinstance(version, bool) or version != FILE_VERSION:
        raise MultiAspectError(
            f"expected version {FILE_VERSION} of a file of aspects, got {version!r}; a newer pt_multiaspect may "
            "have written it"
        )
    refuse_unknown(content, ("version", "name", "aspects"), "keys")
    return content["aspects"], content.get("name")
