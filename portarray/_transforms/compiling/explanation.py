"""Explanations of what a compiled function runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from portarray._devices.device import Device

__all__ = ["Buffers", "Explanation", "FusedKernel", "Rewriting"]


@dataclass(frozen=True, slots=True)
class Buffers:
    """The memory use of a program.

    Attributes
    ----------
    allocated : int
        Arrays that are allocated, without views.
    reused : int
        Arrays that reuse the memory of another one.
    peak : int
        Most bytes that are live at once.
    """

    allocated: int = 0
    reused: int = 0
    peak: int = 0

    def __str__(self) -> str:
        return f"{self.allocated} allocated, {self.reused} reused, peak {self.peak} bytes"


@dataclass(frozen=True, slots=True)
class FusedKernel:
    """Several calls fused into one kernel.

    Attributes
    ----------
    calls : tuple of str
        The functions of the standard.
    text : str
        The kernel, in the kernel language.
    device : Device
        The device it runs on.
    size : int
        Elements that it iterates over.
    reads, writes : int
        Bytes read and written.
    """

    calls: tuple[str, ...]
    text: str
    device: Device
    size: int
    reads: int
    writes: int


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A rewriting by ``optimize="aggressive"``.

    Attributes
    ----------
    calls, replacement : str
        The calls before and after.
    units : int
        Upper bound of the error of the new calls in units of rounding (``finfo(dtype).eps``).
    of : str
        What the error is relative to.
    """

    calls: str
    replacement: str
    units: int
    of: str

    def __str__(self) -> str:
        return (
            f"{self.calls} became {self.replacement}: error at most {self.units} eps of {self.of}"
        )


@dataclass(slots=True)
class Explanation:
    """What a compiled function runs for arguments of one signature.

    Attributes
    ----------
    name : str
        Name of the function.
    devices : list of Device
        The devices it computes on.
    by : str
        Its compiler: ``"portarray"``, or the library's own.
    calls : int
        Traced calls of functions of the standard.
    steps : list of str
        The calls and fused kernels, in order.
    kernels : list of FusedKernel
        The fused kernels.
    reasons : dict of str to str
        Why calls were not fused.
    sizes : str
        What ``dynamic=True`` compiled; empty without it.
    rewritten : list of Rewriting or None
        What ``optimize="aggressive"`` changed, with error bounds; None without it.
    buffers : Buffers or None
        The memory use, if portarray compiles it.
    seconds : float
        Time to trace and compile.
    """

    name: str
    devices: list[Device]
    by: str
    calls: int
    steps: list[str] = field(default_factory=list)
    kernels: list[FusedKernel] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    sizes: str = ""
    rewritten: list[Rewriting] | None = None
    buffers: Buffers | None = None
    seconds: float = 0.0

    def __str__(self) -> str:
        where = ", ".join(map(str, self.devices))
        lines = [
            f"{self.name} on {where}, compiled by {self.by} in {self.seconds * 1e3:.1f} ms: "
            f"{_counted(self.calls, 'call')}, {_counted(len(self.steps), 'step')}",
            *(f"  {n + 1}. {step}" for n, step in enumerate(self.steps)),
        ]
        if self.sizes:
            lines.append(f"dynamic=True: {self.sizes}")
        if self.rewritten is not None:
            lines.append("optimize='aggressive': " + ("" if self.rewritten else "changes nothing"))
            lines += [f"  {change}" for change in self.rewritten]
        if self.buffers is not None:
            lines.append(f"buffers: {self.buffers}")
        for kernel in self.kernels:
            lines += ["", *(f"    {line}" for line in kernel.text.splitlines())]
        if self.reasons:
            lines += ["", "not fused:"]
            lines += [f"  {call}: {why}" for call, why in self.reasons.items()]
        return "\n".join(lines)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
