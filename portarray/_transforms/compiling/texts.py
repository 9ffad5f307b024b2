"""Texts of fused kernels: groups of nodes in the kernel language."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray._transforms.compiling import expressions
from portarray._transforms.compiling.expressions import COSTLY, REDUCTIONS
from portarray._transforms.compiling.fusion import Axes, Group, is_alias
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref

__all__ = ["KernelText", "text_of"]


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel, and how it is launched.

    ``arrays`` are what it reads, in order, with the shapes that it sees them in; ``outputs`` are
    the values that it writes, which come first among its parameters.
    """

    text: str
    outputs: list[int]
    output_shapes: list[tuple[int, ...]]
    arrays: list[Ref | Constant]
    array_shapes: list[tuple[int, ...]]
    ndrange: tuple[int, ...]
    group: tuple[int, ...] | None


def text_of(
    graph: Graph,
    group: Group,
    outputs: Sequence[int],
    constant: Callable[[Constant], Any],
    lanes: Callable[[int], int],
    *,
    sized: bool = False,
) -> KernelText:
    """Return the kernel of a group.

    ``constant`` returns the number that all elements of a constant are, or None; ``lanes`` how many
    work-items share a row of a length. With ``sized`` the text has no sizes, so that it is the same
    for other ones.
    """
    return _Writer(graph, group, outputs, constant, lanes, sized=sized).written()


