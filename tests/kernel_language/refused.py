"""Bad kernels and bad calls: what each is refused with, and at which line.

``BODIES`` are bodies of a kernel, ``MODULES`` whole modules whose kernel is ``bad``, ``MAKING``
what ``pa.kernel`` is given, ``CALLS`` calls of good kernels, ``DEBUGGED`` what only debug mode
finds. A text's bad line ends with ``# here``. A refusal may come when the kernel is made or when
it is called, whichever knows enough.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MARK = "# here"
HEAD = """\
import cmath
import math
import numpy as np
import portarray as pa
import portarray.kernel_language as kl

WEIGHTS = (0.25, 0.5, 0.25)
TABLE = [1, 2, 3]
VALUES = np.arange(3.0)
TEXT = "text"


def plain(v):
    return v


@pa.kernel
def other(y):
    y[kl.index()] = 1.0


@pa.kernel.function
def helper(v):
    return v * 2


@pa.kernel.function
def nothing(v):
    pass

"""
# What needs the arguments' types is an error at the user's line as well.
LANGUAGE = TYPES = SyntaxError


@dataclass(frozen=True)
class Raw:
    """An argument that is given as it is; NumPy arrays otherwise become portarray's."""

    value: Any


@dataclass(frozen=True)
class Elsewhere:
    """An array on another device than the rest."""

    value: np.ndarray[Any, np.dtype[Any]]


def arguments() -> tuple[Any, ...]:
    """Return what the kernels of BODIES take: (y, x, n, m, a)."""
    y, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    return y, x, np.arange(8, dtype=np.int32), np.ones((8, 4), np.float32), 2.0


@dataclass(frozen=True)
class Refused:
    """A text, and how it is refused."""

    name: str
    text: str  # of the module
    says: str  # a regular expression, whatever the case of letters
    error: type[Exception] | tuple[type[Exception], ...] = LANGUAGE
    make: Callable[[], tuple[Any, ...]] = arguments
    options: dict[str, Any] = field(default_factory=dict)  # of the call
    lacks: str = ""  # refused only by devices without this dtype

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines that are to be named."""
        return tuple(k for k, line in enumerate(self.text.splitlines(), 1) if MARK in line)


def body(name: str, text: str, says: str, **options: Any) -> Refused:
    """Return a refused body of a kernel, which follows ``i = kl.index()``."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    made = f"{HEAD}\n@pa.kernel\ndef bad(y, x, n, m, a):\n    i = kl.index()\n{lines}"
    if "y[" not in text:
        made += "    y[i] = x[i]\n"
    return Refused(name, made, says, **options)


def one(name: str, line: str, says: str, **options: Any) -> Refused:
    """Return a refused body of one line."""
    return body(name, f"{line}  {MARK}", says, **options)


def module(name: str, text: str, says: str, **options: Any) -> Refused:
    """Return a refused module."""
    return Refused(name, f"{HEAD}\n{text}", says, **options)


