"""The preferred device: an environment variable, the project's file, the user's file.

Files hold one key, ``device = "cuda"``, and comments. Reading never fails an import or an array:
callers turn :class:`~portarray.errors.PreferenceError` into a warning.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from portarray import _atomic_files
from portarray._devices.device import WORDS, parse
from portarray.errors import PreferenceError

if TYPE_CHECKING:  # pathlib takes milliseconds, and the first array reads the preference
    from pathlib import Path

__all__ = ["PROJECT_FILE", "VARIABLE", "Preference", "Scope", "check", "path_of", "read", "save"]

VARIABLE = "PORTARRAY_DEVICE"
PROJECT_FILE = "portarray.toml"

Scope = Literal["user", "project"]

# A text: compiling it takes a millisecond, and the first array reads the preference.
_LINE = r"""(?m)^(\s*(?:device|"device"|'device')\s*=\s*)("[^"]*"|'[^']*')(.*)$"""
_HAND = "edit it by hand or delete it"


class Preference(NamedTuple):
    """A device text and where it was found, a path or the variable."""

    device: str
    source: str


def read() -> Preference | None:
    """Return the preference that holds now, or None.

    Raises
    ------
    PreferenceError
        If the file that decides cannot be read or is invalid, with its path, the line and the fix.
    """
    text = os.environ.get(VARIABLE, "")
    if text:
        return Preference(text, VARIABLE)
    for path in (_project_file(), _user_file()):
        if path is not None:
            content = _content(path)
            device = _parsed(path, content).get("device") if content else None
            if device is not None:
                return Preference(device, path)
    return None


def check(text: object) -> None:
    """Raise unless a text names a known device or is ``"auto"`` or ``"gpu"``."""
    if not isinstance(text, str):
        raise TypeError(f"set_preference: expected a device text such as 'cuda', got {text!r}")
    if text not in WORDS:
        parse(text)


def save(text: str | None, scope: Scope) -> Path:
    """Write a checked preference, or remove it for None; return the file's path.

    Raises
    ------
    PreferenceError
        If the file is not a preferences file or cannot be written; it is unchanged.
    """
    path = path_of(scope)
    old = _content(path)
    _parsed(path, old)
    if text is None:
        new = re.sub(_LINE, "", old).strip("\n")
    elif re.search(_LINE, old):
        new = re.sub(_LINE, lambda line: f'{line[1]}"{text}"{line[3]}', old, count=1)
    else:
        new = f'{old.rstrip()}\ndevice = "{text}"'
    new = f"{new.strip()}\n" if new.strip() else ""
    if _parsed(path, new).get("device") != text:
        raise PreferenceError(
            f"set_preference: the line of 'device' in {path} cannot be edited\nHint: {_HAND}"
        )
    if new != old:
        _replace(path, new)
    return path


def path_of(scope: Scope) -> Path:
    """Return the file of a scope, which need not exist."""
    if scope not in get_args(Scope):
        raise ValueError(f"set_preference: scope must be 'user' or 'project', not {scope!r}")
    from pathlib import Path

    if scope == "project":
        return Path(_project_file() or Path.cwd() / PROJECT_FILE)
    return Path(_user_file())


def _user_file() -> str:
    folder = os.environ.get("PORTARRAY_CONFIG_DIR", "")
    if not folder and sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        # What platformdirs returns here; it takes milliseconds to be imported.
        base = os.environ.get("XDG_CONFIG_HOME", "")
        base = base if os.path.isabs(base) else os.path.expanduser("~/.config")
        folder = os.path.join(base, "portarray")
    if not folder:
        import platformdirs

        folder = platformdirs.user_config_dir("portarray")
    return os.path.join(folder, "preferences.toml")


def _project_file() -> str | None:
    """Return the nearest project file in the working directory and above."""
    try:
        folder = os.getcwd()
    except OSError:  # the working directory was deleted
        return None
    while not os.path.exists(path := os.path.join(folder, PROJECT_FILE)):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return None
    return path


def _content(path: str | Path) -> str:
    """Return a file's text, empty where there is none."""
    try:
        return _atomic_files.read(path).decode().replace("\r\n", "\n")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise PreferenceError(
            f"{path} cannot be read: {_said(error)}\nHint: make it a readable file or delete it"
        ) from error


def _parsed(path: str | Path, content: str) -> dict[str, Any]:
    """Return a file's keys, or raise for anything but ``device = "text"``."""
    import tomllib  # only where there is a file

    try:
        table = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        last = f"at line {len(content.splitlines())}, the last"
        said = str(error).replace("at end of document", last)
        raise PreferenceError(
            f'{path} is not valid TOML: {said}\nHint: {_HAND}; it should read: device = "cuda"'
        ) from error
    for key, value in table.items():
        where = f"{path}, line {_line_of(key, content)}"
        if key != "device":
            raise PreferenceError(
                f"{where}: unknown key {key!r}; the only key is 'device'\nHint: {_HAND}"
            )
        if not isinstance(value, str):
            raise PreferenceError(
                f'{where}: device = {value!r} is not a string\nHint: write device = "cuda"; {_HAND}'
            )
    return table


def _line_of(key: str, content: str) -> int:
    lines = content.splitlines()
    pattern = re.compile(rf"""^\s*\[?\s*["']?{re.escape(key)}\b""")
    return next((n for n, line in enumerate(lines, 1) if pattern.match(line)), 1)


def _replace(path: Path, content: str) -> None:
    """Replace a file's content atomically."""
    target = path.resolve()  # keep symbolic links
    fresh = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        if not content:
            target.unlink()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(content, encoding="utf-8")
        if target.exists():
            fresh.chmod(target.stat().st_mode)
        os.replace(fresh, target)
    except BaseException as error:  # an interrupt too
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        raise PreferenceError(
            f"{path} cannot be written: {_said(error)}; nothing was changed\nHint: make it "
            f"writable, or "
            f"set the environment variable {VARIABLE} instead"
        ) from error


def _said(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
