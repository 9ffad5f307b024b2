"""The cost of gradients and compiled functions, compared with PyTorch, JAX and MLX.

Candidates alternate in one process and wait for their results; the shortest time of each counts.
Compare ratios of the same run only.

    python benchmarks/transforms.py [--json transforms.json] [--repeats N] [--threads 1]

``step`` is one gradient descent step of a three-layer network, for 128 examples and 256 units, and
for 8 examples and 32 units, through ``pa.grad``; ``compiled`` uses ``pa.compile``. The peers are
plain PyTorch, ``jax.jit`` and ``mx.compile``. ``chain`` is six operations on 16 million elements.
``softmax``, ``rms_norm`` and ``gelu`` are compiled standard functions, compared with tuned kernels.
``replay`` compares a compiled function of three calls on 20 elements with the calls. ``vmap``
compares 100 examples of small functions with one example. ``powers`` and ``products`` compare
``optimize="aggressive"`` with the default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import reports
from command_line import parser_of
from promises import Target, show_targets

Action = Callable[[], object]
RATE = 0.1
WIDTHS = ((256, 128), (32, 8))
LONG = 1 << 24


class Figure(NamedTuple):
    """Milliseconds of portarray and of a peer."""

    row: str
    device: str
    ours: float
    peer: str
    theirs: float

    @property
    def ratio(self) -> float:
        """The time relative to the peer."""
        return self.ours / self.theirs


def numbers(width: int, batch: int) -> tuple[list[Any], Any, Any]:
    """Return parameters, examples and targets, in NumPy."""
    import numpy as np

    rng = np.random.default_rng(0)
    sizes = [(64, width), (width, width), (width, 10)]
    weights = [rng.normal(size=size).astype("f4") * 0.1 for size in sizes]
    parameters = [*weights, *(np.zeros(size[1], "f4") for size in sizes)]
    x = rng.normal(size=(batch, 64)).astype("f4")
    return parameters, x, np.eye(10, dtype="f4")[rng.integers(0, 10, batch)]


def loss_of(relu: Any, mean: Any) -> Callable[..., Any]:
    """Return the loss of a network for any library."""

    def loss(p: Sequence[Any], x: Any, y: Any) -> Any:
        h = relu(x @ p[0] + p[3])
        h = relu(h @ p[1] + p[4])
        difference = h @ p[2] + p[5] - y
        return mean(difference * difference)

    return loss


def stepping(gradient: Any) -> Callable[..., Any]:
    """Return a step of gradient descent."""

    def step(p: Sequence[Any], x: Any, y: Any) -> list[Any]:
        return [q - RATE * g for q, g in zip(p, gradient(p, x, y), strict=True)]

    return step


def peers(library: str, width: int, batch: int) -> Iterator[tuple[str, Action]]:
    """Yield the training step of PyTorch and of the device's library."""
    values, x, y = numbers(width, batch)
    if library != "jax":
        yield "PyTorch", torchs(values, x, y)
    if library == "jax":
        import jax

        wait: Any = jax.block_until_ready
        jitted = jax.jit(stepping(jax.grad(loss_of(jax.nn.relu, jax.numpy.mean))))
        placed = jax.tree.map(jax.numpy.asarray, (values, x, y))
        yield "jax.jit", lambda: wait(jitted(*placed))
    if library == "mlx":
        import mlx.core as mx

        placed_in_mlx = [mx.array(array) for array in values], mx.array(x), mx.array(y)
        with mx.stream(mx.cpu):
            compiled = mx.compile(stepping(mx.grad(loss_of(lambda x: mx.maximum(x, 0), mx.mean))))
        yield "mx.compile", lambda: mx.eval(compiled(*placed_in_mlx))


def torchs(values: Any, x: Any, y: Any) -> Action:
    """Return PyTorch's eager training step."""
    import torch

    p = [torch.tensor(array, requires_grad=True) for array in values]
    x, y = torch.tensor(x), torch.tensor(y)
    loss = loss_of(torch.relu, torch.mean)

    def step() -> Any:
        gradient = torch.autograd.grad(loss(p, x, y), p)
        with torch.no_grad():
            return [q - RATE * g for q, g in zip(p, gradient, strict=True)]

    return step


def steps(device: Any) -> Iterator[tuple[str, list[tuple[str, Action]]]]:
    """Yield rows of training steps; portarray comes first."""
    import portarray as pa

    for width, batch in WIDTHS:
        values, x, y = numbers(width, batch)
        placed = [pa.asarray(array, device=device) for array in values]
        arguments = placed, pa.asarray(x, device=device), pa.asarray(y, device=device)
        step = stepping(pa.grad(loss_of(pa.kernels.relu, pa.mean)))
        compiled = pa.compile(step)
        for name, function in (("step", step), ("compiled step", compiled)):
            action = partial(finished, function, arguments, device)
            yield f"{name} {width}", [("portarray", action), *peers(device.library, width, batch)]