STATEMENTS = [
    body("unknown-length", f"t = kl.local(n, y.dtype)  {MARK}\nt[i] = x[i]\ny[i] = t[0]", "known"),
    one("lambda", "f = lambda v: v", "lambda"),
    body("class", f"class Inner:  {MARK}\n    pass", "class"),
    body("function", f"def inner(v):  {MARK}\n    return v", r"function within|pa\.kernel"),
    body("generator", f"for k in range(3):\n    yield k  {MARK}", "yield"),
    one("yield", "yield", "yield"),
    one("yield-from", "yield from range(3)", "yield"),
    body("try", f"try:  {MARK}\n    y[i] = 1.0\nexcept ValueError:\n    y[i] = 2.0", "try"),
    body("finally", f"try:  {MARK}\n    y[i] = 1.0\nfinally:\n    y[i] = 2.0", "try"),
    one("raise", "raise ValueError", "raise"),
    one("assert", "assert x[i] > 0", "assert"),
    body("with", f"with a:  {MARK}\n    pass", "with"),
    one("import", "import os", "import"),
    one("from-import", "from math import sin", "import"),
    one("global", "global WEIGHTS", "global"),
    one("del", "del i", "del"),
    body("match", f"match n[i]:  {MARK}\n    case 0:\n        y[i] = 1.0", "match"),
    body("for-else", f"for k in range(3):  {MARK}\n    pass\nelse:\n    pass", "else"),
    body("while-else", f"while n[i] < 0:  {MARK}\n    pass\nelse:\n    pass", "else"),
    body("for-array", f"for v in x:  {MARK}\n    y[i] = v", "range"),
    body("for-zip", f"for v in zip(x, n):  {MARK}\n    pass", "range"),
    body("for-enumerate", f"for k, v in enumerate(x):  {MARK}\n    pass", "range"),
    body("for-index", f"for y[i] in range(3):  {MARK}\n    pass", "for|loop"),
    body("range-floats", f"for k in range(0.5):  {MARK}\n    pass", "range.*int|int.*range"),
    body("range-of-element", f"for k in range(x[i]):  {MARK}\n    pass", "range.*int|int.*range"),
    body("range-step-0", f"for k in range(0, 8, 0):  {MARK}\n    pass", "step|zero"),
    body("range-none", f"for k in range():  {MARK}\n    pass", "range"),
    body("range-keyword", f"for k in range(stop=3):  {MARK}\n    pass", "keyword|stop"),
    one("return-value", "return x[i]", "return"),
    one("star-target", "b, *c = 1, 2", "star|[*]"),
    one("delete-element", "del y[i]", "del"),
    one("statement-of-nothing", "x[i] + 1", "nothing|no effect"),
]
EXPRESSIONS = [
    one("list", "v = [1, 2]", "list"),
    one("starred-target", "v, *w = 1, 2, 3", "starred name"),
    one("round-digits", "v = round(x[i], 1)", "round takes 1 argument, got 2"),
    one("dict", "v = {1: 2}", "dict"),
    one("set", "v = {1, 2}", "set"),
    one("list-comprehension", "v = [k for k in range(3)]", "comprehension"),
    one("set-comprehension", "v = {k for k in range(3)}", "comprehension"),
    one("dict-comprehension", "v = {k: k for k in range(3)}", "comprehension"),
    one("generator-expression", "v = max(k for k in range(3))", "generator"),
    one("f-string", "kl.print(f'{i}')", "f-string"),
    one("text", "v = 'text'", "str|text"),
    one("text-plus", "v = 'a' + 'b'", "str|text"),
    one("text-of-number", "v = str(i)", "str"),
    one("global-text", "v = TEXT + 'b'", "str|text"),
    one("bytes", "v = b'text'", "bytes"),
    one("none", "v = None", "None"),
    one("is", "v = i is n", r"\bis\b"),
    one("in", "v = i in (1, 2)", r"\bin\b"),
    one("walrus", "y[i] = (v := x[i])", ":="),
    one("large-literal", "v = 2**70", "64"),
    one("larger-literal", "v = 18446744073709551616", "64"),
    one("matmul", "v = x @ n", "@"),
    one("slice", "v = x[1:]", "slice"),
    one("slice-assignment", "y[1:3] = 0.0", "slice"),
    one("whole-slice", "y[:] = 0.0", "slice"),
    one("ellipsis", "y[...] = 0.0", r"ellipsis|\.\.\."),
    one("new-axis", "v = x[None]", "None"),
    one("star-call", "v = min(*WEIGHTS)", "star|[*]"),
    one("star-star-call", "v = min(**WEIGHTS)", "star|[*]|keyword"),
    one("lambda-call", "y[i] = (lambda v: v)(x[i])", "lambda"),
    one("bits-of-floats", "v = x[i] & 1", "&.*float32|float32.*&"),
    one("shift-of-floats", "v = x[i] << 1", "<<.*float32|float32.*<<"),
    one("inverse-of-floats", "v = ~x[i]", "~.*float32|float32.*~"),
]
# What complex numbers cannot do; z is one of complex64.
COMPLEX = [
    body(f"complex-{name}", f"z = kl.complex64(x[i], a)\n{line}  {MARK}", says)
    for name, line, says in (
        ("order", "v = z < 2j", "< needs an order.*complex64.*pa.abs"),
        ("order-of-literals", "v = 1j >= 2j", ">= needs an order.*complex"),
        ("chained", "v = 0 <= z == 2", "<= needs an order"),
        ("floor-division", "v = z // 2", "// takes real numbers, not complex64"),
        ("remainder", "v = 2 % z", "% takes real numbers"),
        ("power", "v = z ** 3", r"[*][*] takes real numbers.*except for [*][*] 2"),
        ("real-power", "v = x[i] ** 2j", r"[*][*] takes real numbers"),
        ("bits", "v = z & 1", "& takes integers, not complex64"),
        ("inverse", "v = ~z", "~ takes integers.*complex64"),
        ("shift", "v = z << 1", "<< takes integers"),
        ("int", "v = int(z)", "int takes real numbers, not complex64; take pa.abs"),
        ("float", "v = float(z)", "complex64 does not fit float.*pa.real"),
        ("cast", "v = kl.float32(z)", "complex64 does not fit float32.*pa.real"),
        ("integer-cast", "v = kl.int32(z)", "complex64 does not fit int32"),
        ("parts", "v = complex(z, 1.0)", "complex takes real numbers"),
        ("three-parts", "v = complex(1, 2, 3)", "complex takes 2 arguments, got 3"),
        ("two-casts", "v = kl.float32(1, 2)", "kl.float32 takes 1 argument, got 2"),
        ("store", "y[i] = z", "complex64 does not fit float32.*pa.real"),
        ("store-constant", "n[i] = 2j", "complex does not fit int32"),
        ("index", "y[z] = 1.0", "index is an integer, not complex64"),
        ("minimum", "v = min(z, 1)", "min takes real numbers"),
        ("math", "v = math.exp(z)", "math.exp takes real numbers.*cmath.exp"),
        ("square-root", "v = pa.sqrt(z)", "pa.sqrt takes real numbers, not complex64"),
        ("cmath", "import_ = cmath.sqrt(z)", "cmath.sqrt is not in the kernel language"),
        ("fma", "v = kl.fma(z, z, z)", "kl.fma takes real numbers"),
        ("sign", "v = pa.sign(z)", "pa.sign takes real numbers"),
        ("bits-of", "v = kl.bitcast(z, kl.int64)", "complex64.*bitcast.*not bool or complex"),
        ("atomic", "kl.atomic_add(y, i, z)", "complex64 does not fit float32"),
        ("method", "v = z.conjugate()", "methods such as .conjugate"),
        ("variable", "v = x[i]\nv = v * 2j", "cannot change its dtype.*float32.*complex64"),
        ("weak-variable", "v = x[i]\nv = 2j", "take a part with pa.real.*initialize it with 0j"),
    )
]
NAMES = [
    one("unknown-name", "y[i] = vale", "vale"),
    body("misspelt-name", f"value = x[i]\ny[i] = valuex  {MARK}", "value"),
    body("read-before", f"y[i] = later  {MARK}\nlater = 1.0", "later"),
    body("assigned-in-one-branch", f"if i > 3:\n    v = 1.0\ny[i] = v  {MARK}", r"\bv\b"),
    one("changed-constant", "WEIGHTS[0] = 2.0", "WEIGHTS"),
    one("unknown-function", "v = foo(x[i])", "foo"),
    one("misspelt-math", "v = math.sinn(x[i])", r"\bsin\b"),
    one("misspelt-kl", "v = kl.indexx()", r"\bindex\b"),
    one("misspelt-pa", "v = pa.hypott(x[i], x[i])", r"\bhypot\b"),
    one("misspelt-atomic", "v = kl.atomic_ad(y, i, 1.0)", r"\batomic_add\b"),
    one("misspelt-attribute", "v = x.shap[0]", "shape"),
    one("no-such-cast", "v = kl.float8(x[i])", "float8"),
    one("numpy", "v = np.sum(x)", "sum"),
    one("not-elementwise", "v = pa.sum(x)", "sum"),
    one("other-module", "v = pa.linalg.norm(x)", "linalg|norm"),
    one("print", "print(i)", r"kl\.print"),
    one("open", "open('file')", "open"),
    one("input", "v = input()", "input"),
    one("eval", "v = eval('1')", "eval"),
    one("getattr", "v = getattr(x, 'size')", "getattr"),
    one("isinstance", "v = isinstance(a, float)", "isinstance"),
    one("sum", "v = sum(x)", "sum"),
    one("plain-function", "v = plain(x[i])", r"pa\.kernel\.function"),
    one("kernel-in-kernel", "other(y)", "other"),
    one("global-list", "v = TABLE[0]", "TABLE.*tuple|list"),
    one("global-array", "v = VALUES[i]", "VALUES.*(parameter|argument)"),
    one("method", "v = x.sum()", "sum"),
    one("method-of-element", "v = x[i].astype(kl.int32)", r"astype|kl\.int32"),
    one("item", "v = x.item()", "item"),
    one("transposed", "v = x.T[i]", r"\bT\b"),
    one("strides", "v = x.strides[0]", "strides"),
    one("attribute-of-scalar", "v = a.shape", "shape"),
    one("attribute-assignment", "x.size = 3", "size|attribute"),
    one("dtype-as-number", "y[i] = x.dtype", "dtype"),
    one("function-as-number", "y[i] = math.sin", "sin"),
    one("module-as-number", "y[i] = math", "math"),
]
ARRAYS = [
    one("two-indices", "v = x[i, i]", "2 ind|1 ax|one axis"),
    one("one-index", "v = m[i]", "1 ind|one index|2 ax|two axes"),
    one("float-index", "v = x[0.5]", "float"),
    one("scalar-float-index", "v = x[a]", "float"),
    one("element-as-index", "v = x[x[i]]", "float32"),
    one("comparison-as-index", "v = x[i > 3]", "bool"),
    one("negative-index", "v = x[-1]", r"negative|shape\[0\] - 1"),
    one("negative-index-written", "y[-1] = 1.0", r"negative|shape\[0\] - 1"),
    one("negative-in-two", "v = m[i, -2]", "negative|shape"),
    one("index-of-scalar", "v = a[0]", r"\ba\b"),
    one("index-of-local", "v = i[0]", r"\bi\b"),
    one("written-scalar", "a[0] = 1.0", r"\ba\b"),
    one("written-local", "i[0] = 1", r"\bi\b"),
    one("written-shape", "x.shape[0] = 1", "shape"),
    one("whole-sum", "v = x + n", "array"),
    one("whole-written", "y = x", "array"),
    one("whole-replaced", "y = 1.0", r"\by\b"),
    one("whole-augmented", "y += 1.0", r"\by\b"),
    one("whole-comparison", "v = x > 0", "array"),
    body("whole-truth", f"if x:  {MARK}\n    pass", "array"),
    one("whole-function", "v = math.sin(x)", "array"),
    one("whole-cast", "v = float(x)", "array"),
    one("array-stored", "y[i] = x", "array"),
    one("tuple-stored", "y[i] = (1.0, 2.0)", "tuple"),
    one("shape-stored", "y[i] = m.shape", "tuple"),
    one("third-axis", "v = m.shape[2]", "2"),
    one("axis-of-index", "v = kl.index(1)", "axis"),
    one("axis-by-data", "v = kl.index(i)", "axis|known when"),
    one("axes-unpacked", "b, c = kl.index()", "2|two|unpack"),
    one("unpacked-too-many", "b, c = 1, 2, 3", "3|unpack"),
    one("unpacked-number", "b, c = x[i]", "unpack|tuple|one number"),
    one("length-of-scalar", "v = len(a)", "len"),
]
TYPED = [
    body("changed-dtype", f"v = x[i]\nv = n[i]  {MARK}", "float32.*int32|int32.*float32"),
    body(
        "changed-in-branch",
        f"if i > 3:\n    v = x[i]\nelse:\n    v = n[i]  {MARK}\ny[i] = v",
        "float32.*int32|int32.*float32",
    ),
    body(
        "changed-in-loop",
        f"v = kl.int32(0)\nfor k in range(3):\n    v = v + x[k]  {MARK}",
        r"int32.*float32|kl\.float32",
    ),
    body("augmented-to-float", f"v = n[i]\nv /= 2  {MARK}", "int32"),
    body("number-to-tuple", f"v = x[i]\nv = (x[i], x[i])  {MARK}", "tuple"),
    body("bool-to-int", f"v = x[i] > 0\nv = n[i]  {MARK}", "bool.*int32|int32.*bool"),
    body("array-to-number", f"v = kl.private(3, kl.float32)\nv = 1.0  {MARK}", r"\bv\b"),
]
CALLED = [
    one("too-few", "v = math.sin()", "sin.*1|argument"),
    one("too-many", "v = math.sin(x[i], 1.0)", "sin.*1|argument"),
    one("keyword", "v = max(x[i], 1.0, key=abs)", "key"),
    one("cast-of-nothing", "v = kl.float32()", "float32"),
    one("cast-of-two", "v = kl.float32(1, 2)", "float32"),
    one("cast-of-text", "v = float('inf')", r"math\.inf|str|text"),
    one("helper-too-few", "v = helper()", "helper"),
    one("helper-too-many", "v = helper(x[i], 1)", "helper"),
    one("helper-keyword", "v = helper(w=x[i])", r"helper|\bw\b"),
    one("helper-of-nothing", "v = nothing(x[i])", "nothing.*return|return.*nothing"),
    one("kernel-called-as-value", "v = other(y)", "other"),
    one("index-of-text", "v = kl.index('0')", "axis"),
    one("number-called", "v = a(1)", r"\ba\b"),
    one("element-called", "v = x[i](1)", "call|not a function"),
    one("print-keyword", "kl.print(i, sep=',')", "sep|keyword"),
    one("print-array", "kl.print(x)", "array"),
    one("bits-of-literal", "v = kl.bitcast(1, kl.float32)", "4 bytes"),
    one("bits-of-another-size", "v = kl.bitcast(kl.uint16(1), kl.float32)", "4 bytes"),
    one("bits-as-truth", "v = kl.bitcast(kl.uint8(1), kl.bool)", "bool"),
    one("bits-as-number", "v = kl.bitcast(x[i], 1)", "dtype"),
    one("fma-of-two", "v = kl.fma(x[i], x[i])", "3"),
]
MEMORY = [
    one("local-by-data", "v = kl.local(i, kl.float32)", "constant|static|known when"),
    one("local-by-scalar", "v = kl.local(int(a), kl.float32)", "constant|static|known when"),
    one("private-by-element", "v = kl.private(n[i], kl.float32)", "constant|static|known when"),
    one("local-of-nothing", "v = kl.local(0, kl.float32)", "0"),
    one("private-negative", "v = kl.private(-3, kl.float32)", "-3"),
    one("local-of-floats", "v = kl.local(2.0, kl.float32)", "int|constant"),
    one("local-without-dtype", "v = kl.local(8)", "dtype"),
    one("local-of-no-dtype", "v = kl.local(8, 32)", "dtype"),
    one("local-not-kept", "kl.local(8, kl.float32)[0] = 1.0", "local"),
    body("private-indices", f"v = kl.private((2, 2), kl.float32)\nv[0] = 1.0  {MARK}", "2"),
    one("barrier-value", "v = kl.barrier()", "barrier"),
    one("barrier-argument", "kl.barrier(1)", "barrier"),
    body("barrier-in-if", f"if i > 3:\n    kl.barrier()  {MARK}", "barrier"),
    body("barrier-in-else", f"if x[i] > 0:\n    pass\nelse:\n    kl.barrier()  {MARK}", "barrier"),
    body("barrier-in-range", f"for k in range(i):\n    kl.barrier()  {MARK}", "barrier"),
    body("barrier-in-data", f"for k in range(n[i]):\n    kl.barrier()  {MARK}", "barrier"),
    body("barrier-in-element", f"for k in range(n[0]):\n    kl.barrier()  {MARK}", "barrier"),
    body(
        "barrier-in-while",
        f"v = x[i]\nwhile v > 1:\n    v /= 2\n    kl.barrier()  {MARK}",
        "barrier",
    ),
    body("barrier-after-return", f"if x[i] > 3:\n    return\nkl.barrier()  {MARK}", "barrier"),
    body(
        "barrier-with-break",
        f"for k in range(3):\n    if x[i] > k:\n        break\n    kl.barrier()  {MARK}",
        "barrier",
    ),
    body(
        "barrier-with-continue",
        f"for k in range(3):\n    if x[i] > k:\n        continue\n    kl.barrier()  {MARK}",
        "barrier",
    ),
    body(
        "barrier-by-local",
        "shared = kl.local(1, kl.int32)\nshared[0] = n[i]\nkl.barrier()\n"
        f"for k in range(shared[0]):\n    kl.barrier()  {MARK}",
        "barrier",
    ),
    body(
        "barrier-by-changed-name",
        f"stop = 3\nif x[i] > 1:\n    stop = 4\nfor k in range(stop):\n    kl.barrier()  {MARK}",
        "barrier",
    ),
    body("barrier-in-expression", f"v = kl.barrier() if i > 3 else 0  {MARK}", "barrier"),
]
ATOMICS = [
    one("atomic-on-scalar", "kl.atomic_add(a, 0, 1.0)", r"\ba\b"),
    one("atomic-on-element", "kl.atomic_add(y[i], 1.0)", "atomic_add|argument"),
    one("atomic-on-private", "kl.atomic_add(kl.private(1, kl.int32), 0, 1)", "private|parameter"),
    one("atomic-two-indices", "kl.atomic_add(y, (i, i), 1.0)", "2 ind|1 ax|one axis"),
    one("atomic-float-index", "kl.atomic_add(y, 0.5, 1.0)", "float"),
    one("atomic-without-value", "kl.atomic_add(y, i)", "atomic_add"),
    one("atomic-compare-floats", "kl.atomic_compare_exchange(y, i, 1.0)", "compare_exchange"),
    one("atomic-of-tuple", "kl.atomic_add(y, i, (1, 2))", "tuple"),
]
UNROLLED = [
    body("unroll-number", f"for k in kl.unroll(4):  {MARK}\n    pass", "range"),
    one("unroll-elsewhere", "v = kl.unroll(range(4))", "unroll|for"),
]
SEVERAL = [
    body(
        "three-at-once",
        f"v = [1]  {MARK}\nw = lambda: 1  {MARK}\nprint(i)  {MARK}",
        "(?s)list.*lambda.*print",
    ),
    body(
        "in-branches",
        f"if i > 3:\n    import os  {MARK}\nelse:\n    y[1:2] = 0.0  {MARK}",
        "(?s)import.*slice",
    ),
]

