"""JSON reports that are complete at any time, also when a run is interrupted."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["write"]


def write(report: Mapping[str, Any], file: Path | None) -> None:
    """Replace a file atomically; None writes nothing."""
    if file is None:
        return
    partial = file.with_name(f"{file.name}.part")
    partial.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")
    os.replace(partial, file)
