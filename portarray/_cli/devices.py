"""``portarray devices``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from portarray._cli.output import Form, forms, show
from portarray._devices import selection
from portarray._devices.side_by_side import document as probed
from portarray._devices.summary import text_of

COLUMNS = (
    *("library", "version", "device", "functional", "recommended", "name", "kind"),
    *("total", "free", "used", "pooled", "reason", "install"),
)


@click.command()
@click.option("--reprobe", is_flag=True, help="Forget earlier probes, crashes included.")
@forms
def devices(reprobe: bool, form: Form) -> None:
    """Show every library and device, and why some cannot be used."""
    if reprobe:
        selection.reset_gpu_device()
    document = probed()
    show(
        form,
        document=document,
        columns=COLUMNS,
        rows=_rows(document),
        text=lambda console: _show(text_of(document), console),
    )


def _rows(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every device, and every platform or library without devices."""
    for library in document["libraries"]:
        for device in library["devices"]:
            recommended = device["device"] == document["recommended"]
            yield {**library, **device, **device["memory"], "recommended": recommended}
        for name, reason in library["reasons"].items():
            unusable = {"device": name, "functional": False, "recommended": False}
            yield {**library, **unusable, "reason": reason}


def _show(report: str, console: Console) -> None:
    text = Text(report)
    text.highlight_regex(r"✓", "green")
    text.highlight_regex(r"✗", "red")
    text.highlight_regex(r"← recommended|Recommended:.*", "bold")
    console.print(text, soft_wrap=True)