BODIES = [
    *STATEMENTS,
    *EXPRESSIONS,
    *COMPLEX,
    *NAMES,
    *ARRAYS,
    *TYPED,
    *CALLED,
    *MEMORY,
    *ATOMICS,
    *UNROLLED,
    *SEVERAL,
]

MODULES = [
    module(
        "writes-nothing",
        f"@pa.kernel\ndef bad(y, x):  {MARK}\n    v = x[kl.index()]\n",
        "does not write",
        error=(SyntaxError, TypeError),
        make=lambda: arguments()[:2],
    ),
    module(
        "no-parameters",
        f"@pa.kernel\ndef bad():  {MARK}\n    pass\n",
        "parameter|written|arrays",
        error=(SyntaxError, TypeError),
        make=tuple,
    ),
    module(
        "arguments-of-any-number",
        f"@pa.kernel\ndef bad(y, *rest):  {MARK}\n    y[kl.index()] = 1.0\n",
        "[*]rest|[*]args|number of",
        error=(SyntaxError, TypeError),
        make=lambda: arguments()[:2],
    ),
    module(
        "keywords-of-any-name",
        f"@pa.kernel\ndef bad(y, **rest):  {MARK}\n    y[kl.index()] = 1.0\n",
        "[*][*]rest|[*][*]kwargs|keyword",
        error=(SyntaxError, TypeError),
        make=lambda: arguments()[:1],
    ),
    module(
        "async",
        f"@pa.kernel\nasync def bad(y):  {MARK}\n    y[kl.index()] = 1.0\n",
        "async",
        make=lambda: arguments()[:1],
    ),
    module(
        "recursion",
        "@pa.kernel.function\ndef factorial(k):\n    if k < 2:\n        return 1\n"
        f"    return k * factorial(k - 1)  {MARK}\n\n\n"
        "@pa.kernel\ndef bad(n):\n    n[kl.index()] = factorial(3)\n",
        "recurs|itself",
        make=lambda: arguments()[2:3],
    ),
    module(
        "mutual-recursion",
        "@pa.kernel.function\ndef even(k):\n    return True if k == 0 else odd(k - 1)\n\n\n"
        "@pa.kernel.function\ndef odd(k):\n"
        f"    return False if k == 0 else even(k - 1)  {MARK}\n\n\n"
        "@pa.kernel\ndef bad(n):\n    n[kl.index()] = kl.int32(even(4))\n",
        "recurs|itself",
        make=lambda: arguments()[2:3],
    ),
    module(
        "error-in-helper",
        f"@pa.kernel.function\ndef listed(v):\n    return [v]  {MARK}\n\n\n"
        "@pa.kernel\ndef bad(y):\n    y[kl.index()] = listed(1.0)\n",
        "list",
        make=lambda: arguments()[:1],
    ),
    module(
        "helper-of-two-dtypes",
        "@pa.kernel.function\ndef either(v, w):\n    if v > 0:\n        return v\n"
        f"    return w  {MARK}\n\n\n"
        "@pa.kernel\ndef bad(y, x, n):\n    i = kl.index()\n    y[i] = either(x[i], n[i])\n",
        "float32.*int32|int32.*float32",
        error=TYPES,
        make=lambda: arguments()[:3],
    ),
    module(
        "helper-returns-sometimes",
        f"@pa.kernel.function\ndef sometimes(v):  {MARK}\n    if v > 0:\n        return v\n\n\n"
        "@pa.kernel\ndef bad(y, x):\n    i = kl.index()\n    y[i] = sometimes(x[i])\n",
        "return",
        make=lambda: arguments()[:2],
    ),
    module(
        "barrier-in-helper",
        f"@pa.kernel.function\ndef wait(v):\n    kl.barrier()  {MARK}\n    return v\n\n\n"
        "@pa.kernel\ndef bad(y, x):\n    i = kl.index()\n"
        "    if x[i] > 0:\n        y[i] = wait(x[i])\n",
        "barrier",
        make=lambda: arguments()[:2],
    ),
    module(
        "nonlocal",
        "def made():\n    count = 0\n\n    @pa.kernel\n    def close(y):\n"
        f"        nonlocal count  {MARK}\n        count = 1\n        y[kl.index()] = 1.0\n\n"
        "    return close\n\n\nbad = made()\n",
        "nonlocal",
        make=lambda: arguments()[:1],
    ),
    module(
        "assigned-static",
        '@pa.kernel(static=("k",))\ndef bad(y, k):\n'
        f"    k = k + 1  {MARK}\n    y[kl.index()] = k\n",
        r"static|\bk\b",
        make=lambda: (arguments()[0], 3),
    ),
    module(
        "assigned-static-in-loop",
        '@pa.kernel(static=("k",))\ndef bad(y, k):\n'
        f"    for k in range(3):  {MARK}\n        y[kl.index()] = k\n",
        r"static|\bk\b",
        make=lambda: (arguments()[0], 3),
    ),
    module(
        "written-element-of-tuple",
        f"@pa.kernel\ndef bad(y, taps):\n    y[kl.index()] = 1.0\n    taps[0] = 3  {MARK}\n",
        "tuple|taps",
        make=lambda: (arguments()[0], (1, 2)),
    ),
    module(
        "atomic-add-of-small-integers",
        f"@pa.kernel\ndef bad(y):\n    kl.atomic_add(y, kl.index(), 1)  {MARK}\n",
        "int8.*int32|atomic",
        error=TYPES,
        make=lambda: (np.zeros(8, np.int8),),
    ),
    module(
        "atomic-add-of-halves",
        f"@pa.kernel\ndef bad(y):\n    kl.atomic_add(y, kl.index(), 1.0)  {MARK}\n",
        "float16|atomic",
        error=TYPES,
        make=lambda: (np.zeros(8, np.float16),),
    ),
    module(
        "number-for-an-array",
        f"@pa.kernel\ndef bad(y, x):\n    i = kl.index()\n    y[i] = x[i]  {MARK}\n",
        r"\bx\b",
        error=TYPES,
        make=lambda: (arguments()[0], 3.0),
    ),
    module(
        "array-for-a-number",
        f"@pa.kernel\ndef bad(y, a):\n    i = kl.index()\n    y[i] = y[i] * a  {MARK}\n",
        r"\ba\b",
        error=TYPES,
        make=lambda: arguments()[:2],
    ),
    module(
        "tuple-out-of-range",
        f"@pa.kernel\ndef bad(y, taps):\n    y[kl.index()] = taps[2]  {MARK}\n",
        "2",
        error=TYPES,
        make=lambda: (arguments()[0], (1, 2)),
    ),
    module(
        "two-axes-one-name",
        f"@pa.kernel\ndef bad(m):\n    i = kl.index()\n    m[i, 0] = m[i, 1]  {MARK}\n",
        "index|ind|axes",
        error=TYPES,
        make=lambda: (arguments()[3],),
    ),
]


