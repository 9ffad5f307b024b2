"""Reports as JSON files that are whole at any time: a run that is ended leaves its figures."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["write"]


def write(report: Mapping[str, Any], file: Path | None) -> None:
    """Replace a file by a report; None writes nothing."""
    if file is None:
        return
    beside = file.with_name(f"{file.name}.part")
    beside.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")
    os.replace(beside, file)
