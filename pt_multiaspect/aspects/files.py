"""Files of declared aspects: their version and content."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from .._numbers import read_json
from ..errors import MultiAspectError, choices

#: Ending of strings that are read as file names where aspects are expected.
FILE_ENDING = ".json"

#: The version of the files that `Aspects.to_file` writes.
FILE_VERSION = 1


def file_content(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the content of a file of aspects, whose keys are checked but not its scales."""
    try:
        content = read_json(Path(path).expanduser().read_text(encoding="utf-8-sig"), "a file of aspects")
    except FileNotFoundError as error:
        raise MultiAspectError(
            f"no such file (a string that ends in {FILE_ENDING} is the name of a file of aspects, which "
            "Aspects.to_file writes; to select a column of that name, give a list of names)"
        ) from error
    except OSError as error:
        raise MultiAspectError(f"the file cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise MultiAspectError("expected a JSON file of aspects in UTF-8, got other bytes") from error
    if not isinstance(content, dict) or "version" not in content or "aspects" not in content:
        found = choices(content) if isinstance(content, dict) else type(content).__name__
        raise MultiAspectError(
            f"expected a JSON object with the keys version and aspects, as Aspects.to_file writes it, got {found}"
        )
    version = content["version"]
    if isinstance(version, bool) or version != FILE_VERSION:
        raise MultiAspectError(
            f"expected version {FILE_VERSION} of a file of aspects, got {version!r}; a newer pt_multiaspect may "
            "have written it"
        )
    unknown = [key for key in content if key not in ("version", "name", "aspects")]
    if unknown:
        raise MultiAspectError(
            f"expected the keys version, name and aspects, got the unknown key {choices(unknown)}"
        )
    return content