@dataclass(frozen=True)
class Made:
    """Something that ``pa.kernel`` is given, and how that is refused."""

    name: str
    what: Callable[[], Any]
    says: str
    error: type[Exception] | tuple[type[Exception], ...] = TypeError
    options: dict[str, Any] = field(default_factory=dict)  # of pa.kernel


def good(y: Any, x: Any) -> None:
    """Do nothing; what it is named with is refused."""


class NoFunction:
    """Something that can be called and is no function."""

    def __call__(self, y: Any) -> None:
        """Do nothing."""

    def method(self, y: Any) -> None:
        """Do nothing."""


def _of_text() -> Any:
    names: dict[str, Any] = {}
    exec("def typed_in(y):\n    y[0] = 1.0\n", names)
    return names["typed_in"]


MAKING = [
    Made("number", lambda: 3, "function"),
    Made("none-twice", lambda: "saxpy", "function"),
    Made("class", lambda: NoFunction, "class|function"),
    Made("object", NoFunction, "function"),
    Made("method", lambda: NoFunction().method, "method|function"),
    Made("builtin", lambda: len, "function|source"),
    Made("partial", lambda: functools.partial(good, 1), "partial|function"),
    Made("lambda", lambda: lambda y: None, "lambda", (TypeError, SyntaxError)),
    Made("no-source", _of_text, "source|text", (TypeError, OSError, SyntaxError, ValueError)),
    Made("unknown-static", lambda: good, "'?z'?", (TypeError, ValueError), {"static": ("z",)}),
    Made("static-of-number", lambda: good, "static", TypeError, {"static": 3}),
    Made("static-of-numbers", lambda: good, "static", TypeError, {"static": (1,)}),
    Made("unknown-option", lambda: good, "device|unexpected", TypeError, {"device": "numpy"}),
]

