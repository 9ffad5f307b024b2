"""The data of the support table and the table of kernel versions: ``docs/data/support.json``.

The pages are built from this file, so building them does not need any array library. To regenerate
it for the libraries of this environment (data of other libraries does not change)::

    python docs/_ext/support_data.py

A test compares it with the backends, library by library.
"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "data" / "support.json"

Data = dict[str, Any]


def read() -> Data:
    """Return the data that the pages show."""
    data: Data = json.loads(FILE.read_text("utf-8"))
    return data


def of_this_environment() -> Data:
    """Return the data of the installed libraries, as ``portarray support`` prints it.

    Keys are ``libraries`` (with the platforms that ran and those that did not), ``functions`` (with
    the category and each library's implementation) and ``kernels`` (the tuned versions of each
    library).
    """
    from portarray._cli.group import portarray as command

    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        command(["support", "--json"], standalone_mode=False)
    report = json.loads(output.getvalue())
    libraries: Data = {}
    for device in report["places"]:
        library, _, platform = device["device"].partition(":")
        entry = libraries.setdefault(library, {"run": [], "not_run": []})
        listed = entry["run" if device["state"] == "functional" else "not_run"]
        name = platform.partition(":")[0]
        if name and name not in listed:
            listed.append(name)
    functions: Data = {}
    for row in report["rows"]:
        library = row["device"].partition(":")[0]
        entry = functions.setdefault(row["function"], {"category": row["category"], "served": {}})
        entry["served"][library] = row["served"]
    served = {library for entry in functions.values() for library in entry["served"]}
    libraries = {name: entry for name, entry in libraries.items() if name in served}
    return {
        "libraries": libraries,
        "functions": functions,
        "kernels": {library: _kernels(library) for library in libraries},
    }


def _kernels(library: str) -> list[list[str]]:
    """Return kernel, version, dtypes and winning benchmark row of each of a library's versions."""
    from portarray.backends import registry
    from portarray.kernels import generic

    backend = registry.load_backend(library)
    return [
        [name, row.name, _dtypes(row.dtypes), row.wins]
        for name in generic.__all__
        for row in backend.tuned_kernels.get(name, ())
    ]


def _dtypes(names: frozenset[str]) -> str:
    floats = ("float16", "bfloat16", "float32", "float64")
    named = [name for name in floats if name in names]
    others = sorted(names.difference(floats))
    return ", ".join([*named, *(["and others"] if others else [])])


def merged(old: Data, new: Data) -> Data:
    """Return the new data, with the old data of libraries that the new data lacks."""
    functions = {}
    for name, entry in new["functions"].items():
        previous = old["functions"].get(name, {"served": {}})["served"]
        functions[name] = {"category": entry["category"], "served": {**previous, **entry["served"]}}
    return {
        "libraries": {**old["libraries"], **new["libraries"]},
        "functions": functions,
        "kernels": {**old["kernels"], **new["kernels"]},
    }


def write(data: Data) -> None:
    """Write the data, one line for each function and kernel version."""

    def lines(entries: Data) -> str:
        return ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in entries.items())

    kernels = {
        library: [json.dumps(row, ensure_ascii=False) for row in rows]
        for library, rows in data["kernels"].items()
    }
    shown = ",\n".join(
        f"    {json.dumps(library)}: [\n      " + ",\n      ".join(rows) + "\n    ]"
        if rows
        else f"    {json.dumps(library)}: []"
        for library, rows in kernels.items()
    )
    parts = [
        f'  "libraries": {{\n{lines(data["libraries"])}\n  }}',
        f'  "functions": {{\n{lines(data["functions"])}\n  }}',
        f'  "kernels": {{\n{shown}\n  }}',
    ]
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


if __name__ == "__main__":
    here = of_this_environment()
    write(merged(read(), here) if FILE.exists() else here)
