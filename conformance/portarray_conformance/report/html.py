"""The report as one page: a grid of functions by devices, everything it needs inside."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from portarray_conformance.report.json_ import Report

__all__ = ["page", "write_html"]

PLACEHOLDER = "__REPORT__"


def page(report: Report) -> str:
    """Return the report as an HTML document that needs no network and no other file."""
    template = files("portarray_conformance.report").joinpath("page.html").read_text("utf-8")
    return template.replace(PLACEHOLDER, _embed(report))


def _embed(report: Report) -> str:
    """Return the report as JSON that cannot close the surrounding script element."""
    text = json.dumps(report.document(), separators=(",", ":"))
    # Messages quote arbitrary text: "</script>" or "<!--" in one must stay data.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def write_html(report: Report, path: Path) -> None:
    """Write ``conformance.html``."""
    path.write_text(page(report), encoding="utf-8")