SAXPY = """
@pa.kernel
def bad(y, a, x):
    i = kl.index()
    y[i] = a * x[i] + y[i]
"""
STATIC = """
@pa.kernel(static=("n",))
def bad(y, n):
    i = kl.index()
    y[i] = y[i] + n
"""
SHARED = """
@pa.kernel
def bad(y, x):
    shared = kl.local(8, kl.float32)
    shared[kl.local_index()] = x[kl.index()]
    kl.barrier()
    y[kl.index()] = shared[0]
"""
PLACE = """
@pa.kernel
def bad(y):
    y[0] = kl.linear_index()
"""
LARGE_LOCAL = """
@pa.kernel
def bad(y):
    shared = kl.local(67108864, kl.float32)
    shared[kl.local_index()] = 1.0
    kl.barrier()
    y[kl.index()] = shared[0]
"""
WIDE = """
@pa.kernel
def bad(y):
    i = kl.index()
    y[i] = kl.float32(kl.float64(y[i]) / 3.0)
"""


def _saxpy() -> tuple[Any, ...]:
    y, x, *_ = arguments()
    return y, 2.0, x


def _y() -> tuple[Any, ...]:
    return arguments()[:1]


def _with(**changed: Any) -> Callable[[], tuple[Any, ...]]:
    """Return a maker of saxpy's arguments, some of them changed."""

    def make() -> tuple[Any, ...]:
        y, a, x = _saxpy()
        return tuple({"y": y, "a": a, "x": x, **changed}.values())

    return make


