"""What the parts of the check share: the command line, output and the loop over cases."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

STARTED = time.monotonic()  # before the part imports what it checks

Outcome = tuple[str, str]  # "passed", "failed" or "not run", and the message


def arguments(doc: str | None, *names: str, **options: Any) -> argparse.Namespace:
    """Read a part's command line: positional arguments, and options with their settings."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="file for lines of JSON")
    parser.add_argument("--seconds", type=float, required=True, help="time limit")
    for name in names:
        parser.add_argument(name, nargs="+" if name == "devices" else None)
    for name, settings in options.items():
        parser.add_argument(f"--{name}", **settings)
    return parser.parse_args()


class Writer:
    """Writes each value as a line of JSON immediately, so that a crash loses nothing."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __call__(self, value: Any) -> None:
        """Write one value."""
        self._file.write(json.dumps(value) + "\n")
        self._file.flush()


def outcome(check: Callable[..., str], *arguments: Any) -> Outcome:
    """Return the status of a check that returns what is wrong, or an empty string."""
    from portarray import DTypeNotSupportedError

    try:
        problem = check(*arguments)
    except DTypeNotSupportedError as error:
        return "not run", str(error)
    except Exception as error:  # noqa: BLE001  (drivers may raise anything; it is reported)
        return "failed", f"{type(error).__name__}: {error}"
    return ("failed", problem) if problem else ("passed", "")


def run_cases(
    doc: str | None, cases: Callable[[str], Iterable[tuple[str, Callable[[], Outcome]]]]
) -> None:
    """Run the cases of one device until the time is over."""
    options = arguments(doc, "device")
    with Writer(options.out) as write:
        for name, check in cases(options.device):
            if time.monotonic() > STARTED + options.seconds:
                break
            status, message = check()
            write({"case": name, "status": status, "examples": 1, "message": message})
