"""``portarray devices``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from portarray._cli.output import Form, forms, show
from portarray._devices import selection
from portarray._devices.summary import Summary, summary

COLUMNS = (
    *("library", "version", "device", "functional", "recommended", "name", "kind"),
    *("total", "free", "used", "pooled", "reason", "install"),
)


@click.command()
@click.option("--reprobe", is_flag=True, help="Forget probes that crashed, and try them again.")
@forms
def devices(reprobe: bool, form: Form) -> None:
    """Show every library and device, and why the rest cannot be used."""
    if reprobe:
        selection.reset_gpu_device()
    found = summary()
    document = found.as_dict()
    show(
        form,
        document=document,
        columns=COLUMNS,
        rows=_rows(document),
        text=lambda out: _show(found, out),
    )


def _rows(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each device, and each platform or library that has none."""
    for library in document["libraries"]:
        for one in library["devices"]:
            best = one["device"] == document["recommended"]
            yield {**library, **one, **one["memory"], "recommended": best}
        for name, reason in library["reasons"].items():
            none = {"device": name, "functional": False, "recommended": False}
            yield {**library, **none, "reason": reason}


def _show(found: Summary, console: Console) -> None:
    text = Text(str(found))
    text.highlight_regex(r"✓", "green")
    text.highlight_regex(r"✗", "red")
    text.highlight_regex(r"← recommended|Recommended:.*", "bold")
    console.print(text, soft_wrap=True)
