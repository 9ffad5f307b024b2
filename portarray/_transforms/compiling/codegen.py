"""Generated Python functions: graphs and output trees of programs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from portarray import _codegen
from portarray._array import call_cache, device_scope, dispatch
from portarray._config import config
from portarray._launchers.launcher import LaunchBlock
from portarray._transforms.compiling.buffers import Plan, last_uses
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref, refs
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
    names: dict[str, Any] = {}

    def constant(x: Any) -> str:
        name = f"c{len(names)}"
        names[name] = x
        return name

    def text(x: Any) -> str:
        if x.__class__ is Ref:
            return f"v{x.index}"
        if x.__class__ is Constant:
            return constant(x.native)
        if x.__class__ in (list, tuple) and refs(x):
            parts = ", ".join(map(text, x))
            return f"[{parts}]" if x.__class__ is list else f"({parts},)"
        if x.__class__ in (list, tuple):
            return constant(_plain(x))
        return repr(x) if x.__class__ in (int, bool) or x is None else constant(x)

    ends = [text(x) for x in graph.outputs]
    if plan is None:
        plan = Plan(last=last_uses(steps, refs(graph.outputs)))
    lines = []
    blocks = _launch_blocks(graph, steps, plan)
    for n, step in enumerate(steps):
        indent = ""
        if n in blocks:
            indent = "    "
            if n - 1 not in blocks or blocks[n - 1] != blocks[n]:
                lines.append(f"with {constant(LaunchBlock)}():")
        outputs = ", ".join(f"v{index}" for index in step.outputs)
        if n in plan.inplace:
            in_place, args = plan.inplace[n]
            lines.append(f"{indent}{outputs} = {constant(in_place)}({', '.join(map(text, args))})")
        elif isinstance(step, Node):
            function = constant(
                _direct(graph, step) or device_scope.scoped(step.function, step.device)
            )
            options = [f"{key}={text(x)}" for key, x in step.options.items()]
            call = f"{function}({', '.join([*map(text, step.args), *options])})"
            lines.append(f"{indent}{outputs}{',' if step.several else ''} = {call}")
        else:
            run = device_scope.scoped(step, step.description.device)
            arguments = ", ".join(f"v{index}" for index in step.inputs())
            if n in plan.into:
                into = [f"v{buffer}" if buffer is not None else "None" for buffer in plan.into[n]]
                arguments += f"{', ' if arguments else ''}into=({', '.join(into)},)"
            several = "," if len(step.outputs) == 1 else ""
            lines.append(f"{indent}{outputs}{several} = {constant(run)}({arguments})")
        if plan.last[n] and n + 1 < len(steps):
            lines.append(f"{indent}del {', '.join(f'v{index}' for index in plan.last[n])}")
    inputs = ", ".join(f"v{index}" for index in graph.inputs)
    body = "".join(f"    {line}\n" for line in lines)
    result = "".join(f"{end}, " for end in ends)
    whole = f"def replay({inputs}):\n{body}    return ({result})\n"
    return _codegen.define("replay", whole, names)


def _launch_blocks(graph: Graph, steps: Sequence[Any], plan: Plan) -> dict[int, int]:
    """Return the first step of its block for each step of a block of launches.

    The host reads nothing between the launches, and their results are small: where kernels write
    much memory, waiting takes little of their time, and temporary arrays are to be freed.
    """
    blocks: dict[int, int] = {}
    first, written, nbytes = 0, set[int](), 0
    for n, step in enumerate(steps):
        size = sum(graph.nbytes(index) for index in step.outputs)
        if config._kernel_debug or not _only_launches(step) or size > BLOCK_BYTES:
            first, written, nbytes = n + 1, set(), 0
            continue
        copied = refs(step.copied()) if isinstance(step, Node) else []
        nbytes += size
        if nbytes > BLOCK_BYTES or (n not in plan.inplace and written.intersection(copied)):
            first, written, nbytes = n, set(), size
        written.update(step.outputs)
        blocks[n] = first
    lengths = Counter(blocks.values())
    return {n: first for n, first in blocks.items() if lengths[first] > 1}


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
