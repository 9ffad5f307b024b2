"""Ten million random numbers on each device, compared with its library and NumPy's generator.

Every candidate creates a new array and waits for it. Candidates alternate in one process, and the
shortest time of each counts. Results are milliseconds, and ratios to NumPy's ``default_rng`` and to
the device's library; below 1 is faster. Compare ratios of the same run only.

    python benchmarks/random_numbers.py [--json random.json] [--repeats N] [--threads 2]

``--device`` selects devices, ``--functions`` also measures without kernels, and ``--only NAME``
selects rows by name.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import reports
from command_line import parser_of, set_threads

SIZE = 10_000_000

Action = Callable[[], object]

CASES = ("uniform float32", "uniform float64", "normal float32", "normal float64", "integers int32")
LIMIT = 1000  # of the integers


def library_action(library: str, row: str, device: Any) -> Action | None:
    """Return the call of a library's user, or None."""
    kind, dtype = row.split()
    if library == "numpy":
        return numpys(row)
    if library == "torch":
        import torch

        like = {"dtype": getattr(torch, dtype), "device": device.native}
        if kind == "integers":
            return partial(torch.randint, 0, LIMIT, (SIZE,), **like)
        return partial(torch.rand if kind == "uniform" else torch.randn, SIZE, **like)
    if library == "jax":
        import jax

        key = jax.device_put(jax.random.key(0), device.native)
        if kind == "integers":
            jaxs = partial(jax.random.randint, key, (SIZE,), 0, LIMIT, dtype)
        else:
            jaxs = partial(getattr(jax.random, kind), key, (SIZE,), dtype)
        return lambda: jaxs().block_until_ready()
    if library == "mlx" and dtype != "float64":
        import mlx.core as mx

        def mlxs() -> None:
            if kind == "integers":
                mx.eval(mx.random.randint(0, LIMIT, (SIZE,), mx.int32, stream=device.native))
            else:
                mx.eval(getattr(mx.random, kind)(shape=(SIZE,), stream=device.native))

        return mlxs
    if library == "cupy":
        import cupy

        generator = cupy.random.default_rng()
        if kind == "integers":
            call = partial(generator.integers, 0, LIMIT, SIZE, dtype)
        else:
            name = "random" if kind == "uniform" else "standard_normal"
            call = partial(getattr(generator, name), SIZE, dtype)

        def cupys() -> None:
            call()
            cupy.cuda.get_current_stream().synchronize()

        return cupys
    return None


def numpys(row: str) -> Action:
    """Return the call of a NumPy user."""
    import numpy as np

    kind, dtype = row.split()
    generator = np.random.default_rng(0)
    if kind == "integers":
        return partial(generator.integers, 0, LIMIT, SIZE, dtype)
    name = "random" if kind == "uniform" else "standard_normal"
    return partial(getattr(generator, name), SIZE, dtype)


def ours(row: str, device: Any, *, kernels: bool) -> Action | None:
    """Return the call of a portarray user, or None if the device lacks the dtype."""
    import portarray as pa

    kind, dtype = row.split()
    target: Any = dtype
    try:
        pa.empty(1, dtype=target, device=device)
    except pa.DTypeNotSupportedError:
        return None
    key = pa.random.key(0, device=device)

    def action() -> None:
        with pa.config(tuned_kernels=kernels):
            if kind == "integers":
                x = pa.random.integers(key, LIMIT, shape=SIZE, dtype=target)
            else:
                x = getattr(pa.random, kind)(key, SIZE, dtype=dtype)
        x[-1].item()
        pa.synchronize(device)

    return action


def measured(devices: list[Any], repeats: int, only: str, *, functions: bool) -> Iterator[Any]:
    """Measure and print the rows."""
    from timing import shortest_times

    for row in CASES:
        if only not in row:
            continue
        actions: dict[str, Action] = {"NumPy's generator": numpys(row)}
        for device in devices:
            candidates = {
                f"{device}": ours(row, device, kernels=True),
                f"{device}, its library": library_action(device.library, row, device),
                f"{device}, functions": ours(row, device, kernels=False) if functions else None,
            }
            actions |= {name: action for name, action in candidates.items() if action is not None}
        actions.pop("numpy:cpu:0, its library", None)  # the same as NumPy's generator
        best = shortest_times(actions, repeats, 5e-3)
        base = best["NumPy's generator"]
        print(f"{row}, {SIZE:,} numbers")
        for name, seconds in best.items():
            library = best.get(f"{name}, its library")
            beside = "" if library is None else f"  {seconds / library:6.2f} of its library's"
            print(f"  {name:<28} {1e3 * seconds:8.1f} ms  {seconds / base:6.2f} of NumPy's{beside}")
        yield {"row": row, "seconds": best}


def main() -> None:
    """Measure, print and write."""
    parser = parser_of(__doc__, "--device")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--functions", action="store_true")
    options = parser.parse_args()
    set_threads(options.threads)
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    import portarray as pa

    devices = [pa.device(text) for text in options.device] if options.device else pa.devices()
    report: dict[str, Any] = {
        "machine": platform.platform(),
        "python": platform.python_version(),
        "threads": options.threads,
        "size": SIZE,
        "rows": [],
    }
    for row in measured(devices, options.repeats, options.only, functions=options.functions):
        report["rows"].append(row)
        reports.write(report, options.json)


if __name__ == "__main__":
    main()
