"""Generated Python functions: graphs and output trees of programs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

from portarray import _codegen
from portarray._array import call_cache, device_scope, dispatch
from portarray._config import config
from portarray._devices.device import Device
from portarray._launchers.launcher import LaunchBlock
from portarray._transforms.compiling.buffers import Plan, last_uses
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref, refs
from portarray._transforms.compiling.recorded import Recorded
from portarray._trees import array_trees
from portarray._trees.node_types import node_type

__all__ = ["builder", "replay"]

BLOCK_BYTES = 1 << 20
"""Bytes of the results of launches that wait for their kernels together."""

Function = Callable[..., Any]


def replay(graph: Graph, steps: Sequence[Any], plan: Plan | None = None) -> Function:
    """Return a function of the graph's inputs that returns a tuple of its outputs.

    It frees values after their last use; ``plan`` assigns freed memory to later values.
    """
    return _Writer(graph, steps, plan or Plan(last=last_uses(steps, refs(graph.outputs)))).replay()


class _Writer:
    """Writes the lines of a replay, and the constants that they refer to."""

    def __init__(self, graph: Graph, steps: Sequence[Any], plan: Plan) -> None:
        self.graph, self.steps, self.plan = graph, steps, plan
        self.names: dict[str, Any] = {}

    def replay(self) -> Function:
        graph, steps = self.graph, self.steps
        inputs = [f"v{index}" for index in graph.inputs]
        ends = [self.text(x) for x in graph.outputs]
        is_recorded = _is_recorded(graph, steps, calls=True)
        blocks = {} if is_recorded else _launch_blocks(graph, steps, self.plan)
        lines: list[str] = []
        for n in range(len(steps)):
            if n not in blocks:
                lines += [self.step(n), *self.deletions([n])]
            elif blocks[n] == n:
                lines += self.block([m for m, first in blocks.items() if first == n])
        run = self.function("replay", inputs, lines, ends)
        return self.recorded(run, steps) if is_recorded else run

    def function(
        self, name: str, parameters: Sequence[str], lines: Sequence[str], results: Sequence[str]
    ) -> Function:
        body = "".join(f"    {line}\n" for line in lines)
        returned = "".join(f"{result}, " for result in results)
        text = f"def {name}({', '.join(parameters)}):\n{body}    return ({returned})\n"
        return _codegen.define(name, text, dict(self.names))

    def recorded(self, run: Function, steps: Sequence[Any]) -> Function:
        """Return a function whose launches are recorded."""
        nodes = [step for step in steps if isinstance(step, Node)]
        launches = [node.launch for node in nodes if node.launch is not None]
        constants = [x.native for step in steps for x in step.constants()]
        constants += [x.native for x in self.graph.outputs if x.__class__ is Constant]
        return Recorded(run, _device(steps[0]), launches, constants)

    def block(self, numbers: Sequence[int]) -> list[str]:
        """Return the lines that call a function of launches; copies are made before it."""
        steps = [self.steps[n] for n in numbers]
        inside = {index for step in steps for index in step.outputs}
        used = [n for step in steps for n in step.inputs()]
        used += [n for m in numbers for n in self.plan.into.get(m, ()) if n is not None]
        parameters = [f"v{n}" for n in dict.fromkeys(used) if n not in inside]
        lines, copies, names = [], list[str](), list[str]()
        for n in numbers:
            step = self.steps[n]
            launch = step.launch if isinstance(step, Node) else None
            if launch is None or not launch.copies or n in self.plan.inplace:
                lines.append(self.step(n))
                continue
            arguments = list(map(self.text, step.args))
            for m in set(range(launch.copies)).difference(self.plan.owned.get(n, ())):
                name = f"w{len(names)}"
                names.append(name)
                copies.append(f"{name} = {self.constant(launch.copy)}({arguments[m]})")
                arguments[m] = name
            lines.append(self.assigned(step, launch.in_place, arguments))
        for n in numbers:
            for m in sorted(self.plan.owned.get(n, ())):
                operand = self.text(self.steps[n].args[m])
                if operand in parameters:
                    copies.append(f"{self.constant(_checker(_device(self.steps[n])))}({operand})")
        later = [*refs(self.graph.outputs)]
        for n in range(numbers[-1] + 1, len(self.steps)):
            later += [*self.steps[n].inputs(), *(m for m in self.plan.into.get(n, ()) if m)]
        results = [f"v{index}" for index in sorted(inside.intersection(later))]
        parameters += names
        lines = [f"with {self.constant(LaunchBlock)}():", *(f"    {line}" for line in lines)]
        run = self.function("block", parameters, lines, results)
        if _is_recorded(self.graph, steps, calls=False):
            run = self.recorded(run, steps)
        targets = "".join(f"{result}, " for result in results)
        call = f"{targets}{'= ' if targets else ''}{self.constant(run)}({', '.join(parameters)})"
        return [*copies, call, *self.deletions(numbers, without=inside.difference(later))]

    def step(self, n: int) -> str:
        """Return the line of a step."""
        step = self.steps[n]
        if n in self.plan.inplace:
            in_place, args = self.plan.inplace[n]
            return self.assigned(step, in_place, list(map(self.text, args)), is_scoped=True)
        if n in self.plan.owned:
            arguments = list(map(self.text, step.args))
            for m in set(range(step.launch.copies)).difference(self.plan.owned[n]):
                arguments[m] = f"{self.constant(step.launch.copy)}({arguments[m]})"
            return self.assigned(step, step.launch.in_place, arguments)
        if isinstance(step, Node):
            function = _direct(self.graph, step)
            options = [f"{key}={self.text(x)}" for key, x in step.options.items()]
            arguments = [*map(self.text, step.args), *options]
            return self.assigned(
                step, function or step.function, arguments, is_scoped=function is not None
            )
        arguments = [f"v{index}" for index in step.inputs()]
        if n in self.plan.into:
            into = [f"v{buffer}" if buffer is not None else "None" for buffer in self.plan.into[n]]
            arguments.append(f"into=({', '.join(into)},)")
        return self.assigned(step, step, arguments)

    def assigned(
        self, step: Any, function: Function, arguments: Sequence[str], *, is_scoped: bool = False
    ) -> str:
        """Return the line that calls a function for a step."""
        if not is_scoped:
            function = device_scope.scoped(function, _device(step))
        several = step.several if isinstance(step, Node) else True
        outputs = ", ".join(f"v{index}" for index in step.outputs)
        comma = "," if several else ""
        return f"{outputs}{comma} = {self.constant(function)}({', '.join(arguments)})"

    def deletions(self, numbers: Sequence[int], without: Collection[int] = ()) -> list[str]:
        """Return the line that frees values which steps use last."""
        if numbers[-1] + 1 == len(self.steps):
            return []
        last = [index for n in numbers for index in self.plan.last[n] if index not in without]
        return [f"del {', '.join(f'v{index}' for index in last)}"] if last else []

    def constant(self, x: Any) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = x
        return name

    def text(self, x: Any) -> str:
        if x.__class__ is Ref:
            return f"v{x.index}"
        if x.__class__ is Constant:
            return self.constant(x.native)
        if x.__class__ in (list, tuple) and refs(x):
            parts = ", ".join(map(self.text, x))
            return f"[{parts}]" if x.__class__ is list else f"({parts},)"
        if x.__class__ in (list, tuple):
            return self.constant(_plain(x))
        return repr(x) if x.__class__ in (int, bool) or x is None else self.constant(x)


def _checker(device: Device) -> Function:
    """Return a function that raises an error for an array that cannot be changed."""
    launcher = device._backend.launcher(device.native)
    assert not isinstance(launcher, str)  # it has launched the kernel

    def check(x: Any) -> None:
        if launcher.writable(x) is not x:
            raise ValueError(
                "an argument that is changed in place is read-only\nHint: pass a copy, x.copy()"
            )

    return check


def _device(step: Any) -> Device:
    device: Device = step.device if isinstance(step, Node) else step.description.device
    return device


def _is_recorded(graph: Graph, steps: Sequence[Any], *, calls: bool) -> bool:
    """Return whether a recorder of all calls sees these steps, or one of launches alone."""
    devices = {_device(step) for step in steps}
    if calls:
        devices.update(graph.devices())
    if not steps or len(devices) != 1 or config._kernel_debug:
        return False
    device = devices.pop()
    backend = device._backend
    # Asked for a recorder, NumPy and PyTorch import the launcher of kernels, which takes a while.
    return backend.records_calls == calls and backend.recorder(device.native) is not None


def _launch_blocks(graph: Graph, steps: Sequence[Any], plan: Plan) -> dict[int, int]:
    """Return the first step of its block for each step of a block of launches.

    The host reads nothing between the launches, and their results are small: where kernels write
    much memory, waiting takes little of their time, and temporary arrays are to be freed.
    """
    blocks: dict[int, int] = {}
    first, written, nbytes = 0, set[int](), 0
    for n, step in enumerate(steps):
        owned = plan.owned.get(n, frozenset())
        size = sum(graph.nbytes(index) for index in _allocated(step, owned))
        if config._kernel_debug or not _only_launches(step) or size > BLOCK_BYTES:
            first, written, nbytes = n + 1, set(), 0
            continue
        operands = step.copied() if isinstance(step, Node) else ()
        copied = refs([x for m, x in enumerate(operands) if m not in owned])
        nbytes += size
        if nbytes > BLOCK_BYTES or (n not in plan.inplace and written.intersection(copied)):
            first, written, nbytes = n, set(), size
        written.update(step.outputs)
        blocks[n] = first
    lengths = Counter(blocks.values())
    return {
        n: first
        for n, first in blocks.items()
        if lengths[first] > 1 or _is_recorded(graph, [steps[n]], calls=False)
    }


def _allocated(step: Any, owned: Collection[int]) -> Sequence[int]:
    """Return the outputs of a step that are not operands whose memory it changes."""
    outputs: Sequence[int] = step.outputs
    if not owned:
        return outputs
    start = len(outputs) - step.launch.copies  # copies of operands come last
    return [index for n, index in enumerate(outputs, -start) if n not in owned]


def _only_launches(step: Any) -> bool:
    """Return whether the host reads no elements of the arrays of a step."""
    if not isinstance(step, Node):
        return not step.has_totals
    if not step.is_launch:
        return False
    launcher = step.device._backend.launcher(step.device.native)
    return not isinstance(launcher, str) and not launcher.immutable


def _direct(graph: Graph, node: Node) -> Function | None:
    """Return the library's function for a node if it accepts the operands, else None."""
    arrays = [x for x in node.args if x.__class__ in (Ref, Constant)]
    scalars = [x for x in node.args if x.__class__ in (int, float, bool)]
    dtypes = {graph.values[x.index].dtype for x in arrays if x.__class__ is Ref}
    is_scalar = len(arrays) == 1 and len(scalars) == 1
    if node.options or len(dtypes) != 1 or len(arrays) + len(scalars) != len(node.args):
        return None
    if len(arrays) != sum(x.__class__ is Ref for x in arrays) or (scalars and not is_scalar):
        return None
    table = dispatch.table_of(node.device, dtypes.pop())
    if is_scalar and not table.accepts(scalars[0]):
        return None
    functions = dispatch.functions_of(node.device)
    direct = (functions.with_scalar if is_scalar else functions.plain)(node.name, table.dtype)
    if direct is None:
        return None
    return call_cache.cache_entry(table, node.name, table, scalar=is_scalar)[0]


