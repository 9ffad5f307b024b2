"""Find the official suite: a given folder, the user cache, or a new clone of the pin."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from platformdirs import user_cache_path

__all__ = ["OfficialSuite", "OfficialSuiteError", "Pin", "find_suite", "read_pin"]

CLONE_SECONDS = 300


class OfficialSuiteError(RuntimeError):
    """The official suite cannot be found, fetched or run; the message gives the fix."""


@dataclass(frozen=True, slots=True)
class Pin:
    """The revisions of the official suite and of its submodule, the standard's repository."""

    standard: str
    repository: str
    revision: str
    specification: str
    specification_revision: str


@dataclass(frozen=True, slots=True)
class OfficialSuite:
    """A usable copy of the official suite; ``warnings`` list its differences from the pin."""

    folder: Path
    revision: str
    standard: str
    warnings: tuple[str, ...]


def read_pin() -> Pin:
    """Return the pinned revisions, from ``official.toml`` of this package."""
    text = files("portarray_conformance").joinpath("official.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return Pin(
        standard=table["standard"],
        repository=table["suite"]["repository"],
        revision=table["suite"]["revision"],
        specification=table["specification"]["path"],
        specification_revision=table["specification"]["revision"],
    )


def find_suite(folder: Path | None = None, pin: Pin | None = None) -> OfficialSuite:
    """Return the official suite: from a folder, from the user cache, or cloned into it.

    Raises
    ------
    OfficialSuiteError
        If the folder does not contain the suite, or the clone fails; the message gives the commands
        for a clone by hand.
    """
    pin = pin or read_pin()
    if folder is not None:
        return _describe(folder.resolve(), pin)
    cached = user_cache_path("portarray") / "conformance" / f"array-api-tests-{pin.revision[:12]}"
    if not cached.exists():
        _clone(pin, cached)
    return _describe(cached, pin)


def _describe(folder: Path, pin: Pin) -> OfficialSuite:
    if not (folder / "conftest.py").is_file() or not (folder / "array_api_tests").is_dir():
        raise OfficialSuiteError(
            f"{folder} is not the official suite: it has no conftest.py and array_api_tests/. "
            f"Give the root of a clone of {pin.repository}.\n{_by_hand(pin)}"
        )
    specification = folder / pin.specification
    if not (specification / "spec" / pin.standard).is_dir():
        raise OfficialSuiteError(
            f"{specification} does not hold the standard {pin.standard}: the suite reads it from "
            f"its submodule. Run: git -C {folder} submodule update --init"
        )
    warnings = []
    revision = _revision(folder)
    if revision != pin.revision:
        warnings.append(
            f"The official suite in {folder} is at revision {revision}, not at the pinned "
            f"{pin.revision}."
        )
    elif changed := _git(folder, "status", "--porcelain", "--untracked-files=no"):
        warnings.append(
            f"The official suite in {folder} has local changes: {', '.join(changed.split()[1::2])}"
        )
    specification_revision = _revision(specification)
    if specification_revision != pin.specification_revision:
        warnings.append(
            f"The standard in {specification} is at revision {specification_revision}, not at the "
            f"pinned {pin.specification_revision}."
        )
    return OfficialSuite(folder, revision, pin.standard, tuple(warnings))


def _revision(folder: Path) -> str:
    """Return the revision checked out in a git work tree, or "unknown"."""
    lines = (_git(folder, "rev-parse", "--show-toplevel", "HEAD") or "").splitlines()
    # A copy without its own .git inside another repository would report that repository's.
    if len(lines) == 2 and Path(lines[0]).resolve() == folder.resolve():
        return lines[1]
    return "unknown"


def _git(folder: Path, *arguments: str) -> str | None:
    """Return git's output for a folder, or None if the command fails."""
    try:
        done = subprocess.run(
            # These commands only read, so that a folder of another owner is safe.
            ["git", "-c", f"safe.directory={folder}", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _by_hand(pin: Pin) -> str:
    return (
        "To get it by hand, on a machine that reaches the network:\n"
        f"  git clone --recurse-submodules {pin.repository} array-api-tests\n"
        f"  git -C array-api-tests checkout --recurse-submodules {pin.revision}\n"
        "and pass it with --suite-dir array-api-tests."
    )


def _clone(pin: Pin, target: Path) -> None:
    """Clone the pinned revision into a temporary folder, then move it to its destination."""
    if shutil.which("git") is None:
        raise OfficialSuiteError(
            f"git was not found, so the official suite cannot be cloned. Install git.\n"
            f"{_by_hand(pin)}"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".clone-") as temporary:
        folder = Path(temporary) / "suite"
        folder.mkdir()
        for arguments in (
            ["init", "--quiet"],
            ["fetch", "--quiet", "--depth", "1", pin.repository, pin.revision],
            ["checkout", "--quiet", "FETCH_HEAD"],
            ["submodule", "--quiet", "update", "--init", "--depth", "1"],
        ):
            _clone_step(arguments, folder, pin)
        try:
            folder.rename(target)
        except OSError:
            # Another run finished its clone first; one is as good as the other.
            if not target.exists():
                raise


def _clone_step(arguments: list[str], folder: Path, pin: Pin) -> None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=CLONE_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except subprocess.TimeoutExpired as error:
        raise OfficialSuiteError(
            f"Cloning the official suite from {pin.repository} took more than {CLONE_SECONDS} s.\n"
            f"{_by_hand(pin)}"
        ) from error
    if done.returncode != 0:
        raise OfficialSuiteError(
            f"The official suite could not be cloned from {pin.repository}: "
            f"git {arguments[0]} failed: {done.stderr.strip()}\n{_by_hand(pin)}"
        )