def finished(function: Any, args: Any, device: Any) -> None:
    """Call a function and wait for its result."""
    import portarray as pa

    out = function(*args)
    if device.library == "numpy" or (device.library == "torch" and device.platform == "cpu"):
        return  # synchronous
    natives = [array.native for array in (out if isinstance(out, list) else [out])]
    if device.library == "mlx":
        import mlx.core as mx

        mx.eval(natives)
    elif device.library == "jax":
        import jax

        wait: Any = jax.block_until_ready
        wait(natives)
    else:
        pa.synchronize(device)


def fused(device: Any) -> Iterator[tuple[str, list[tuple[str, Action]]]]:
    """Yield rows of functions that fuse into one kernel."""
    import numpy as np

    import portarray as pa

    rng = np.random.default_rng(0)

    def chain(x: Any) -> Any:
        return pa.sqrt(pa.abs(x * x + 1.0)) * 0.5 - pa.tanh(x)

    def softmax(x: Any) -> Any:
        e = pa.exp(x - pa.max(x, axis=-1, keepdims=True))
        return e / pa.sum(e, axis=-1, keepdims=True)

    def rms_norm(x: Any, w: Any) -> Any:
        return x * w / pa.sqrt(pa.mean(x * x, axis=-1, keepdims=True) + 1e-5)

    def gelu(x: Any) -> Any:
        return 0.5 * x * (1.0 + pa.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))

    long = rng.normal(size=LONG).astype("f4")
    x = pa.asarray(long, device=device)
    rows: list[tuple[str, Action]] = [
        ("portarray", partial(finished, pa.compile(chain), (x,), device))
    ]
    rows.append(("calls", partial(finished, chain, (x,), device)))
    rows.append(("torch.compile", torch_chain(long)))
    yield "chain", rows
    matrix = pa.asarray(rng.normal(size=(4096, 1024)).astype("f4"), device=device)
    w = pa.asarray(rng.normal(size=1024).astype("f4"), device=device)
    tuned: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
        "softmax": (softmax, (matrix,), pa.kernels.softmax),
        "rms_norm": (rms_norm, (matrix, w), pa.kernels.rms_norm),
        "gelu": (gelu, (matrix,), partial(pa.kernels.gelu, approximate="tanh")),
    }
    for name, (function, args, kernel) in tuned.items():
        action = partial(finished, pa.compile(function), args, device)
        yield (
            name,
            [("portarray", action), ("tuned kernel", partial(finished, kernel, args, device))],
        )


def torch_chain(values: Any) -> Action:
    """Return the chain by torch.compile."""
    import torch

    x = torch.tensor(values)
    compiled = torch.compile(lambda x: torch.sqrt(torch.abs(x * x + 1.0)) * 0.5 - torch.tanh(x))
    return lambda: compiled(x)


def replays(device: Any) -> Iterator[tuple[str, list[tuple[str, Action]]]]:
    """Yield the row of a small function."""
    import numpy as np

    import portarray as pa

    x = pa.asarray(np.ones((5, 4), "f4"), device=device)

    def small(x: Any) -> Any:
        return pa.sin(x) * 2.0 + 1.0

    compiled = pa.compile(small)
    yield "replay", [("portarray", lambda: compiled(x)), ("calls", lambda: small(x))]


def vmapped(device: Any) -> Iterator[tuple[str, list[tuple[str, Action]]]]:
    """Yield rows of small functions for 100 examples, compared with one example."""
    import numpy as np

    import portarray as pa

    rng = np.random.default_rng(0)
    x = pa.asarray(rng.random((100, 8)).astype("f4"), device=device)
    w = pa.asarray(rng.normal(size=(8, 4)).astype("f4"), device=device)

    def softmax(row: Any) -> Any:
        e = pa.exp(row - pa.max(row))
        return e / pa.sum(e)

    functions: dict[str, Callable[[Any], Any]] = {
        "normalized": lambda row: row / pa.sum(row),
        "softmax": softmax,
        "loss": lambda row: pa.sum((pa.tanh(row @ w) - 0.5) ** 2),
        "gradient": pa.grad(lambda row: pa.sum((pa.tanh(row @ w) - 0.5) ** 2)),
    }
    for name, function in functions.items():
        batched = pa.vmap(function)
        for _ in range(40):  # later calls repeat what these call
            batched(x)
        ours, theirs = (
            partial(finished, f, (y,), device) for f, y in ((batched, x), (function, x[0, :]))
        )
        yield f"vmap {name}", [("portarray", ours), ("one example", theirs)]


