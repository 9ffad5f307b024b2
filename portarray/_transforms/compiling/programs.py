"""Which way a graph is run: by a library's own compiler, or as calls and fused kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.fused import Fused, fused_steps
from portarray._transforms.compiling.graph import Graph
from portarray._transforms.compiling.program import replay

__all__ = ["program"]

Function = Callable[..., Any]


def program(graph: Graph, name: str, natives: Sequence[Any]) -> tuple[Function, Explanation]:
    """Return a function of the graph's inputs, native arrays, and what there is to say of it."""
    devices = graph.devices()
    told = Explanation(name, devices, "portarray", graph.calls)
    backend = devices[0]._backend
    plain = replay(graph, graph.nodes)
    told.steps = [node.name for node in graph.nodes]
    if all(device is devices[0] for device in devices):
        compiler = f"{backend.info.title}'s compiler"
        try:
            found = backend.compiled(plain, natives, set(told.steps))
            if found is not None:
                found(*natives)  # which is when it is compiled
                told.by = compiler
                return found, told
        except Exception as error:  # noqa: BLE001  (its calls are made one by one instead)
            told.reasons[compiler] = _first_line(error)
            return plain, told
    steps, told.kernels, reasons = fused_steps(graph)
    told.reasons.update(reasons)
    told.steps = [_told(step) for step in steps]
    return replay(graph, steps), told


def _told(step: Any) -> str:
    if isinstance(step, Fused):
        return f"kernel of {len(step.told.calls)} calls: {', '.join(step.told.calls)}"
    return str(step.name)


def _first_line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
