"""Draws kernels: their text and their arguments, of all dtypes, operators and functions.

Expressions are drawn for a wanted dtype, so that nearly every text is in the language. Functions
that devices round differently are called last, where nothing amplifies the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

T = TypeVar("T")
SIZE = 16
GROUP = 8
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX_ROUNDED = ("pa.exp({})", "kl.{dtype}(abs({}), 1)", "cmath.exp({}) * 2")
EXACT = ("abs({})", "pa.floor({})", "pa.ceil({})", "pa.trunc({})", "pa.round({})", "pa.square({})")
ROUNDED = (
    "math.exp({})", "math.sin({})", "math.cos({})", "math.tanh({})", "math.atan({})",
    "math.expm1({})", "math.log1p(abs({}))", "math.log(abs({}) + 1)", "math.exp2({})",
    "math.sqrt(abs({}))", "math.cbrt({})", "math.asinh({})", "math.erf({})", "math.hypot({}, 2.5)",
    "math.atan2({}, 1.5)", "pa.log2(abs({}) + 2)", "pa.log10(abs({}) + 2)", "pa.sinh({})",
)  # fmt: skip
HEAD = """\
import cmath
import math

import portarray as pa
import portarray.kernel_language as kl


@pa.kernel.function
def chosen(first, second):
    if first < second:
        return first
    return second + first


@pa.kernel.function
def turned(value, other):
    if value == other or not other:
        return value * 1j
    return complex(other.imag, value.real)


@pa.kernel.function
def repeated(value, times):
    total = value
    for step in range(times):
        if step == 3:
            break
        total += value
    return total


