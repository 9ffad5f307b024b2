"""The summary of this machine: every library and device, with reasons and memory figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from portarray._devices import discovery, memory, selection
from portarray._devices.device import Device
from portarray._devices.discovery import LibraryStatus
from portarray._version import __version__
from portarray.backends import registry
from portarray.backends.types import MemoryFigures

if TYPE_CHECKING:
    from portarray._devices.preferences import Preference

__all__ = ["Summary", "gib", "summary"]


class Summary(NamedTuple):
    """Every library and device of this machine; ``print`` it, or take :meth:`as_dict`.

    Parameters
    ----------
    libraries : list of LibraryStatus
        Each known library, those with functional devices first.
    recommended : Device
        What ``pa.device("auto")`` means.
    preference : Preference or None
        The preferred device text and where it was found.
    problem : str
        Why the preference cannot be met, or an empty string.
    plugin_errors : dict of str to str
        Plugins that cannot be used, with the reason.
    """

    libraries: list[LibraryStatus]
    recommended: Device
    preference: Preference | None
    problem: str
    plugin_errors: dict[str, str]

    def __str__(self) -> str:
        lines = [f"portarray {__version__}"]
        for status in self.libraries:
            lines += ["", *_lines(status, self.recommended)]
        if self.plugin_errors:
            lines += ["", "Plugins that do not work"]
            lines += [f"  ✗ {name}: {reason}" for name, reason in self.plugin_errors.items()]
        lines += ["", f"Recommended: {self.recommended} ({self.recommended.name})"]
        if self.preference is not None:
            lines.append(f"Preferred:   {self.preference.device} ({self.preference.source})")
        if self.problem:
            lines += [f"  ✗ {self.problem}"]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, texts and numbers, fit for JSON."""
        preference = None if self.preference is None else self.preference._asdict()
        return {
            "version": __version__,
            "recommended": str(self.recommended),
            "preference": preference,
            "preference_problem": self.problem,
            "libraries": [_as_dict(status) for status in self.libraries],
            "plugin_errors": dict(self.plugin_errors),
        }


def summary() -> Summary:
    """Return a summary of every library and device of this machine.

    Imports and probes every installed library.

    Returns
    -------
    Summary
        Prints as text, with ✓ and ✗ for each library, the reasons, names and memory of the devices
        and the recommended one.

    Examples
    --------
    >>> import portarray as pa
    >>> print(pa.summary())
    portarray ...
    ✓ NumPy ...
        ✓ numpy:cpu:0 ...
    Recommended: ...
    >>> [status.version for status in pa.summary().libraries if status.info.library == "numpy"]
    ['...']
    """
    statuses = [discovery.status(library) for library in selection.supported_backends()]
    # A stable sort: libraries without devices keep the order of preference.
    statuses.sort(key=lambda s: discovery.order(s.devices[0]) if s.devices else (99,))
    preference, _, problem = selection.judge_preference()
    return Summary(
        libraries=statuses,
        recommended=selection.recommended(),
        preference=preference,
        problem=problem,
        plugin_errors=registry.plugin_errors(),
    )


def gib(nbytes: int | None) -> str:
    """Return bytes as a text in GiB."""
    return "unknown" if nbytes is None else f"{nbytes / 2**30:.1f} GiB"


def _lines(status: LibraryStatus, recommended: Device) -> list[str]:
    mark = "✓" if status.devices else "✗"
    state = status.version or "" if status.installed else "(not installed)"
    lines = [f"{mark} {status.info.title} {state}".rstrip()]
    width = max((len(str(device)) for device in status.devices), default=0)
    for device in status.devices:
        figures = memory.memory(device)
        best = "  ← recommended" if device is recommended else ""
        lines.append(
            f"    ✓ {device!s:{width}}  {device.name} ({device.kind}), {_figures(figures)}{best}"
        )
    # Platforms that are refused for the same reason share a line.
    grouped: dict[str, list[str]] = {}
    for name, reason in status.reasons.items():
        grouped.setdefault(reason, []).append(name)
    lines += [f"    ✗ {', '.join(names)}: {reason}" for reason, names in grouped.items()]
    return lines


def _figures(figures: MemoryFigures) -> str:
    if figures.total is None and figures.free is None:
        return "memory unknown"
    return f"{gib(figures.free)} of {gib(figures.total)} free"


def _as_dict(status: LibraryStatus) -> dict[str, Any]:
    return {
        "library": status.info.library,
        "title": status.info.title,
        "platforms": list(status.info.ranks),
        "installed": status.installed,
        "version": status.version,
        "functional": bool(status.devices),
        "devices": [
            {
                "device": str(device),
                "name": device.name,
                "kind": device.kind,
                "memory": memory.memory(device)._asdict(),
            }
            for device in status.devices
        ],
        "reasons": dict(status.reasons),
        "install": discovery.install_command(status.info),
    }
