"""Draws kernels in which everything that is evaluated counts, and the order of it too.

A helper folds its argument into a running hash, so that a call that is made twice, not at all or
in another order changes all numbers after it. The same text runs as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

T = TypeVar("T")
ITEMS = 3
STATE = 8
HEAD = """\
@pa.kernel.function
def f(s, i, v):
    h = s[i, 0]
    s[i, 0] = (h * 31 + v) % 10007
    kl.atomic_add(s, (i, 1), 1)
    return (h + v) % 97


@pa.kernel.function
def pair(s, i, v):
    return f(s, i, v), f(s, i, 3) - s[i, 0]


@pa.kernel.function
def nested(s, i, v):
    if f(s, i, v) % 3 == 0:
        return f(s, i, 1) - f(s, i, v)
    return (s[i, 0] + f(s, i, 2)) % 50


@pa.kernel
def drawn(s, y):
    i = kl.index()
    a = s[i, 0]
    b = f(s, i, 1)
    c = a - b
    i2 = 0
{body}
    y[i, 0] = a
    y[i, 1] = b
    y[i, 2] = c
"""


@dataclass
class Writer:
    """Draws the body of a kernel."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    lines: list[str] = field(default_factory=list)
    indent: int = 1
    loops: int = 0

    def pick(self, *choices: T) -> T:
        result: T = self.draw(st.sampled_from(choices))
        return result

    def integer(self, depth: int) -> str:
        """Return an integer expression."""
        if depth <= 0:
            return self.pick("a", "b", "c", "7", "s[i, 0]", "s[i, 1]", "f(s, i, 2)", "f(s, i, a)")
        x, y = (self.integer(depth - 1) for _ in range(2))
        choice = self.draw(st.integers(0, 17))
        if choice <= 2:
            return self.pick("({} + {})", "({} - {})", "({} % 97 * ({} % 97))").format(x, y)
        if choice == 3:
            return f"({x} // {self.pick(3, 7)} - {y})"
        if choice == 4:
            return f"f(s, i, {x} % 100)"
        if choice == 5:
            return f"nested(s, i, {x} % 100)"
        if choice == 6:
            return f"({x} if {self.truth(depth - 1)} else {y})"
        if choice == 7:
            return f"({x}, {y}, f(s, i, 6))[{self.integer(depth - 1)} % 3]"
        if choice == 8:
            return f"({x}, {y})[{self.pick(0, 1, -1)}]"
        if choice == 9:
            return f"pair(s, i, {x} % 100)[{self.pick(0, 1)}]"
        if choice == 10:
            return f"({x} {self.pick('and', 'or')} {y})"
        if choice == 11:
            return f"pa.where({self.truth(depth - 1)}, {x}, {y})"
        if choice == 12:
            return f"{self.pick('min', 'max')}({x}, {y}, {self.integer(0)})"
        if choice == 13:
            return f"abs({x})" if self.pick(True, False) else f"(-{x})"
        if choice == 14:
            return f"(len(({x}, {y})) + {self.integer(0)})"
        if choice == 15:
            return f"kl.atomic_add(s, (i, {self.element(x)}), {y} % 7)"
        if choice == 16:
            return f"s[i, {self.element(x)}]"
        return f"kl.int32(kl.float32({x} % 100))"

    def element(self, x: str) -> str:
        """Return the column of an element that no helper uses."""
        return f"2 + {x} % 6"

    def truth(self, depth: int) -> str:
        x, y, z = (self.integer(depth - 1) for _ in range(3))
        signs = [self.pick("<", "<=", ">", ">=", "==", "!=") for _ in range(2)]
        choice = self.draw(st.integers(0, 5))
        if choice <= 1:
            return f"({x} {signs[0]} {y} {signs[1]} {z})"
        if choice == 2 and depth > 0:
            word = self.pick("and", "or")
            return f"({self.truth(depth - 1)} {word} {self.truth(depth - 1)})"
        if choice == 3 and depth > 0:
            return f"(not {self.truth(depth - 1)})"
        if choice == 4:
            return f"(math.isfinite({x}) and {y} % 2 == 0)"
        return f"({x} {signs[0]} {y})"

    def add(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def target(self) -> str:
        return self.pick("a", "b", "c", f"s[i, {self.element(self.integer(1))}]")

    def value(self) -> str:
        return f"({self.integer(2)}) % 101"

    def statement(self, depth: int) -> None:
        choice = self.draw(st.integers(0, 11 if depth else 6))
        if choice <= 1:
            self.add(f"{self.target()} = {self.value()}")
        elif choice == 2:
            # A sum of columns stays small: they are reduced below.
            target = self.pick("a", "b", f"s[i, {self.element(self.integer(1))}]")
            self.add(f"{target} {self.pick('+=', '-=')} {self.value()}")
        elif choice == 3:
            self.add(f"{self.target()} = {self.target()} = {self.value()}")
        elif choice == 4:
            self.add(f"{self.target()}, {self.target()} = {self.value()}, {self.value()}")
        elif choice == 5:
            self.add(f"{self.target()}, {self.target()} = pair(s, i, {self.value()})")
        elif choice == 6:
            call = self.pick("f(s, i, {})", "kl.print({})", "nested(s, i, {})")
            self.add(call.format(self.value()))
        elif choice <= 8:
            self.add(f"if {self.truth(2)}:")
            self.block(depth)
            for _ in range(self.draw(st.integers(0, 2))):
                self.add(f"elif {self.truth(1)}:")
                self.block(depth)
        elif choice == 9:
            bounds = [f"{self.integer(1)} % 4", f"{self.integer(1)} % 6"]
            step = f", {self.integer(1)} % 3 + 1"
            self.add(f"for k{self.loops} in range({', '.join(bounds)}{step}):")
            self.loops += 1
            self.block(depth)
        else:
            counter = f"w{self.loops}"
            self.loops += 1
            self.add(f"{counter} = 0")
            self.add(f"while {counter} < 3 and {self.truth(1)}:")
            self.add(f"    {counter} += 1")
            self.block(depth)

    def block(self, depth: int) -> None:
        self.indent += 1
        for _ in range(self.draw(st.integers(1, 2))):
            self.statement(depth - 1)
        self.indent -= 1


@st.composite
def kernels(draw: Any) -> str:
    """Draw the text of a kernel and its helpers."""
    writer = Writer(draw)
    for _ in range(draw(st.integers(2, 6))):
        writer.statement(2)
        # Large numbers would wrap around, which Python's do not.
        writer.add("a, b, c = a % 1009, b % 1009, c % 1009")
    return HEAD.format(body="\n".join(writer.lines))


def atomic_add(x: Any, index: Any, value: Any) -> Any:
    old = x[index]
    x[index] += value
    return old


def in_python(text: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return what the text computes as plain Python, for one work-item after another."""
    import math

    state, result = arrays()
    state, result = state.astype(object), result.astype(object)
    kernel: Any = lambda function: function  # noqa: E731
    kernel.function = kernel
    item = [0]
    names: dict[str, Any] = {
        "math": math,
        "pa": SimpleNamespace(kernel=kernel, where=lambda test, x, y: x if test else y),
        "kl": SimpleNamespace(
            index=lambda: item[0], atomic_add=atomic_add, print=lambda *values: None,
            int32=int, float32=float,
        ),
    }  # fmt: skip
    exec(compile(text, "<drawn>", "exec"), names)
    for item[0] in range(ITEMS):
        names["drawn"](state, result)
    return state.astype(np.int32), result.astype(np.int32)


def arrays() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    state = np.arange(ITEMS * STATE, dtype=np.int32).reshape(ITEMS, STATE)
    return state, np.zeros((ITEMS, 3), np.int32)
