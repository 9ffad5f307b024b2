"""Lowering of graphs: by a library's own compiler, or to calls and fused kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Any

from portarray._compile_notice import compile_notice
from portarray._hashing import hashable
from portarray._kernel_language.launch_cache import put
from portarray._transforms.compiling import buffers
from portarray._transforms.compiling.codegen import replay
from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.fused import Fused, fused_steps
from portarray._transforms.compiling.graph import Graph, Node, Ref, pattern, segments
from portarray._transforms.compiling.numbers import with_rounded_numbers
from portarray._transforms.compiling.rewriting import rewritten
from portarray._transforms.compiling.zeros import zeros_as_inputs
from portarray.backends.base import Backend

__all__ = ["Sized", "program"]

Function = Callable[..., Any]

MOST_KINDS = 64
"""Size-generic programs of a library's compiler that a compiled function caches."""


class Sized:
    """Programs and kernels of one function that serve several sizes."""

    def __init__(self) -> None:
        self.kernels: dict[Any, Any] = {}
        self._programs: dict[Any, tuple[Graph, list[Function]]] = {}

    def find(self, graph: Graph, natives: Sequence[Any]) -> Function | None:
        """Return a program that was compiled for a graph of other sizes, or None."""
        key = pattern(graph)
        _, programs = self._programs.get(key, (graph, [])) if hashable(key) else (graph, [])
        return next((program for program in programs if program.serves(natives)), None)  # type: ignore[attr-defined]

    def keep(self, graph: Graph, run: Function) -> None:
        """Cache a program that serves several sizes."""
        key = pattern(graph)
        if hashable(key) and hasattr(run, "serves"):
            # The graph keeps the objects alive whose ids are in the key.
            programs = self._programs.get(key, (graph, []))[1]
            put(self._programs, key, (graph, [*programs, run]), MOST_KINDS)


def program(
    graph: Graph,
    name: str,
    natives: Sequence[Any],
    *,
    optimize: str = "default",
    sized: Sized | None = None,
) -> tuple[Function, Explanation]:
    """Return a function of the graph's inputs, native arrays, and its explanation."""
    devices = graph.devices()
    explanation = Explanation(name, devices, "portarray", graph.calls)
    if optimize == "aggressive":
        graph, explanation.rewritten = rewritten(graph)
    plain = replay(graph, graph.nodes)
    explanation.steps = [node.name for node in graph.nodes]
    if not graph.nodes:
        return plain, explanation
    in_place = bool(graph.changed) and not devices[0]._backend.immutable
    if all(device is devices[0] for device in devices) and not in_place:
        backend = devices[0]._backend
        compiler = f"{backend.info.title}'s compiler"
        try:
            lower = _by_segments if any(node.is_launch for node in graph.nodes) else _by_library
            with compile_notice(
                f"{compiler} compiles {name} for {devices[0]}; later calls reuse it"
            ):
                compiled_run = lower(graph, plain, natives, sized, explanation)
            if compiled_run is not None:
                explanation.by = compiler
                return compiled_run, explanation
        except Exception as error:  # noqa: BLE001  (the calls run one by one instead)
            explanation.reasons[compiler] = _first_line(error)
            return plain, explanation
    compiled = None if sized is None else sized.kernels
    previous_keys = frozenset(compiled or ())
    steps, explanation.kernels, reasons = fused_steps(graph, compiled)
    if compiled is not None:
        kernels = len({step.key for step in steps if isinstance(step, Fused)} - previous_keys)
        explanation.sizes = (
            f"kernels take sizes as arguments; {kernels} were compiled for this call"
        )
    explanation.reasons.update(reasons)
    explanation.steps = [_step_text(step) for step in steps]
    memory = buffers.plan(graph, steps)
    explanation.buffers = memory.description
    return replay(graph, steps, memory), explanation