@pa.kernel
def drawn({parameters}):
    i = kl.index()
{body}
"""


@dataclass
class Program:
    """A kernel and what it is called with."""

    text: str
    arguments: list[Any]
    exact: bool
    group: int | None = None

    def __repr__(self) -> str:  # as Hypothesis shows it
        arguments_text = ", ".join(repr(argument) for argument in self.arguments)
        return f"Program:\n{self.text}\ncalled with {arguments_text}"


@dataclass
class Writer:
    """Draws one text."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    dtypes: Sequence[str]  # of the device
    arrays: dict[str, str]  # name of an array that is read to its dtype
    outputs: dict[str, str]
    default: str
    locals_: dict[str, str] = field(default_factory=dict)  # to a dtype, "weak int" or "weak float"
    counters: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    loops: int = 0
    deep: int = 0
    shared: dict[str, str] = field(default_factory=dict)  # dtypes to memory of a group
    counted: list[str] = field(default_factory=list)  # conditions that are the same for a group
    divergent: int = 0  # how many conditions around are not the same for all work-items

    def pick(self, *things: T) -> T:
        result: T = self.draw(st.sampled_from(things))
        return result

    def often(self, out_of: int) -> bool:
        return bool(self.draw(st.integers(0, out_of - 1)))

    # --- expressions ------------------------------------------------------------------------

    def literal(self, dtype: str) -> str:
        if dtype.startswith("u"):
            return str(self.pick(0, 1, 2, 3, 7, 100, 127))
        if dtype.startswith("i"):
            return str(self.pick(0, 1, 2, 3, 7, 100, -1, -2, -5, -128))
        if dtype.startswith("c"):
            return self.pick("0j", "1j", "(0.5 - 2j)", "-1.5", "3", "(1 + 0j)", "1e3j")
        return self.pick("0.0", "1.0", "0.5", "-1.5", "3", "2", "-7.25", "1e3")

    def weak(self, depth: int) -> str:
        """Return a weak integer."""
        choice = self.draw(st.integers(0, 9 if depth else 4))
        if choice == 0:
            return str(self.pick(0, 1, 2, 5, 17, -3, 1000))
        if choice == 1:
            return "i"
        if choice == 2:
            names = [*self.counters, *[n for n, d in self.locals_.items() if d == "weak int"]]
            return self.pick(*names, "n") if names else "n"
        if choice in (3, 4):
            return self.pick("len(a)", "a.shape[0]", "kl.global_size()", "n", "b.size")
        a, b = self.weak(depth - 1), self.weak(depth - 1)
        if choice == 9:
            word = self.pick("min({}, {})", "max({}, {})", "({} if {} > 3 else 4)")
            return word.format(a, b)
        sign = self.pick("+", "-", "*", "*", "//", "%", "&", "|", "^", "<<", ">>", "**", "abs")
        if sign in ("<<", ">>"):
            return f"({a} {sign} {self.pick('3', 'i', '(i + 20)', '40')})"
        if sign == "**":
            return f"(({a} % 11) ** {self.pick('2', '3', 'i')})"
        return f"abs({a})" if sign == "abs" else f"({a} {sign} {b})"

    def truth(self, depth: int) -> str:
        choice = self.draw(st.integers(0, 7))
        if choice <= 3 or not depth:
            dtype = self.pick(*[d for d in self.readable_names() if d != "bool"] or ["weak int"])
            signs = [self.pick("<", "<=", ">", ">=", "==", "!=") for _ in range(2)]
            if dtype == "weak int":
                return f"({self.weak(1)} {signs[0]} {self.weak(1)})"
            a, b = self.value(dtype, depth - 1), self.value(dtype, depth - 1)
            if "complex" in dtype:
                if choice == 0:
                    return f"({self.part(dtype, depth)} {signs[0]} {self.literal('float')})"
                return f"({a} {self.pick('==', '!=')} {b})" if choice == 1 else f"bool({a})"
            if choice == 0:
                return f"({a} {signs[0]} {b} {signs[1]} {self.literal(dtype)})"
            return f"({a} {signs[0]} {b})"
        if choice == 4:
            return f"(not {self.truth(depth - 1)})"
        floats = [d for d in self.readable_names() if "float" in d or "complex" in d]
        if choice == 5 and floats:
            word = self.pick("isnan", "isinf", "isfinite")
            floating = self.pick(*floats)
            module = "math" if "float" in floating else self.pick("cmath", "pa")
            return f"{module}.{word}({self.value(floating, depth - 1)})"
        word = self.pick("and", "or")
        return f"({self.truth(depth - 1)} {word} {self.truth(depth - 1)})"

    def readable_names(self) -> list[str]:
        return sorted(set(self.arrays.values()))

    def leaf(self, dtype: str) -> str:
        names = [f"{name}[i]" for name, d in self.arrays.items() if d == dtype]
        names += [
            f"{name}[{self.index_text()}]"
            for name, array_dtype in self.arrays.items()
            if array_dtype == dtype
        ]
        names += [name for name, d in self.locals_.items() if d == dtype]
        if names and self.often(4):
            return self.pick(*names)
        if dtype == "bool":
            return f"({self.weak(0)} > {self.weak(0)})"
        return f"kl.{dtype}({self.literal(dtype)})"

    def index_text(self) -> str:
        return self.pick("i", f"{SIZE - 1} - i", f"(i + 1) % {SIZE}", f"(i * 7 + 3) % {SIZE}", "0")

    def value(self, dtype: str, depth: int) -> str:
        """Return an expression of a dtype."""
        if depth <= 0:
            return self.leaf(dtype)
        if "complex" in dtype:
            return self.complex_value(dtype, depth)
        if dtype == "bool":
            if self.often(3):
                return self.truth(depth)
            a, b = self.value(dtype, depth - 1), self.value(dtype, depth - 1)
            return self.pick(f"({a} & {b})", f"({a} | {b})", f"({a} ^ {b})", f"(~{a})")
        kind = dtype.rstrip("0123456789")
        choice = self.draw(st.integers(0, 11))
        a = self.value(dtype, depth - 1)
        if choice <= 3:
            b = self.value(dtype, depth - 1) if choice <= 1 else self.literal(dtype)
            signs = ["+", "-", "*", "//", "%"]
            signs += ["/"] if "float" in kind else ["&", "|", "^"]
            sign = self.pick(*signs)
            return f"({a} {sign} {b})" if self.often(3) else f"({b} {sign} {a})"
        if choice == 4:
            return f"({a} if {self.truth(depth - 1)} else {self.value(dtype, depth - 1)})"
        if choice == 5:
            return self.cast(dtype, depth)
        if choice == 6:
            word = self.pick("min", "max", "pa.minimum", "pa.maximum", "chosen")
            return f"{word}({a}, {self.value(dtype, depth - 1)})"
        if choice == 7:
            return f"repeated({a}, {self.pick('2', '5', 'n % 3', 'i % 4')})"
        if choice == 8 and "float" in kind:
            return self.pick(*EXACT).format(a)
        if choice == 8:
            count = self.pick("1", "3", "9", "40", "(i % 7)", "-1", a)
            if self.often(3) and (count != "-1" or kind == "int"):
                return self.pick(f"({a} << {count})", f"({a} >> {count})")
            return f"({a} ** {self.pick('2', '3', '0', '5')})"
        if choice == 9:
            sign = self.pick("-", "+") if "float" in kind else self.pick("-", "~", "+")
            return f"({sign}{a})"
        if choice == 10 and kind == "int":
            return self.pick(f"abs({a})", f"pa.sign({a})", f"int({a}) * {a}")
        if choice == 11 and "float" not in kind:
            return f"kl.{dtype}({self.weak(depth)} + i)"
        if choice == 10 and "float" in kind:
            others = [d for d in self.readable_names() if d in INTEGERS]
            if others and "bfloat" not in kind:
                source = self.value(self.pick(*others), depth - 1)
                return f"kl.{dtype}({source} {self.pick('+', '*', '-')} {a})"
        return f"({a} + {self.weak(1)} % 5)" if kind == "int" else a

    def part(self, dtype: str, depth: int) -> str:
        """Return a real part of a complex value."""
        value = self.value(dtype, depth - 1)
        return self.pick(f"{value}.real", f"pa.imag({value})", f"pa.real({value})", f"{value}.imag")

    def complex_value(self, dtype: str, depth: int) -> str:
        """Return an expression of a complex dtype."""
        a, choice = self.value(dtype, depth - 1), self.draw(st.integers(0, 8))
        if choice <= 3:
            b = self.value(dtype, depth - 1) if choice <= 1 else self.literal(dtype)
            sign = self.pick("+", "-", "*", "/")
            return f"({a} {sign} {b})" if self.often(3) else f"({b} {sign} {a})"
        if choice == 4:
            return f"({a} if {self.truth(depth - 1)} else {self.value(dtype, depth - 1)})"
        if choice == 5:
            return self.cast(dtype, depth)
        if choice == 6:
            word = self.pick("-{}", "+{}", "{} ** 2", "pa.conj({})", "pa.square({})", "1 / {}")
            return f"({word.format(a)})"
        if choice == 7:
            part = self.part(dtype, depth)
            return self.pick(
                f"turned({a}, {self.value(dtype, depth - 1)})",
                f"kl.{dtype}({part}, {self.weak(1)} % 5)",
                f"repeated({a}, {self.pick('2', '5', 'n % 3', 'i % 4')})",
            )
        return f"({a} {self.pick('+', '*')} ({self.weak(1)} % 5))"

    def cast(self, dtype: str, depth: int) -> str:
        """Return a conversion that is defined on every device."""
        source = self.pick(*self.readable_names())
        if "complex" in source and "complex" not in dtype:
            dtypes = [name for name in self.readable_names() if "complex" not in name]
            source = self.pick(*dtypes)
        if "float" not in source or "float" in dtype or "complex" in dtype:
            return f"kl.{dtype}({self.value(source, depth - 1)})"
        low = 0 if dtype.startswith("u") else -100
        x = self.leaf(source)
        return f"(kl.{dtype}(min(max({x}, {low}), 100)) if {x} == {x} else kl.{dtype}(3))"

    # --- statements -------------------------------------------------------------------------

    def add(self, text: str) -> None:
        self.lines.append("    " * (self.deep + 1) + text)

    def body(self, statements: int, rounded: bool) -> None:
        for n in range(self.draw(st.integers(1, 3))):
            dtype = self.pick(*self.readable_names(), "weak int", "weak float")
            self.add(f"v{n} = {self.first(dtype)}")
            self.locals_[f"v{n}"] = dtype
        for _ in range(statements):
            self.statement(2)
        self.ends()
        for name, dtype in self.outputs.items():
            if rounded and "complex" in dtype:
                value = self.pick(*COMPLEX_ROUNDED).format(self.value(dtype, 1), dtype=dtype)
                self.add(f"{name}[i] = {value}")
            elif rounded and "float" in dtype:
                value = self.pick(*ROUNDED).format(self.value(dtype, 1))
                self.add(f"{name}[i] = {value}")
            elif "float" in dtype and self.often(3):
                weak = [n for n, d in self.locals_.items() if d.startswith("weak")]
                self.add(f"{name}[i] = {self.value(dtype, 2)}" + (f" + {weak[0]}" if weak else ""))
            else:
                self.add(f"{name}[i] = {self.value(dtype, 3)}")

    def ends(self) -> None:
        """Add what some work-items end by."""

    def first(self, dtype: str) -> str:
        if dtype == "weak int":
            return self.weak(1)
        if dtype == "weak float":
            return self.pick("0.0", "1.5", "-2.25")
        return self.value(dtype, 1)

    def change(self) -> None:
        name = self.pick(*self.locals_)
        dtype = self.locals_[name]
        if dtype == "weak int":
            self.add(f"{name} = ({self.weak(1)} + {name}) % {self.pick(7, 100, 1001)}")
        elif dtype == "weak float":
            self.add(f"{name} = {name} * 0.5 + {self.pick('1', 'i', 'n % 9', '0.25')}")
        elif dtype == "bool" or self.often(3):
            self.add(f"{name} = {self.value(dtype, 2)}")
        else:
            sign = self.pick("+", "-", "*")
            self.add(f"{name} {sign}= {self.value(dtype, 1)}")

    def block(self, depth: int) -> None:
        self.deep += 1
        for _ in range(self.draw(st.integers(1, 2))):
            self.statement(depth - 1)
        self.deep -= 1

    def statement(self, depth: int) -> None:
        choice = self.draw(st.integers(0, 7)) if depth else 0
        if choice <= 2:
            self.change()
        elif choice == 3:
            name = self.pick(*self.outputs)
            self.add(f"{name}[i] = {self.value(self.outputs[name], 2)}")
        elif choice in (4, 5):
            self.add(f"if {self.truth(2)}:")
            self.block(depth)
            if self.often(2):
                self.add("else:")
                self.block(depth)
        elif choice == 6:
            counter = f"k{self.loops}"
            self.loops += 1
            bounds = self.pick("4", "1, 5", "i", "6, 0, -2", "n % 5", "0, len(a), 5", "i % 3, 7, 3")
            self.add(f"for {counter} in range({bounds}):")
            self.counters.append(counter)
            self.jumps(depth)
            self.counters.remove(counter)
        else:
            counter = f"w{self.loops}"
            self.loops += 1
            self.add(f"{counter} = 0")
            self.add(f"while {counter} < {self.pick('3', '5', 'i % 4')} and {self.truth(1)}:")
            self.deep += 1
            self.add(f"{counter} += 1")
            self.deep -= 1
            self.counters.append(counter)
            self.jumps(depth)
            self.counters.remove(counter)

    def jumps(self, depth: int) -> None:
        self.block(depth)
        if self.often(2):
            self.deep += 1
            self.add(f"if {self.truth(1)}:")
            self.deep += 1
            self.add(self.pick("break", "continue"))
            self.deep -= 2
            self.block(depth)