def optimized(device: Any) -> Iterator[tuple[str, list[tuple[str, Action]]]]:
    """Yield rows of functions that ``optimize="aggressive"`` rewrites."""
    import numpy as np

    import portarray as pa

    x = pa.asarray(np.random.default_rng(0).normal(size=(512, 512)).astype("f4"), device=device)

    def powers(x: Any) -> Any:
        return x**3 + x

    def products(x: Any) -> Any:
        return x @ x @ x[0, ...]

    for function in (powers, products):
        aggressive = pa.compile(function, optimize="aggressive")
        default = partial(finished, pa.compile(function), (x,), device)
        ours = partial(finished, aggressive, (x,), device)
        yield function.__name__, [("portarray", ours), ("default", default)]


def measured(devices: Sequence[Any], repeats: int, only: str) -> Iterator[Figure]:
    """Measure the rows."""
    from timing import shortest_times

    for device in devices:
        rows = [*steps(device), *replays(device), *vmapped(device), *optimized(device)]
        if device.library in ("numpy", "clarray", "cupy", "dpnp"):
            rows += list(fused(device))
        for name, candidates in rows:
            if only and only not in name:
                continue
            best = shortest_times(dict(candidates), repeats, 1e-3)
            ours = best.pop("portarray")
            for peer, theirs in best.items():
                yield Figure(name, str(device), ours * 1e3, peer, theirs * 1e3)


TARGETS = (
    ("torch:cpu:0", "step 256", "PyTorch", 1.1),
    ("torch:cpu:0", "step 32", "PyTorch", 1.1),
    ("jax:cpu:0", "compiled step 256", "jax.jit", 1.1),
    ("jax:cpu:0", "compiled step 32", "jax.jit", 1.1),
    ("mlx:cpu:0", "compiled step 256", "mx.compile", 1.15),
    ("mlx:cpu:0", "compiled step 32", "mx.compile", 1.15),
    ("numpy:cpu:0", "step 256", "PyTorch", 1.3),
    ("numpy:cpu:0", "step 32", "PyTorch", 1.5),
    ("numpy:cpu:0", "compiled step 256", "PyTorch", 0.8),
    ("clarray:opencl:0", "compiled step 256", "PyTorch", 0.8),
    ("clarray:opencl:0", "chain", "torch.compile", 0.75),
    ("numpy:cpu:0", "chain", "calls", 0.35),
    ("clarray:opencl:0", "softmax", "tuned kernel", 1.3),
    ("clarray:opencl:0", "rms_norm", "tuned kernel", 1.3),
    ("clarray:opencl:0", "gelu", "tuned kernel", 1.3),
    ("numpy:cpu:0", "replay", "calls", 1.0),
    ("clarray:opencl:0", "replay", "calls", 1.0),
    *[
        (device, f"vmap {name}", "one example", 3.0)
        for device in ("numpy:cpu:0", "torch:cpu:0", "mlx:cpu:0", "jax:cpu:0", "clarray:opencl:0")
        for name in ("normalized", "softmax", "loss", "gradient")
    ],
)
"""Device, row, peer, and the largest ratio."""


def main() -> None:
    """Measure and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--device", action="append", help="measure this device and no other")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--repeats", type=int, default=30, help="turns of each candidate")
    parser.add_argument("--threads", type=int, default=1, help="threads of the libraries")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    import torch

    import portarray as pa

    torch.set_num_threads(options.threads)
    names = options.device or ["numpy", "torch", "mlx", "jax", "clarray"]
    figures = []
    for figure in measured([pa.device(name) for name in names], options.repeats, options.only):
        figures.append(figure)
        print(
            f"{figure.device:<18} {figure.row:<18} {figure.ours:9.4f} ms  "
            f"{figure.ratio:6.2f} of {figure.peer}",
            flush=True,
        )
    ratios = {(name.device, name.row, name.peer): name.ratio for name in figures}
    show_targets(
        [
            Target(
                f"{row} on {device} at most {most} of {peer}",
                f"{ratios[device, row, peer]:.2f}",
                ratios[device, row, peer] <= most,
            )
            for device, row, peer, most in TARGETS
            if (device, row, peer) in ratios
        ]
    )
    rows = [name._asdict() for name in figures]
    reports.write({"threads": options.threads, "figures": rows}, options.json)


if __name__ == "__main__":
    main()
