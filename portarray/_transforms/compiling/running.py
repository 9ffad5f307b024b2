"""Programs as functions of arrays: what is called for arguments of one kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from portarray._array import base
from portarray._array.array import Array
from portarray._array.results import reraise, wrapped
from portarray._config import config
from portarray._kernel_language import source
from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.signatures import setting

__all__ = ["OTHER", "Program"]

Function = Callable[..., Any]


class Program:
    """A function compiled for arguments of one signature."""

    def __init__(self, run: Function, tables: list[Any], build: Function, told: Explanation):
        self._run = run
        self._tables = tables  # of the outputs
        self._build = build
        self._caller: Function | None = None
        self.told = told

    def __call__(self, arrays: Sequence[Array]) -> Any:
        """Return the output for the arrays of a call."""
        try:
            natives = self._run(*[x._native for x in arrays])
        except Exception as error:  # noqa: BLE001  (translated and raised again)
            reraise(error, self.told.name, *self.told.devices)
        pairs = zip(natives, self._tables, strict=True)
        return self._build([wrapped(native, table) for native, table in pairs])

    def caller(self, arrays: Sequence[Array]) -> Function:
        """Return a function of arguments that are arrays alone, or ``None`` for other ones.

        It returns the output where the program is for them, and :data:`OTHER` where it is not.
        """
        if self._caller is None:
            self._caller = self._made_caller(arrays)
        return self._caller

    def _made_caller(self, arrays: Sequence[Array]) -> Function:
        names = [f"x{n}" for n in range(len(arrays))]
        told: dict[str, Any] = {
            "Array": Array, "config": config, "new": base.new_uninitialized, "run": self._run,
            "reraise": reraise, "wrapped": wrapped, "build": self._build, "OTHER": OTHER,
            "name": self.told.name, "devices": self.told.devices, "setting": setting(),
        }  # fmt: skip
        tests = ["(config._tuned_kernels, config._check_linalg) == setting"]
        for n, x in enumerate(arrays):
            told |= {f"t{n}": x._table, f"s{n}": x._native.shape}
            tests.append(f"x{n}.__class__ is Array and x{n}._table is t{n}")
            tests.append(f"x{n}._native.shape == s{n}")
        outs = []
        wraps = ""
        for n, table in enumerate(self._tables):
            told |= {f"o{n}": table, f"c{n}": table.array_type}
            outs.append(f"y{n}")
            wraps += (
                f"    if v{n}.__class__ is c{n}:\n"
                f"        y{n} = new()\n        y{n}._native = v{n}\n        y{n}._table = o{n}\n"
                f"    else:\n        y{n} = wrapped(v{n}, o{n})\n"
            )
        text = (
            f"def call({', '.join(names)}):\n"
            f"    if not ({' and '.join(tests)}):\n        return OTHER\n"
            f"    try:\n"
            f"        {''.join(f'v{n}, ' for n in range(len(outs)))}= "
            f"run({', '.join(f'{name}._native' for name in names)})\n"
            f"    except Exception as error:\n        reraise(error, name, *devices)\n"
            f"{wraps}"
            f"    return build(({', '.join(outs)},))\n"
        )
        return source.generated(text, "call", told)


OTHER: Any = object()
