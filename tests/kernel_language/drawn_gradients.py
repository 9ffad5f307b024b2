"""Draws kernels of smooth functions, in which derivatives are compared with differences."""

from __future__ import annotations

import random

SIZE = 5
HEAD = """\
import math

import portarray as pa
import portarray.kernel_language as kl

SCALE = 0.75


@pa.kernel.function
def chosen(first, second):
    if first < second:
        return first * SCALE
    return second - math.sin(first)


@pa.kernel.function
def summed(value, times):
    total = value
    for step in range(times):
        if total > 2.0:
            return total * 0.5
        total = total * 1.2 + math.cos(value) * 0.3
    return total


@pa.kernel.function
def pair(value, other):
    return value * other, math.tanh(value) + other


@pa.kernel
def drawn(y, z, x, w, m, n, scale):
    i = kl.index()
{body}
"""
SMOOTH = (
    "math.sin({})", "math.cos({})", "math.tanh({})", "math.atan({})", "math.exp(-{0} * {0})",
    "math.sqrt(1.0 + {0} * {0})", "math.log1p({0} * {0})", "math.erf({})", "math.asinh({})",
    "pa.square(math.sin({}))", "1.0 / (1.5 + math.cos({}))", "math.hypot({}, 1.5)",
    "math.atan2({}, 2.0)", "math.cbrt(2.0 + math.sin({}))", "(2.0 + math.sin({})) ** 1.5",
    "math.sin({}) ** 3", "kl.fma({}, 0.5, 0.25)", "abs({})", "math.log(2.0 + math.cos({}))",
    "math.sinh(math.sin({}))", "math.exp2(math.sin({}))", "pa.logaddexp({}, 0.3)",
    "math.copysign({}, -1.0)", "math.radians({})", "math.acos(0.9 * math.sin({}))",
)  # fmt: skip


class Writer:
    """Draws the body of one kernel."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.deep = 1
        self.floats = ["a", "b"]
        self.counters: list[str] = []
        self.loops = 0
        self.statements = 0

    def choose(self, *things: str) -> str:
        return self.random.choice(things)

    def add(self, text: str) -> None:
        self.lines.append("    " * self.deep + text)

    def index(self) -> str:
        names = ["i", f"{SIZE - 1} - i", f"(i * 3 + 1) % {SIZE}", "0", f"(p + i) % {SIZE}"]
        names += [f"({counter} + i) % {SIZE}" for counter in self.counters]
        return self.choose(*names)

    def leaf(self) -> str:
        choice = self.random.randrange(8)
        if choice < 3:
            return self.choose(*self.floats)
        if choice == 3:
            return self.choose("0.5", "-1.25", "2", "scale", "SCALE")
        if choice == 4:
            return f"w[{self.index()}]"
        if choice == 5:
            return f"m[{self.index()}, {self.choose('0', '1', 'i % 3')}]"
        return f"x[{self.index()}]"

    def value(self, depth: int) -> str:
        if not depth:
            return self.leaf()
        choice = self.random.randrange(9)
        a, b = self.value(depth - 1), self.value(depth - 1)
        if choice < 3:
            return f"({a} {self.choose('+', '-', '*')} {b})"
        if choice == 3:
            return f"({a} / (2.5 + math.sin({b})))"
        if choice == 4:
            return f"({a} if {self.test()} else {b})"
        if choice == 5:
            return self.choose(f"chosen({a}, {b})", f"summed({a}, {self.choose('2', '4', 'i')})")
        if choice == 6:
            return self.choose(f"min({a}, {b})", f"max({a}, {b})", f"pa.minimum({a}, {b})")
        return self.choose(*SMOOTH).format(a)

    def test(self) -> str:
        tests = ["i % 2 == 0", f"{self.leaf()} < {self.leaf()}", "p > 2"]
        tests += [f"{counter} > 1" for counter in self.counters]
        first, second = self.choose(*tests), self.choose(*tests)
        return self.choose(first, f"({first} and {second})", f"({first} or not {second})")

    def bounded(self, depth: int) -> str:
        """Return a value that loops do not let grow."""
        return f"math.sin({self.value(depth)})" if self.counters else self.value(depth)

    def body(self) -> str:
        self.add(f"p = {self.choose('i', '1', 'n % 3')}")
        self.add(f"a = x[i] * {self.choose('0.5', 'scale', '1.5')}")
        self.add("b = 0.25")
        if not self.random.randrange(3):
            self.add(f"if i {self.choose('>= n', '== 3', '> n - 2')}:")
            self.add("    return")
        for _ in range(self.random.randint(2, 5)):
            self.statement(2)
        self.add(self.choose("y[i] = a + b", "y[i] = a * b + y[i]", "y[i] += math.sin(a) * b"))
        if self.random.randrange(2):
            self.add(f"kl.atomic_add(z, {self.index()}, a * {self.leaf()})")
        return "\n".join(self.lines)

    def block(self, depth: int) -> None:
        self.deep += 1
        for _ in range(self.random.randint(1, 2)):
            self.statement(depth)
        self.deep -= 1

    def statement(self, depth: int) -> None:
        choice = self.random.randrange(12 if depth else 6)
        name = self.choose(*self.floats)
        if choice < 2:
            self.add(f"{name} = {self.bounded(2)}")
        elif choice == 2:
            self.add(f"{name} {self.choose('+', '-', '*')}= {self.bounded(1)}")
        elif choice == 3:
            self.add(f"p = (p * 2 + {self.choose('1', 'i')}) % {SIZE}")
        elif choice == 4:
            self.add(self.choose(
                f"a, b = b, {self.bounded(1)}", f"a, b = pair({self.leaf()}, {self.bounded(1)})"
            ))  # fmt: skip
        elif choice == 5:
            self.add(self.choose(f"y[i] += {self.bounded(1)}", f"y[i] = {self.bounded(1)}"))
            if self.counters:
                self.lines[-1] = self.lines[-1].replace("y[i] =", "y[i] +=")
        elif choice < 8:
            self.add(f"if {self.test()}:")
            self.block(depth - 1)
            if self.random.randrange(2):
                self.add("else:")
                self.block(depth - 1)
        else:
            self.loop(depth)

    def loop(self, depth: int) -> None:
        counter = f"k{self.loops}"
        self.loops += 1
        if self.random.randrange(4):
            bounds = self.choose(
                "3", "1, 4", "i", "6, 0, -2", "n % 5", "0, n, 2", "i % 3, 7, 3", "40", "p",
                "0, 4, 1 + i % 2",
            )  # fmt: skip
            self.add(f"for {counter} in range({bounds}):")
            self.deep += 1
        else:
            self.add(f"{counter} = 0")
            self.add(f"while {counter} < {self.choose('3', 'i', '5')} and {self.test()}:")
            self.deep += 1
            self.add(f"{counter} += 1")
        self.deep -= 1
        self.counters.append(counter)
        self.block(depth - 1)
        if not self.random.randrange(3):
            self.deep += 1
            self.add(f"if {self.test()}:")
            self.add(f"    {self.choose('break', 'continue')}")
            self.deep -= 1
            self.block(depth - 1)
        self.counters.remove(counter)


def text(seed: int) -> str:
    """Return the text of a kernel."""
    return HEAD.format(body=Writer(seed).body())