def call(
    name: str,
    says: str,
    error: type[Exception] | tuple[type[Exception], ...],
    text: str = SAXPY,
    make: Callable[[], tuple[Any, ...]] = _saxpy,
    **options: Any,
) -> Refused:
    """Return a refused call of a good kernel."""
    return Refused(name, HEAD + text, says, error, make, options)


# A group larger than what any device has.
HUGE = 1 << 20

CALLS = [
    # What is given.
    call("list", "list.*asarray|asarray.*list", TypeError, make=_with(x=Raw([1.0, 2.0]))),
    call("dict", "dict", TypeError, make=_with(x=Raw({}))),
    call("none-argument", "x cannot be indexed", SyntaxError, make=_with(x=Raw(None))),
    call("object", "object", TypeError, make=_with(a=Raw(object()))),
    call("native", "asarray", TypeError, make=_with(x=Raw(np.ones(8, np.float32)))),
    call("complex-number", "complex64 does not fit float32", SyntaxError, make=_with(a=2j)),
    call("complex-array", "complex64", SyntaxError, make=_with(x=np.ones(8, np.complex64))),
    call("large-number", "64|large|range", (ValueError, OverflowError), make=_with(a=2**70)),
    call("two-devices", "device", ValueError, make=_with(x=Elsewhere(np.ones(8, np.float32)))),
    call("missing", "'?x'?", TypeError, make=lambda: _saxpy()[:2]),
    call("nothing", "'?y'?", TypeError, make=tuple),
    call("too-many", "4|3|too many", TypeError, make=lambda: (*_saxpy(), 1.0)),
    call("unknown", "'?z'?", TypeError, z=3),
    call("twice", "'?y'?", TypeError, y=3.0),
    call("static-unhashable", "n.*(hash|list)", TypeError, STATIC, lambda: (_saxpy()[0], Raw([1]))),
    call("static-array", "static", TypeError, STATIC, lambda: _saxpy()[::2]),
    Refused(
        *("dtype-of-no-device", HEAD + WIDE, "float64", (TypeError, SyntaxError), _y),
        lacks="float64",
    ),
    # How many work-items.
    call("ndrange-0", "ndrange.*0", ValueError, PLACE, _y, ndrange=0),
    call("ndrange-0-axis", "ndrange.*0", ValueError, PLACE, _y, ndrange=(8, 0)),
    call("ndrange-negative", "ndrange.*-1", ValueError, PLACE, _y, ndrange=(-1,)),
    call("ndrange-large", "ndrange.*2\\*\\*48", ValueError, PLACE, _y, ndrange=(2**62, 4)),
    call("ndrange-large-product", "ndrange", ValueError, PLACE, _y, ndrange=(2**30, 2**30)),
    call("ndrange-huge", "ndrange", ValueError, PLACE, _y, ndrange=(10**30,)),
    call("ndrange-empty", "ndrange", ValueError, PLACE, _y, ndrange=()),
    call("ndrange-float", "ndrange.*(float|8.0)", TypeError, PLACE, _y, ndrange=(8.0,)),
    call("ndrange-text", "ndrange.*(str|'8')", TypeError, PLACE, _y, ndrange="8"),
    call("ndrange-array", "ndrange", TypeError, PLACE, _y, ndrange=np.ones(2)),
    call("ndrange-nested", "ndrange", TypeError, PLACE, _y, ndrange=((8,),)),
    # Groups.
    call("group-large", f"group.*{HUGE}|{HUGE}.*group", ValueError, ndrange=(HUGE,), group=(HUGE,)),
    call("group-0", "group.*0", ValueError, group=(0,)),
    call("group-negative", "group.*-4", ValueError, group=(-4,)),
    call("group-of-two-axes", "group.*(2|axes)", ValueError, group=(2, 2)),
    call("group-float", "group.*(float|2.0)", TypeError, group=(2.0,)),
    call("group-text", "group.*(str|auto)", TypeError, group="auto"),
    call(
        "barrier-not-a-multiple",
        "multiple.*barrier|barrier.*multiple",
        ValueError,
        SHARED,
        lambda: arguments()[:2],
        group=(3,),
    ),
    call("local-large", "local.*memory", ValueError, LARGE_LOCAL, lambda: arguments()[:1]),
]

