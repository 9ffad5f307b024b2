"""``portarray devices``."""

from __future__ import annotations

import json

import click
from rich.text import Text

from portarray._cli.output import console
from portarray._devices import selection
from portarray._devices.summary import summary


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--reprobe", is_flag=True, help="Forget probes that crashed, and try them again.")
def devices(as_json: bool, reprobe: bool) -> None:
    """Show every library and device, and why the rest cannot be used."""
    if reprobe:
        selection.reset_gpu_device()
    found = summary()
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=2, ensure_ascii=False))
        return
    text = Text(str(found))
    text.highlight_regex(r"✓", "green")
    text.highlight_regex(r"✗", "red")
    text.highlight_regex(r"← recommended|Recommended:.*", "bold")
    console().print(text, soft_wrap=True)
