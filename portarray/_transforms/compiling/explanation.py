"""What a compiled function runs, for people."""

from __future__ import annotations

from dataclasses import dataclass, field

from portarray._devices.device import Device

__all__ = ["Buffers", "Explanation", "FusedKernel", "Rewriting"]


@dataclass(frozen=True, slots=True)
class Buffers:
    """The memory of what a program computes.

    Attributes
    ----------
    made : int
        Arrays that are allocated; views count as none.
    reused : int
        Arrays that are computed in the memory of another, which is not needed again.
    peak : int
        Bytes of all of them that are there at once, at most.
    """

    made: int = 0
    reused: int = 0
    peak: int = 0

    def __str__(self) -> str:
        return f"{self.made} made, {self.reused} reused, peak {self.peak} bytes"


@dataclass(frozen=True, slots=True)
class FusedKernel:
    """Several calls that became one kernel.

    Attributes
    ----------
    calls : tuple of str
        The functions of the standard.
    text : str
        The kernel, in the kernel language.
    device : Device
        Where it runs.
    size : int
        Elements that it goes over.
    reads, writes : int
        Bytes.
    """

    calls: tuple[str, ...]
    text: str
    device: Device
    size: int
    reads: int
    writes: int


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A call that ``optimize="aggressive"`` computes in another way.

    Attributes
    ----------
    what, becomes : str
        The calls before and after.
    units : int
        The error of the new calls, at most, in units of rounding (``finfo(dtype).eps``).
    of : str
        What the error is relative to.
    """

    what: str
    becomes: str
    units: int
    of: str

    def __str__(self) -> str:
        return f"{self.what} became {self.becomes}: error at most {self.units} eps of {self.of}"


@dataclass(slots=True)
class Explanation:
    """What a compiled function runs for arguments of one kind.

    Attributes
    ----------
    name : str
        Of the function.
    devices : list of Device
        Where it computes.
    by : str
        What compiles it: ``"portarray"``, or the library's own compiler.
    calls : int
        Calls of functions of the standard that were traced.
    steps : list of str
        What is run, in order: calls, and kernels with what they fuse.
    kernels : list of FusedKernel
        The kernels.
    reasons : dict of str to str
        What was not fused, and why.
    sizes : str
        What ``dynamic=True`` compiled; empty without it.
    rewritten : list of Rewriting or None
        What ``optimize="aggressive"`` changed, with the error that it allows; None without it.
    buffers : Buffers or None
        Its memory, where portarray compiles it.
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
            f"{self.calls} calls, {len(self.steps)} steps",
            *(f"  {n + 1}. {step}" for n, step in enumerate(self.steps)),
        ]
        if self.sizes:
            lines.append(f"dynamic=True: {self.sizes}")
        if self.rewritten is not None:
            lines.append("optimize='aggressive': " + ("" if self.rewritten else "changes nothing"))
            lines += [f"  {one}" for one in self.rewritten]
        if self.buffers is not None:
            lines.append(f"buffers: {self.buffers}")
        for kernel in self.kernels:
            lines += ["", *(f"    {line}" for line in kernel.text.splitlines())]
        if self.reasons:
            lines += ["", "not fused:"]
            lines += [f"  {what}: {why}" for what, why in self.reasons.items()]
        return "\n".join(lines)