DEBUGGED = [
    one("outside", "y[i] = x[i + 1]", "index 8.*axis 0.*length 8", error=IndexError),
    one("below", "y[i] = x[i - 1]", "index -1.*axis 0.*length 8", error=IndexError),
    one("written-outside", "y[i * 2] = 1.0", "outside axis 0.*length 8", error=IndexError),
    one("second-axis", "y[i] = m[i, i]", "index 4.*axis 1.*length 4", error=IndexError),
    one("by-element", "y[i] = x[n[i] * 3]", "outside axis 0.*length 8", error=IndexError),
    body(
        "private-outside",
        f"v = kl.private(4, kl.float32)\nv[i] = x[i]  {MARK}",
        "index 4.*axis 0.*length 4",
        error=IndexError,
    ),
    one("atomic-outside", "kl.atomic_add(y, i + 1, 1.0)", "index 8", error=IndexError),
    one("division", "y[i] = kl.float32(7 // n[i])", "zero", error=ZeroDivisionError),
    one("remainder", "y[i] = kl.float32(7 % n[i])", "zero", error=ZeroDivisionError),
    body(
        "local-not-written",
        f"v = kl.local(16, kl.float32)\ny[i] = v[8]  {MARK}",
        "never written|not written|uninitialized",
        error=(ValueError, RuntimeError),
        options={"group": (8,)},
    ),
    one("race", "y[0] = x[i]", "race|several work-items", error=(ValueError, RuntimeError)),
]
