"""Which way a graph is run: by a library's own compiler, or as calls and fused kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from portarray._kernel_language.arguments import hashable
from portarray._kernel_language.launch_cache import put as remember
from portarray._transforms.compiling import buffers
from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.fused import Fused, fused_steps
from portarray._transforms.compiling.graph import Graph, pattern
from portarray._transforms.compiling.program import replay
from portarray._transforms.compiling.rewriting import rewritten
from portarray.backends.base import Backend

__all__ = ["Sized", "program"]

Function = Callable[..., Any]

MOST_KINDS = 64
"""Programs of a library's compiler, for several sizes each, that a compiled function remembers."""


class Sized:
    """What was compiled for several sizes of the arguments of one function."""

    def __init__(self) -> None:
        self.kernels: dict[Any, Any] = {}
        self._known: dict[Any, tuple[Graph, list[Function]]] = {}

    def found(self, graph: Graph, natives: Sequence[Any]) -> Function | None:
        """Return a program that was compiled for a graph which differs in sizes alone."""
        key = pattern(graph)
        _, programs = self._known.get(key, (graph, [])) if hashable(key) else (graph, [])
        return next((one for one in programs if one.serves(natives)), None)  # type: ignore[attr-defined]

    def keep(self, graph: Graph, run: Function) -> None:
        """Remember a program that takes several sizes."""
        key = pattern(graph)
        if hashable(key) and hasattr(run, "serves"):
            # The graph keeps what the key has the identities of.
            programs = self._known.get(key, (graph, []))[1]
            remember(self._known, key, (graph, [*programs, run]), MOST_KINDS)


def program(
    graph: Graph,
    name: str,
    natives: Sequence[Any],
    *,
    optimize: str = "default",
    sized: Sized | None = None,
) -> tuple[Function, Explanation]:
    """Return a function of the graph's inputs, native arrays, and what there is to say of it."""
    devices = graph.devices()
    told = Explanation(name, devices, "portarray", graph.calls)
    if optimize == "aggressive":
        graph, told.rewritten = rewritten(graph)
    plain = replay(graph, graph.nodes)
    told.steps = [node.name for node in graph.nodes]
    if all(device is devices[0] for device in devices):
        backend = devices[0]._backend
        compiler = f"{backend.info.title}'s compiler"
        try:
            found = _by_library(graph, plain, natives, sized, told)
            if found is not None:
                told.by = compiler
                return found, told
        except Exception as error:  # noqa: BLE001  (its calls are made one by one instead)
            told.reasons[compiler] = _first_line(error)
            return plain, told
    compiled = None if sized is None else sized.kernels
    before = frozenset(compiled or ())
    steps, told.kernels, reasons = fused_steps(graph, compiled)
    if compiled is not None:
        kernels = len({step.key for step in steps if isinstance(step, Fused)} - before)
        told.sizes = f"kernels take sizes as arguments; {kernels} were compiled for this call"
    told.reasons.update(reasons)
    told.steps = [_told(step) for step in steps]
    places = buffers.plan(graph, steps)
    told.buffers = places.told
    return replay(graph, steps, places), told


def _by_library(
    graph: Graph, plain: Function, natives: Sequence[Any], sized: Sized | None, told: Explanation
) -> Function | None:
    """Return a function compiled by the library, None where it has no compiler."""
    backend = graph.devices()[0]._backend
    found = None if sized is None else sized.found(graph, natives)
    if found is not None:
        told.sizes = "compiled before, for other sizes"
        return found
    if sized is not None:
        told.sizes = f"{backend.info.title} compiles for each shape"
        try:
            made = _compiled(backend, plain, natives, told, dynamic=True)
        except Exception as error:  # noqa: BLE001  (it may compile for these sizes)
            told.reasons["several sizes"] = _first_line(error)
        else:
            if made is not None and hasattr(made, "serves"):
                told.sizes = "compiled for several sizes"
                sized.keep(graph, made)
            return made
    return _compiled(backend, plain, natives, told)


def _compiled(
    backend: Backend,
    plain: Function,
    natives: Sequence[Any],
    told: Explanation,
    *,
    dynamic: bool = False,
) -> Function | None:
    """Return a program of a library's compiler, which is called once: that compiles it."""
    made: Function | None = backend.compiled(plain, natives, set(told.steps), dynamic=dynamic)
    if made is not None:
        made(*natives)
    else:
        told.sizes = ""
    return made


def _told(step: Any) -> str:
    if isinstance(step, Fused):
        return f"kernel of {len(step.told.calls)} calls: {', '.join(step.told.calls)}"
    return str(step.name)


def _first_line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
