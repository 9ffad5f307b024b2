"""The group of all commands; other distributions add theirs by entry point."""

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

_NAMES = ("cache", "device-report", "devices", "doctor", "prefer", "routes", "support", "verify")
_BUILT_IN = {name: f"portarray._cli.{name.replace('-', '_')}" for name in _NAMES}
_BUILT_IN["bench"] = "portarray._cli.bench.command"


class Commands(click.Group):
    """Commands that are imported on use; errors of portarray become messages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*_BUILT_IN, *_plugins()})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import a command; a broken one fails when it is called."""
        if name in _BUILT_IN:
            module = import_module(_BUILT_IN[name])
            built_in: click.Command = getattr(module, name.replace("-", "_"))
            return built_in
        entry = _plugins().get(name)
        if entry is None:
            return None
        try:
            command = entry.load()
        except Exception as error:  # noqa: BLE001 - other distributions may raise anything
            return _broken(name, f"{entry.value}: {type(error).__name__}: {error}")
        if not isinstance(command, click.Command):
            return _broken(name, f"{entry.value} is not a click command: {command!r}")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command with progress bars, and warnings and errors without tracebacks."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", DeviceSelectionWarning)
            default = warnings.showwarning

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
                    default(message, category, filename, lineno, file, line)

            warnings.showwarning = show
            try:
                with config(progress=True):
                    return super().invoke(ctx)
            except BrokenPipeError:  # the reader, such as head, closed the pipe
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                ctx.exit(0)
            except PortarrayError as error:
                raise click.ClickException(str(error)) from error


def _plugins() -> dict[str, EntryPoint]:
    """Return other distributions' commands, except those with built-in names."""
    return {e.name: e for e in entry_points(group=ENTRY_POINTS) if e.name not in _BUILT_IN}


def _broken(name: str, reason: str) -> click.Command:
    def fail() -> NoReturn:
        raise click.ClickException(f"{name}: cannot be used: {reason}")

    return click.Command(name, callback=fail, help=f"(broken) {reason}", short_help="(broken)")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="portarray", message="%(prog)s %(version)s")
def portarray() -> None:
    """Inspect, compare and verify the array devices of this machine."""
