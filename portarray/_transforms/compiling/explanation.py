"""What a compiled function runs, for people."""

from __future__ import annotations

from dataclasses import dataclass, field

from portarray._devices.device import Device

__all__ = ["Explanation", "FusedKernel"]


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
    seconds: float = 0.0

    def __str__(self) -> str:
        where = ", ".join(map(str, self.devices))
        lines = [
            f"{self.name} on {where}, compiled by {self.by} in {self.seconds * 1e3:.1f} ms: "
            f"{self.calls} calls, {len(self.steps)} steps",
            *(f"  {n + 1}. {step}" for n, step in enumerate(self.steps)),
        ]
        for kernel in self.kernels:
            lines += ["", *(f"    {line}" for line in kernel.text.splitlines())]
        if self.reasons:
            lines += ["", "not fused:"]
            lines += [f"  {what}: {why}" for what, why in self.reasons.items()]
        return "\n".join(lines)
