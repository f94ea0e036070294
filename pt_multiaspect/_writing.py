"""Atomic writing of files."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path

from .errors import warn

#: Error numbers of directories in which files cannot be created or renamed.
_FIXED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)


def write_file(path: str | PathLike[str], content: str | bytes) -> None:
    """Write a file; if an error occurs, an earlier file remains unchanged.

    The content is written to a temporary file, which then replaces the earlier one. A file that a
    symbolic link points to is replaced, and the link is kept. The permissions are those of the
    earlier file. Pipes, devices and open files are written in place; so are files in directories
    without write permission, after a warning.

    Parameters
    ----------
    path : str or path
        The file; ``~`` is the home directory.
    content : str or bytes
        The content; strings are written in UTF-8.

    Raises
    ------
    OSError
        If the file cannot be written; the error has its name.

    Warns
    -----
    MultiAspectWarning
        If an earlier file cannot be replaced, so that an error while it is written would destroy
        it.
    """
    # File names that are not UTF-8 are kept as they are.
    if isinstance(content, str):
        data = content.encode("utf-8", "surrogateescape")
    else:
        data = content
    file = Path(os.path.expanduser(path))
    try:
        try:
            earlier: os.stat_result | None = file.stat()
        except FileNotFoundError:
            earlier = None
        if earlier is not None and is_special(path):
            file.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(file)), data, earlier)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


def is_special(path: str | PathLike[str]) -> bool:
    """Return whether an existing file is a pipe, a device or an open file.

    No temporary file can replace these. Regular files in /dev/shm are none of these.
    """
    file = Path(os.path.expanduser(path))
    is_regular = stat.S_ISREG(file.stat().st_mode)
    if not is_regular:
        return True
    # A regular file is open if its path leads through a folder of open files. So does /dev/stdout
    # if the output is redirected to a file: /dev/stdout -> /proc/self/fd/1 -> the file.
    return any(map(_is_among_open_files, _follow_links(file)))


def _follow_links(path: Path) -> Iterator[Path]:
    """Yield a path, the path that it links to, and so on, up to the file itself."""
    while path.is_symlink():
        yield path
        target = os.readlink(path)
        path = path.parent / target  # a target may be relative to the folder of its link
    yield path


def _is_among_open_files(path: Path) -> bool:
    """Return whether a path is in one of the system's folders of open files."""
    folder = Path(os.path.realpath(path.parent))
    return folder.is_relative_to("/proc") or folder == Path("/dev/fd")


def _replace(file: Path, data: bytes, earlier: os.stat_result | None) -> None:
    """Write a new file in place of an earlier one, which errors leave unchanged.

    If the directory allows no new files, the earlier file itself is written, after a warning.

    Parameters
    ----------
    file : Path
        The file.
    data : bytes
        The content.
    earlier : os.stat_result or None
        The owner and the permissions of an earlier file, None if there is none.
    """
    # The directory may allow to replace a file that must not be written.
    if earlier is not None and not os.access(file, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    temporary = file.parent / f".{uuid.uuid4().hex}.tmp"
    try:
        _write_temporary(temporary, data, earlier)
        os.replace(temporary, file)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        allows_no_new_files = isinstance(error, OSError) and error.errno in _FIXED
        can_write_in_place = earlier is not None and allows_no_new_files
        if not can_write_in_place:
            raise
        warn(
            f"{file}: its directory allows no new files, so that it is written in place: if that "
            "fails, as on a full disk, the earlier file is lost"
        )
        file.write_bytes(data)


def _write_temporary(temporary: Path, data: bytes, earlier: os.stat_result | None) -> None:
    """Write a temporary file with the owner and the permissions of an earlier file, if any."""
    with open(temporary, "xb") as opened:
        opened.write(data)
    if earlier is None:
        return
    # Not all systems have owners, and not all users can change them.
    with suppress(OSError, AttributeError):
        os.chown(temporary, earlier.st_uid, earlier.st_gid)
    permissions = stat.S_IMODE(earlier.st_mode)
    temporary.chmod(permissions)