class _Writer:
    def __init__(
        self,
        graph: Graph,
        group: Group,
        outputs: Sequence[int],
        constant: Callable[[Constant], Any],
        lanes: Callable[[int], int],
        *,
        sized: bool,
    ) -> None:
        self.graph = graph
        self.group = group
        self.outputs = list(outputs)
        self.constant = constant
        self.nodes = [graph.nodes[n] for n in group.nodes]
        self.made = {node.outputs[0]: node for node in self.nodes}
        self.arrays: dict[tuple[Any, Axes], tuple[str, Ref | Constant, Axes]] = {}
        self.operands: dict[int, list[str | tuple[Any, Axes]]] = {}
        for node in self.nodes:
            self._find_operands(node)
        self._collapse()
        self.row = math.prod(self.sizes[self.first_inner :])
        self.sized = sized
        self.holder: dict[int, int] = {}  # costly values to the outputs that hold them
        size_texts = [self._size_text(n) for n in range(len(self.sizes))]
        self.row_text = " * ".join(size_texts[self.first_inner :]) if sized else str(self.row)
        self.part_text = size_texts[0]
        self.lanes = lanes(self.row) if group.inner is not None else 0
        self.index = [f"i{n}" for n in range(len(self.sizes))]
        if group.inner is not None:
            outer, own = size_texts[: self.first_inner], size_texts[self.first_inner :]
            self.index = [*_unravelled("row", outer), *_unravelled("(begin + lane)", own)]

    # --- operands -----------------------------------------------------------------------------

    def _find_operands(self, node: Node) -> None:
        found: list[str | tuple[Any, Axes]] = []
        axes = self.group.axes[node.outputs[0]]
        for x in node.args[:1] if node.name in REDUCTIONS or is_alias(node) else node.args:
            if x.__class__ is Ref and x.number in self.made:
                found.append(f"v{x.number}")
            elif x.__class__ in (Ref, Constant):
                number = self.constant(x) if x.__class__ is Constant else None
                if number is not None:
                    dtype = np.dtype(number.dtype)
                    value = expressions.literal(number)
                    found.append(value if dtype.kind == "b" else expressions.cast(value, dtype))
                else:
                    own = self._own_axes(node, x, axes)
                    key = (x.number if x.__class__ is Ref else x, own)
                    if key not in self.arrays:
                        self.arrays[key] = (f"x{len(self.arrays)}", x, own)
                    found.append(key)
            elif node.name == "astype":
                break  # its dtype
            else:
                found.append("None" if x is None else expressions.literal(x))
        self.operands[node.outputs[0]] = found

    def _own_axes(self, node: Node, x: Ref | Constant, axes: Axes) -> Axes:
        shape = self.graph.values[x.number].shape if isinstance(x, Ref) else x.native.shape
        if node.name in REDUCTIONS:
            return tuple([n if size > 1 else -1 for n, size in enumerate(shape)])
        aligned = axes[len(axes) - len(shape) :]
        return tuple([axis if size > 1 else -1 for axis, size in zip(aligned, shape, strict=True)])

    # --- axes ---------------------------------------------------------------------------------

    def _collapse(self) -> None:
        """Merge neighbouring axes that every array has or lacks together."""
        group = self.group
        every = [axes for _, _, axes in self.arrays.values()]
        every += [group.axes[number] for number in self.outputs]
        self.place: dict[int, int] = {}  # axis of the domain to axis of the kernel
        self.sizes: list[int] = []
        self.first_inner = 0
        last: Any = None
        for axis, size in enumerate(group.domain):
            if size <= 1:
                continue
            is_inner = group.inner is not None and axis >= group.inner
            pattern = (is_inner, *[axis in axes for axes in every])
            if pattern == last:
                self.sizes[-1] *= size
            else:
                self.sizes.append(size)
                last = pattern
            self.place[axis] = len(self.sizes) - 1
            if not is_inner:
                self.first_inner = len(self.sizes)
        if not self.sizes:
            self.sizes, self.first_inner = [1], 1
        if group.parts:
            self.place = dict.fromkeys(self.place, 0)
            self.sizes, self.first_inner = [group.parts, self.sizes[0] // group.parts], 1

    def _places(self, axes: Axes) -> list[int]:
        if self.group.parts:
            return [0, 1] if self.group.is_full(axes) else []
        return sorted({self.place[axis] for axis in axes if axis >= 0})

    def _shape(self, axes: Axes) -> tuple[int, ...]:
        return tuple([self.sizes[n] for n in self._places(axes)]) or (1,)

    def _index(self, axes: Axes) -> str:
        return ", ".join(self.index[n] for n in self._places(axes)) or "0"

    def _output_shape(self, number: int) -> tuple[int, ...]:
        if self.group.parts and not self._is_full(number):
            return (self.group.parts,)
        return self._shape(self.group.axes[number])

    def _output_index(self, number: int) -> str:
        if self.group.parts and not self._is_full(number):
            return "row"
        return self._index(self.group.axes[number])

    def _is_full(self, number: int) -> bool:
        return self.group.is_full(self.group.axes[number])

    def _size_text(self, axis: int) -> str:
        """Return the text of the length of an axis of the kernel."""
        found = [(name, self._places(axes)) for name, _, axes in self.arrays.values()]
        found += [
            (f"o{n}", self._places(self.group.axes[number]))
            for n, number in enumerate(self.outputs)
            if self._is_full(number) or not self.group.parts
        ]
        for name, places in found if self.sized else ():
            if axis in places:
                return f"{name}.shape[{places.index(axis)}]"
        return str(self.sizes[axis])

    # --- text ---------------------------------------------------------------------------------

    def written(self) -> KernelText:
        """Return the text of the kernel."""
        names = [f"o{n}" for n in range(len(self.outputs))]
        names += [name for name, _, _ in self.arrays.values()]
        body = self._by_rows() if self.group.inner is not None else self._by_elements()
        text = f"def fused({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in body)
        ndrange: tuple[int, ...] = tuple(self.sizes)
        group = None
        if self.group.inner is not None:
            ndrange, group = (
                (math.prod(self.sizes[: self.first_inner]) * self.lanes,),
                (self.lanes,),
            )
        return KernelText(
            text,
            self.outputs,
            [self._output_shape(number) for number in self.outputs],
            [x for _, x, _ in self.arrays.values()],
            [self._shape(axes) for _, _, axes in self.arrays.values()],
            ndrange,
            group,
        )

    def _by_elements(self) -> list[str]:
        lines = [f"{', '.join(f'i{n}' for n in range(len(self.sizes)))} = kl.index()"]
        lines += self._computed([node.outputs[0] for node in self.nodes], set())
        for n, number in enumerate(self.outputs):
            lines.append(f"o{n}[{self._index(self.group.axes[number])}] = v{number}")
        return lines

    def _computed(
        self, wanted: Sequence[int], known: set[str], held: Collection[int] = ()
    ) -> list[str]:
        """Return the lines that compute values, in the order of the nodes; some are held."""
        lines = []
        for number in wanted:
            if number in held:
                lines.append(f"v{number} = {self._place_of(self.holder[number])}")
                continue
            for one in self.operands[number]:
                if isinstance(one, tuple):
                    name, _, axes = self.arrays[one]
                    if f"a{name}" not in known:
                        known.add(f"a{name}")
                        lines.append(f"a{name} = {name}[{self._index(axes)}]")
            texts = [
                f"a{self.arrays[one][0]}" if isinstance(one, tuple) else one
                for one in self.operands[number]
            ]
            node = self.made[number]
            if is_alias(node):
                lines.append(f"v{number} = {texts[0]}")
            else:
                dtype = self.graph.values[number].dtype
                text = expressions.expression(node.name, texts, dtype, node.options)
                lines.append(f"v{number} = {text}")
        return lines

    def _levels(self) -> dict[int, int]:
        """Return for each value how many reductions are before it, one after the other."""
        levels: dict[int, int] = {}
        for node in self.nodes:
            level = max([levels[n] for n in node.inputs() if n in levels], default=0)
            levels[node.outputs[0]] = level + (node.name in REDUCTIONS)
        return levels

    def _needed(self, wanted: Sequence[int], held: Collection[int] = ()) -> list[int]:
        """Return the full values that some are computed from, and these, in order."""
        found: set[int] = set()
        rest = [n for n in wanted if self._is_full(n)]
        while rest:
            number = rest.pop()
            if number in found:
                continue
            found.add(number)
            if number in held:
                continue
            rest += [n for n in self.made[number].inputs() if n in self.made and self._is_full(n)]
        return [node.outputs[0] for node in self.nodes if node.outputs[0] in found]

    def _place_of(self, number: int) -> str:
        """Return the text of an output's element."""
        at = self.outputs.index(number)
        return f"o{at}[{self._index(self.group.axes[number])}]"

    def _holding(self, levels: dict[int, int]) -> dict[int, int]:
        """Return costly values that later passes need, and the outputs that hold them until then.

        Each work-item writes and reads the same elements, which are in the cache of a processor; on
        GPUs, with many lanes, memory costs more than to compute the values again.
        """
        found: dict[int, int] = {}
        if self.lanes > _FEW:
            return found
        reduced = [n for n in levels if self.made[n].name in REDUCTIONS]
        for output in self.outputs:
            early = {
                int(one[1:])
                for n in reduced
                if levels[n] <= levels[output] and isinstance(one := self.operands[n][0], str)
            }
            computed = set(self._needed(sorted(early)))
            for n in reversed(self._needed([output])):
                if (
                    n in computed - set(self.outputs) - found.keys()
                    and self.graph.values[n].dtype == self.graph.values[output].dtype
                    and self.group.axes[n] == self.group.axes[output]
                    and any(self.made[one].name in COSTLY for one in self._needed([n]))
                ):
                    found[n] = output
                    break
        return found

    def _by_rows(self) -> list[str]:
        levels, lanes, row = self._levels(), self.lanes, self.row
        self.holder = self._holding(levels)
        held: set[int] = set()
        lines = ["row = kl.group_index(0)", "lane = kl.local_index(0)"]
        if self.sized:
            lines.append(f"length = {self.row_text}")
        length = "length" if self.sized else str(row)
        shared: dict[str, str] = {}
        names: set[str] = set()  # of what is loaded once for a row
        row_values = [n for n in levels if not self._is_full(n)]
        passes = max([levels[n] for n in levels if self._is_full(n)], default=0)
        body: list[str] = []
        for level in range(passes + 1):
            ready = [
                n for n in row_values if levels[n] == level and self.made[n].name not in REDUCTIONS
            ]
            body += self._computed(ready, names)
            reduced = [
                n for n in row_values
                if self.made[n].name in REDUCTIONS and levels[n] == level + 1
            ]  # fmt: skip
            stored = [n for n in self.outputs if self._is_full(n) and levels[n] == level]
            operands = [self.operands[n][0] for n in reduced]
            inside = [int(one[1:]) for one in operands if isinstance(one, str)]
            needed = self._needed([*inside, *stored], held)
            loop = self._computed(needed, set(names), held)
            for n in self.holder.keys() & set(needed) - held:
                if levels[self.holder[n]] > level:
                    held.add(n)
                    loop.append(f"{self._place_of(self.holder[n])} = v{n}")
            for n in reduced:
                one = self.operands[n][0]
                if isinstance(one, tuple) and f"a{self.arrays[one][0]} = " not in "".join(loop):
                    name, _, axes = self.arrays[one]
                    loop.append(f"a{name} = {name}[{self._index(axes)}]")
            for n in reduced:
                one = self.operands[n][0]
                x = f"a{self.arrays[one][0]}" if isinstance(one, tuple) else one
                how, kind = REDUCTIONS[self.made[n].name], self._accumulated(n)
                body.append(f"r{n} = {expressions.cast(how.begin(kind), kind)}")
                x = expressions.cast(x, kind)
                loop.append(f"r{n} = {how.combine.format(f'r{n}', x)}")
            for n in stored:
                loop.append(f"{self._place_of(n)} = v{n}")
            held -= {n for n in held if self.holder[n] in stored}
            if loop:
                body.append(f"for begin in range(0, {length}, {lanes}):")
                indent = "    "
                if row % lanes or self.sized:
                    body.append(f"    if begin + lane < {length}:")
                    indent = "        "
                body += [indent + line for line in loop]
            for n in reduced:
                body += self._combined(n, shared)
        rest = [n for n in row_values if levels[n] == passes + 1]
        body += self._computed([n for n in rest if self.made[n].name not in REDUCTIONS], names)
        stored = [n for n in self.outputs if not self._is_full(n)]
        if stored:
            body.append("if lane == 0:")
            for n in stored:
                at = self.outputs.index(n)
                body.append(f"    o{at}[{self._output_index(n)}] = v{n}")
        lines += [f"{name} = kl.local(({lanes},), kl.{kind})" for kind, name in shared.items()]
        return lines + body

    def _accumulated(self, number: int) -> np.dtype[Any]:
        """Return the dtype that a reduction is computed in."""
        dtype = self.graph.values[number].dtype
        is_half = dtype.itemsize == 2 and dtype.kind not in "iu"
        return np.dtype(np.float32) if is_half else dtype

    def _combined(self, number: int, shared: dict[str, str]) -> list[str]:
        """Return the lines that combine what the lanes of a row have found."""
        kind = self._accumulated(number)
        part = shared.setdefault(kind.name, f"part{len(shared)}")
        how = REDUCTIONS[self.made[number].name]
        r = f"r{number}"
        lines = [f"{part}[lane] = {r}", "kl.barrier()"]
        if self.lanes <= _FEW:
            lines += [
                f"{r} = {part}[0]",
                f"for k in kl.unroll(range(1, {self.lanes})):",
                f"    {r} = {how.combine.format(r, f'{part}[k]')}",
            ]
        else:
            step = self.lanes // 2
            while step:
                both = how.combine.format(f"{part}[lane]", f"{part}[lane + {step}]")
                lines += [
                    f"if lane < {step}:",
                    f"    {part}[lane] = {both}",
                    "kl.barrier()",
                ]
                step //= 2
            lines.append(f"{r} = {part}[0]")
        lines.append("kl.barrier()")
        count = str(self.row * max(self.group.parts, 1))
        if self.sized:
            count = f"length * {self.part_text}" if self.group.parts else "length"
            count = expressions.cast(count, kind)
        end = how.end.format(r, n=count)
        own = self.graph.values[number].dtype
        lines.append(f"v{number} = {end if own == kind else expressions.cast(end, own)}")
        return lines


_FEW = 16
"""Lanes whose numbers each of them combines by itself."""


def _unravelled(name: str, sizes: Sequence[str]) -> list[str]:
    """Return the texts of the indices along several axes for one along all of them."""
    found = []
    rest = name
    for size in reversed(sizes[1:]):
        found.append(f"{rest} % {size}")
        rest = f"({rest} // {size})"
    return [rest, *reversed(found)]