def _by_segments(
    graph: Graph,
    plain: Function,
    natives: Sequence[Any],
    sized: Sized | None,
    explanation: Explanation,
) -> Function | None:
    """Return a function whose calls between user kernels are compiled by the library.

    None if it has no compiler, or there are only user kernels.
    """
    if all(node.is_launch for node in graph.nodes):
        return None
    values = dict(zip(graph.inputs, natives, strict=True))
    steps: list[Node] = []
    for nodes, outputs in segments(graph):
        inputs = list(dict.fromkeys([n for node in nodes for n in node.inputs() if n in values]))
        part = Graph(graph.values, inputs, nodes, [Ref(n) for n in outputs], len(nodes))
        run = replay(part, nodes)
        operands = [values[n] for n in inputs]
        if not nodes[0].is_launch:
            compiled_run = _by_library(part, run, operands, sized, explanation)
            if compiled_run is None:
                return None
            run = compiled_run
        values.update(zip(outputs, run(*operands), strict=True))
        arguments = tuple([Ref(n) for n in inputs])
        steps.append(Node("segment", run, nodes[0].device, arguments, {}, outputs, several=True))
    return replay(graph, steps)


def _by_library(
    graph: Graph,
    plain: Function,
    natives: Sequence[Any],
    sized: Sized | None,
    explanation: Explanation,
) -> Function | None:
    """Return a function compiled by the library, None if it has no compiler."""
    backend = graph.devices()[0]._backend
    safe = _compilable(with_rounded_numbers(graph), backend)
    if safe is not graph:
        graph, plain = safe, replay(safe, safe.nodes)
    if backend.folds_zeros:
        graph, zeros = zeros_as_inputs(graph)
        if zeros:
            plain, natives = replay(graph, graph.nodes), [*natives, *zeros]
            run = _by_compiler(backend, graph, plain, natives, sized, explanation)
            return None if run is None else _with_zeros(run, zeros)
    return _by_compiler(backend, graph, plain, natives, sized, explanation)


def _compilable(graph: Graph, backend: Backend) -> Graph:
    """Return a graph of functions that the library's compiler does not change."""

    def safe(node: Node) -> Node:
        dtype = graph.values[node.outputs[0]].dtype
        function = backend.compilable(node.name, node.function, dtype)
        # Under its own name, a call becomes one of the library's function for its operands.
        return node if function is node.function else replace(node, name="", function=function)

    return graph.with_nodes(list(map(safe, graph.nodes)))


def _with_zeros(run: Function, zeros: Sequence[Any]) -> Function:
    return lambda *natives: run(*natives, *zeros)


def _by_compiler(
    backend: Backend,
    graph: Graph,
    plain: Function,
    natives: Sequence[Any],
    sized: Sized | None,
    explanation: Explanation,
) -> Function | None:
    run = None if sized is None else sized.find(graph, natives)
    if run is not None:
        explanation.sizes = "compiled before, for other sizes"
        return run
    if sized is not None:
        explanation.sizes = f"{backend.info.title} compiles for each shape"
        try:
            dynamic_run = _compiled(backend, plain, natives, explanation, dynamic=True)
        except Exception as error:  # noqa: BLE001  (it may compile for these sizes)
            explanation.reasons["several sizes"] = _first_line(error)
        else:
            if dynamic_run is not None and hasattr(dynamic_run, "serves"):
                explanation.sizes = "compiled for several sizes"
                sized.keep(graph, dynamic_run)
            return dynamic_run
    return _compiled(backend, plain, natives, explanation)


def _compiled(
    backend: Backend,
    plain: Function,
    natives: Sequence[Any],
    explanation: Explanation,
    *,
    dynamic: bool = False,
) -> Function | None:
    """Compile a program with the library's compiler, and call it once to finish compilation."""
    run: Function | None = backend.compiled(plain, natives, set(explanation.steps), dynamic=dynamic)
    if run is not None:
        run(*natives)
    else:
        explanation.sizes = ""
    return run


def _step_text(step: Any) -> str:
    if isinstance(step, Fused):
        return f"kernel of {len(step.description.calls)} calls: {', '.join(step.description.calls)}"
    return str(step.name)


def _first_line(error: Exception) -> str:
    text = shorten(str(error).strip().partition("\n")[0], 200, placeholder=" ...")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
