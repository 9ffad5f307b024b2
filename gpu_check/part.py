"""What every part of the check needs: its command line, and results that survive its end."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

BEGAN = time.monotonic()
"""When the part was started, before it imports what it checks."""


def arguments(
    text: str | None, add: Callable[[argparse.ArgumentParser], object] | None = None
) -> argparse.Namespace:
    """Read a part's command line; ``add`` adds what only this part knows."""
    parser = argparse.ArgumentParser(description=(text or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="lines of JSON go there")
    parser.add_argument("--seconds", type=float, required=True, help="when to stop")
    if add is not None:
        add(parser)
    return parser.parse_args()


class Writer:
    """Writes values as lines of JSON, each at once: what was found is kept if the process dies."""

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
