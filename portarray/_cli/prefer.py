"""``portarray prefer``."""

from __future__ import annotations

import click

from portarray._devices import preferences, selection


@click.command()
@click.argument("device", required=False)
@click.option("--unset", is_flag=True, help="Delete the preference.")
@click.option(
    "--project", is_flag=True, help="Of this project, in portarray.toml; else the user's."
)
def prefer(device: str | None, unset: bool, project: bool) -> None:
    """Save DEVICE as the preferred one, or show what is preferred.

    DEVICE is a text such as cuda, torch:cuda:1, gpu or auto.
    """
    if unset and device is not None:
        raise click.UsageError("give a device or --unset, not both")
    scope: preferences.Scope = "project" if project else "user"
    if device is not None or unset:
        selection.set_preference(device, scope=scope)
        said = "no device is preferred" if device is None else f"{device} is preferred"
        click.echo(f"{preferences.path_of(scope)}: {said}")
        return
    found = preferences.read()
    if found is None:
        click.echo("No device is preferred; the best functional one is used.")
    else:
        click.echo(f"{found.device} ({found.source})")
