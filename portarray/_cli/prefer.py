"""``portarray prefer``."""

from __future__ import annotations

import click

from portarray._devices import preferences, selection


@click.command()
@click.argument("device", required=False)
@click.option("--unset", is_flag=True, help="Delete the preference.")
@click.option("--project", is_flag=True, help="Use portarray.toml of this project, not your own.")
def prefer(device: str | None, unset: bool, project: bool) -> None:
    """Save DEVICE as the preferred device, or show the preference.

    DEVICE is a text such as cuda, torch:cuda:1, gpu or auto.
    """
    if unset and device is not None:
        raise click.UsageError("prefer: pass a device or --unset, not both")
    scope: preferences.Scope = "project" if project else "user"
    if device is not None or unset:
        selection.set_preference(device, scope=scope)
        state = "no device is preferred" if device is None else f"{device} is preferred"
        click.echo(f"{preferences.path_of(scope)}: {state}")
    elif (preference := preferences.read()) is None:
        click.echo("No device is preferred; the best functional one is used.")
    else:
        click.echo(f"{preference.device} ({preference.source})")