def _plain(x: Any) -> Any:
    """Return a nested list or tuple with native arrays instead of constants."""
    if x.__class__ in (list, tuple):
        return x.__class__([_plain(item) for item in x])
    return x.native if x.__class__ is Constant else x


def builder(tree: Any, is_leaf: Callable[[Any], bool]) -> Function:
    """Return a function that builds a copy of a tree with other leaves, given in order.

    Generated for lists, tuples and dicts: closures take five times as long for nested ones.
    """
    names: dict[str, Any] = {}
    count = itertools.count()

    def text(x: Any) -> str | None:
        if is_leaf(x):
            return f"leaves[{next(count)}]"
        kind = x.__class__
        if kind is dict:
            parts = [text(child) for child in x.values()]
            pairs = zip(map(constant, x), parts, strict=True)
            return None if None in parts else f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}"
        if kind is tuple or kind is list:
            parts = [text(child) for child in x]
            if None in parts:
                return None
            inside = "".join(f"{part}, " for part in parts)
            return f"({inside})" if kind is tuple else f"[{inside}]"
        return constant(x) if node_type(x) is None else None

    def constant(x: Any) -> str:
        name = f"c{len(names)}"
        names[name] = x
        return name

    whole = text(tree)
    if whole is not None:
        return _codegen.define("build", f"def build(leaves):\n    return {whole}\n", names)

    def build(leaves: Sequence[Any]) -> Any:
        remaining = iter(leaves)
        return array_trees.mapped(lambda x: next(remaining) if is_leaf(x) else x, tree)

    return build
