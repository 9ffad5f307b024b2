"""Functions that write arrays to files, in NumPy's formats."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray._numpy_functions.table import category

serves = category("Files")


@serves(order="file arr allow_pickle")
def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


@serves()
def savetxt(
    fname: Any,
    X: Any,  # noqa: N803  (NumPy's name)
    fmt: Any = "%.18e",
    delimiter: str = " ",
    newline: str = "\n",
    header: str = "",
    footer: str = "",
    comments: str = "# ",
    encoding: str | None = None,
) -> None:
    layout = (fmt, delimiter, newline, header, footer, comments, encoding)
    np.savetxt(fname, np.asarray(X), *layout)


@serves(order="file")
def savez(file: Any, *args: Any, **kwds: Any) -> None:
    np.savez(file, *map(np.asarray, args), **_on_the_host(kwds))


@serves(order="file")
def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    np.savez_compressed(file, *map(np.asarray, args), **_on_the_host(kwds))


def _on_the_host(arrays: dict[str, Any]) -> dict[str, Any]:
    return {name: x if name == "allow_pickle" else np.asarray(x) for name, x in arrays.items()}