class GroupWriter(Writer):
    """Draws a text in which the work-items of a group exchange values, and wait for each other."""

    def body(self, statements: int, rounded: bool) -> None:
        self.add("here = kl.local_index()")
        for n, dtype in enumerate(self.readable_names()):
            self.shared[dtype] = f"shared{n}"
            self.add(f"shared{n} = kl.local({GROUP}, kl.{dtype})")
            self.add(f"own{n} = kl.private(3, kl.{dtype})")
            self.add("for k in range(3):")
            self.add(f"    own{n}[k] = kl.{dtype}(k)")
        super().body(statements, rounded)

    def statement(self, depth: int) -> None:
        """Add a statement that all work-items reach, or one of their own."""
        if self.divergent or not self.often(3):
            self.divergent += 1
            super().statement(depth)
            self.divergent -= 1
            return
        choice = self.draw(st.integers(0, 7)) if depth else 0
        if choice <= 2:
            self.exchange()
        elif choice == 3:
            self.add(f"if {self.even()}:")
            self.block(depth)
            if self.often(2):
                self.add("else:")
                self.block(depth)
        elif choice == 4 and self.often(2):
            self.add(f"if {self.even()}:")
            self.add("    return")
        elif choice in (4, 5, 6):
            counter = f"g{self.loops}"
            self.loops += 1
            bounds = self.pick("3", "1, 4", "2, -1, -1", "n % 4", "kl.group_index() + 1")
            self.add(f"for {counter} in range({bounds}):")
            self.together(counter, depth)
        else:
            counter = f"h{self.loops}"
            self.loops += 1
            self.add(f"{counter} = 0")
            self.add(f"while {counter} < {self.pick('3', 'n % 5', 'kl.group_index() + 2')}:")
            self.deep += 1
            self.add(f"{counter} += 1")
            self.deep -= 1
            self.together(counter, depth)

    def ends(self) -> None:
        """Add what some work-items end by."""
        self.exchange()
        if not self.often(3):
            self.add(f"if {self.truth(1)}:")
            self.add("    return")

    def even(self) -> str:
        """Return a condition that is the same for a group."""
        return self.pick(
            "n > 3", "kl.group_index() == 1", "n % 2 == 0", "len(a) > 3", *self.counted
        )

    def together(self, counter: str, depth: int) -> None:
        """Add the body of a loop that all work-items of a group run equally often."""
        self.counters.append(counter)
        self.counted.append(f"{counter} == 1")
        self.block(depth)
        self.deep += 1
        if self.often(2):
            self.add(f"if {self.even()}:")
            self.add(f"    {self.pick('break', 'continue')}")
            self.statement(depth - 1)
        self.exchange()
        if self.often(2):
            self.divergent += 1
            self.add(f"if {self.truth(1)}:")
            self.add("    continue")
            self.statement(depth - 1)
            self.divergent -= 1
        self.deep -= 1
        self.counters.remove(counter)
        self.counted.remove(f"{counter} == 1")

    def exchange(self) -> None:
        """Add a value that each work-item gets from another one."""
        dtype = self.pick(*self.readable_names())
        shared = self.shared[dtype]
        private = shared.replace("shared", "own")
        partner = self.pick("(here + 1)", "(here + 3)", f"({GROUP} - 1 - here)", "(here ^ 2)", "0")
        self.add("kl.barrier()")
        self.add(f"{shared}[here] = {self.value(dtype, 1)}")
        self.add("kl.barrier()")
        self.add(
            f"{private}[{self.pick('0', '1', 'n % 3', 'here % 3')}] = {shared}[{partner} % {GROUP}]"
        )
        for name, kind in self.locals_.items():
            if kind == dtype:
                self.add(f"{name} = {private}[{self.pick('0', '1', '2')}]")


