"""Refused modules, whose kernel is ``bad``."""

from __future__ import annotations

import numpy as np
from refused.rows import MARK, TYPES, arguments, module

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
