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

__all__ = ["Summary", "as_dict", "document", "gib", "summary", "text_of"]


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
        return text_of(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, texts and numbers, fit for JSON."""
        rows = [as_dict(status) for status in self.libraries]
        return document(
            rows, str(self.recommended), self.plugin_errors, self.preference, self.problem
        )


def document(
    libraries: list[dict[str, Any]],
    recommended: str,
    plugin_errors: dict[str, str],
    preference: Preference | None = None,
    problem: str = "",
) -> dict[str, Any]:
    """Return the dictionary of a summary, of those of the libraries."""
    return {
        "version": __version__,
        "recommended": recommended,
        "preference": None if preference is None else preference._asdict(),
        "preference_problem": problem,
        "libraries": libraries,
        "plugin_errors": dict(plugin_errors),
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


def text_of(document: dict[str, Any]) -> str:
    """Return the text of a summary's dictionary."""
    recommended = document["recommended"]
    lines = [f"portarray {document['version']}"]
    for library in document["libraries"]:
        lines += ["", *_lines(library, recommended)]
    if document["plugin_errors"]:
        lines += ["", "Plugins that do not work"]
        lines += [f"  ✗ {name}: {reason}" for name, reason in document["plugin_errors"].items()]
    names = {x["device"]: x["name"] for row in document["libraries"] for x in row["devices"]}
    lines += ["", f"Recommended: {recommended} ({names[recommended]})"]
    preference = document["preference"]
    if preference is not None:
        lines.append(f"Preferred:   {preference['device']} ({preference['source']})")
    if document["preference_problem"]:
        lines += [f"  ✗ {document['preference_problem']}"]
    return "\n".join(lines)


def _lines(library: dict[str, Any], recommended: str) -> list[str]:
    devices, reasons = library["devices"], library["reasons"]
    mark = "✓" if devices else "✗"
    state = library["version"] or "" if library["installed"] else "(not installed)"
    lines = [f"{mark} {library['title']} {state}".rstrip()]
    width = max((len(device["device"]) for device in devices), default=0)
    for device in devices:
        name, figures = device["device"], _figures(MemoryFigures(**device["memory"]))
        best = "  ← recommended" if name == recommended else ""
        lines.append(f"    ✓ {name:{width}}  {device['name']} ({device['kind']}), {figures}{best}")
    # Platforms that are refused for the same reason share a line.
    grouped: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        grouped.setdefault(reason, []).append(name)
    lines += [f"    ✗ {', '.join(names)}: {reason}" for reason, names in grouped.items()]
    return lines


def _figures(figures: MemoryFigures) -> str:
    if figures.total is None and figures.free is None:
        return "memory unknown"
    return f"{gib(figures.free)} of {gib(figures.total)} free"


def as_dict(status: LibraryStatus) -> dict[str, Any]:
    """Return the status of a library as dictionaries, lists, texts and numbers."""
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