def elements(dtype: np.dtype[Any], seed: int) -> np.ndarray[Any, Any]:
    """Return values of a dtype, its largest and smallest ones among them."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, SIZE).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low = max(int(limits.min), -9)
        result = rng.integers(low, 10, SIZE).astype(dtype)
        edges = [limits.min, limits.max, 0, 1, limits.max - 1]
    else:
        edges = [0, -0.0, np.inf, -np.inf, np.nan, 1, -2.5, 0.5]
        if dtype.kind == "c":
            edges += [complex(0, -0.0), 1j, 3e38 + 3e38j, 1e-38 - 1e-38j, complex(np.inf, np.nan)]
        factors = [1, 10, 1000] if dtype.kind != "c" else [1, 1j, -10j, 1000 + 1j]
        result = (rng.standard_normal(SIZE) * rng.choice(factors, SIZE)).astype(dtype)
    some = rng.integers(0, 3, SIZE) == 0
    result[some] = rng.choice(
        np.asarray([dtype.type(edge) for edge in edges], dtype), int(some.sum())
    )
    return result


@st.composite
def programs(draw: Any, dtypes: tuple[str, ...], default: str, *, groups: bool = False) -> Program:
    """Draw a kernel for a device that has these dtypes, one with barriers if it has groups."""
    input_dtypes = [draw(st.sampled_from(dtypes)) for _ in range(3)]
    arrays = dict(zip("abc", input_dtypes, strict=True))
    outputs = {f"y{n}": draw(st.sampled_from(input_dtypes)) for n in range(2)}
    exact = draw(st.integers(0, 3)) > 0
    writer = (GroupWriter if groups else Writer)(draw, dtypes, arrays, outputs, default)
    writer.body(draw(st.integers(1, 4)), rounded=not exact)
    text = HEAD.format(parameters=", ".join([*outputs, *arrays, "n"]), body="\n".join(writer.lines))
    seed = draw(st.integers(0, 1000))
    values = [np.zeros(SIZE, np.dtype(of(name))) for name in outputs.values()]
    values += [elements(np.dtype(of(name)), seed + n) for n, name in enumerate(input_dtypes)]
    count = draw(st.sampled_from([0, 1, 5, 16, 1000, 2**29, -4]))
    return Program(text, [*values, count], exact, GROUP if groups else None)


def of(name: str) -> Any:
    """Return a dtype's NumPy type; only few devices have bfloat16."""
    if name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return name
