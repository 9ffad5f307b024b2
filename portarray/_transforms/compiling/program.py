"""Programs: graphs as straight-line Python functions of native arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from portarray._array import call_cache, device_scope, dispatch
from portarray._kernel_language import source
from portarray._transforms.compiling.buffers import Plan, last_uses
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref, refs

__all__ = ["replay"]

Function = Callable[..., Any]


def replay(graph: Graph, steps: Sequence[Any], plan: Plan | None = None) -> Function:
    """Return a function of the graph's inputs that returns a tuple of its outputs.

    Values are let go after their last use; a plan says whose memory others take.
    """
    names: dict[str, Any] = {}

    def constant(x: Any) -> str:
        name = f"c{len(names)}"
        names[name] = x
        return name

    def text(x: Any) -> str:
        if x.__class__ is Ref:
            return f"v{x.number}"
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
    for n, step in enumerate(steps):
        outputs = ", ".join(f"v{number}" for number in step.outputs)
        if n in plan.inplace:
            own, args = plan.inplace[n]
            lines.append(f"{outputs} = {constant(own)}({', '.join(map(text, args))})")
        elif isinstance(step, Node):
            function = constant(
                _direct(graph, step) or device_scope.scoped(step.function, step.device)
            )
            options = [f"{key}={text(x)}" for key, x in step.options.items()]
            call = f"{function}({', '.join([*map(text, step.args), *options])})"
            lines.append(f"{outputs}{',' if step.several else ''} = {call}")
        else:
            run = device_scope.scoped(step, step.told.device)
            arguments = ", ".join(f"v{number}" for number in step.inputs())
            if n in plan.into:
                into = [f"v{one}" if one is not None else "None" for one in plan.into[n]]
                arguments += f"{', ' if arguments else ''}into=({', '.join(into)},)"
            several = "," if len(step.outputs) == 1 else ""
            lines.append(f"{outputs}{several} = {constant(run)}({arguments})")
        if plan.last[n] and n + 1 < len(steps):
            lines.append(f"del {', '.join(f'v{number}' for number in plan.last[n])}")
    inputs = ", ".join(f"v{number}" for number in graph.inputs)
    body = "".join(f"    {line}\n" for line in lines)
    result = "".join(f"{end}, " for end in ends)
    whole = f"def replay({inputs}):\n{body}    return ({result})\n"
    return source.generated(whole, "replay", names)


def _direct(graph: Graph, node: Node) -> Function | None:
    """Return the library's own function for a node where that takes such operands, or None."""
    arrays = [x for x in node.args if x.__class__ in (Ref, Constant)]
    scalars = [x for x in node.args if x.__class__ in (int, float, bool)]
    dtypes = {graph.values[x.number].dtype for x in arrays if x.__class__ is Ref}
    is_scalar = len(arrays) == 1 and len(scalars) == 1
    if node.options or len(dtypes) != 1 or len(arrays) + len(scalars) != len(node.args):
        return None
    if len(arrays) != sum(x.__class__ is Ref for x in arrays) or (scalars and not is_scalar):
        return None
    table = dispatch.table_of(node.device, dtypes.pop())
    if is_scalar and not table.takes(scalars[0]):
        return None
    own = dispatch.functions_of(node.device)
    short = (own.with_scalar if is_scalar else own.plain)(node.name, table.dtype)
    if short is None:
        return None
    return call_cache.cache_entry(table, node.name, table, scalar=is_scalar)[0]


def _plain(x: Any) -> Any:
    """Return a list or tuple with the arrays of its constants."""
    if x.__class__ in (list, tuple):
        return x.__class__([_plain(one) for one in x])
    return x.native if x.__class__ is Constant else x
