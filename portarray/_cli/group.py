"""The group of all commands: built in ones, and other distributions' by entry point."""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NoReturn, TextIO

import click

from portarray._config import config
from portarray._version import __version__
from portarray.errors import DeviceSelectionWarning, PortarrayError

ENTRY_POINTS = "portarray.commands"

_BUILT_IN = {
    "bench": "portarray._cli.bench.command:bench",
    "cache": "portarray._cli.cache:cache",
    "device-report": "portarray._cli.device_report:device_report",
    "devices": "portarray._cli.devices:devices",
    "doctor": "portarray._cli.doctor:doctor",
    "prefer": "portarray._cli.prefer:prefer",
    "routes": "portarray._cli.routes:routes",
    "support": "portarray._cli.support:support",
    "verify": "portarray._cli.verify:verify",
}


class Commands(click.Group):
    """Commands that are imported when they are used; errors of portarray become messages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names."""
        return sorted({*_BUILT_IN, *_extra()})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command; a broken one says so when it is called."""
        if name in _BUILT_IN:
            module, _, attribute = _BUILT_IN[name].partition(":")
            built_in: click.Command = getattr(import_module(module), attribute)
            return built_in
        entry = _extra().get(name)
        if entry is None:
            return None
        try:
            command = entry.load()
        except Exception as error:  # noqa: BLE001 - others' code may raise anything; it is told
            return _broken(name, f"{entry.value}: {type(error).__name__}: {error}")
        if not isinstance(command, click.Command):
            return _broken(name, f"{entry.value} is no click command but {command!r}")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command with progress bars; show warnings and errors without Python's frames."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", DeviceSelectionWarning)
            shown = warnings.showwarning

            def show(
                message: Warning | str,
                category: type[Warning],
                filename: str,
                lineno: int,
                file: TextIO | None = None,
                line: str | None = None,
            ) -> None:
                if issubclass(category, DeviceSelectionWarning):
                    click.echo(f"Warning: {message}", err=True)
                else:
                    shown(message, category, filename, lineno, file, line)

            warnings.showwarning = show
            try:
                with config(progress=True):
                    return super().invoke(ctx)
            except BrokenPipeError:  # the reader, such as head, has all it wants
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                ctx.exit(0)
            except PortarrayError as error:
                raise click.ClickException(str(error)) from error


def _extra() -> dict[str, EntryPoint]:
    """Return the commands of other distributions, except under built-in names."""
    return {e.name: e for e in entry_points(group=ENTRY_POINTS) if e.name not in _BUILT_IN}


def _broken(name: str, reason: str) -> click.Command:
    def fail() -> NoReturn:
        raise click.ClickException(f"the command {name!r} cannot be used: {reason}")

    return click.Command(name, callback=fail, help=f"(broken) {reason}", short_help="(broken)")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="portarray", message="%(prog)s %(version)s")
def portarray() -> None:
    """Arrays of one standard on every device of this machine."""
