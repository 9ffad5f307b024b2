"""Random programs of moves, views and writes, compared with a model.

The model of an array is a NumPy array. A move that shares memory shares the model, and one that
copies copies it; at the end every array must equal its model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import portarray as pa

DEVICES = list(pa.devices())
SHAPE = (4, 6)
PROGRAMS = 150
CONSTANT = {"jax", "mlx"}
"""Libraries whose arrays never change: an assignment makes a new one."""

# Of whole matrices only, so that JAX has few shapes to compile for.
VIEWS: tuple[Callable[[Any], Any], ...] = (lambda x: x[1:, :], lambda x: x.T, lambda x: x[:, ::2])

Move = Callable[[pa.Array, pa.Device, bool | None], pa.Array]
MOVES: tuple[Move, ...] = (
    lambda x, device, copy: x.to_device(device, copy=copy),
    lambda x, device, copy: pa.asarray(x, device=device, copy=copy),
    lambda x, device, copy: pa.from_dlpack(x, device=device, copy=copy),
    lambda x, device, copy: pa.from_dlpack(x.native, device=device, copy=copy),
)


def is_broadcast(x: pa.Array) -> bool:
    """Return whether elements of an array share memory."""
    native = x.native
    strides = native.stride() if hasattr(native, "stride") else getattr(native, "strides", ())
    return 0 in strides


class Program:
    """A running program, with every array and its model."""

    def __init__(self, seed: int, devices: Sequence[pa.Device]) -> None:
        self.rng = np.random.default_rng(seed)
        self.devices = devices
        self.arrays: list[pa.Array] = []
        self.models: list[np.ndarray[Any, Any]] = []
        self.log: list[str] = []

    def pick(self, options: Sequence[Any]) -> Any:
        """Draw one of some options."""
        return options[int(self.rng.integers(len(options)))]

    def add(self, x: pa.Array, model: np.ndarray[Any, Any], how: str) -> None:
        """Add an array and its model."""
        self.arrays.append(x)
        self.models.append(model)
        self.log.append(f"{len(self.arrays) - 1}: {how} on {x.device}")

    def make(self) -> None:
        """Make an array on a device."""
        values = self.rng.integers(0, 50, SHAPE).astype(np.float32)
        self.add(pa.asarray(values, device=self.pick(self.devices), copy=True), values, "new")

    def move(self, i: int) -> None:
        """Move an array in one of the ways, with one of the promises about copies."""
        x, device = self.arrays[i], self.pick(self.devices)
        copy, index = self.pick((None, None, True)), int(self.rng.integers(len(MOVES)))
        if index == 3 and device.library == x.device.library == "mlx":
            return  # MLX changes the one object that two arrays would then stand for
        plan = pa.transfer_plan(x, device)
        y = MOVES[index](x, device, copy)
        if y is not x:
            shares = copy is None and plan.copies == 0
            model = self.models[i] if shares else self.models[i].copy()
            self.add(y, model, f"{i} moved by {index}, copy={copy}, shares={shares},")

    def view(self, i: int) -> None:
        """Make a view of a matrix."""
        if self.arrays[i].shape == SHAPE:
            k = int(self.rng.integers(len(VIEWS)))
            self.add(VIEWS[k](self.arrays[i]), VIEWS[k](self.models[i]), f"view {k} of {i}")

    def write(self, i: int) -> None:
        """Write into an array: one element, all of them, or in place."""
        x = self.arrays[i]
        if is_broadcast(x):
            with pytest.raises(ValueError, match="share memory"):
                x[1, 2] = 1.0
            return
        sealed = x.device.library == "numpy" and not x.native.flags.writeable
        if sealed or x.device.library in CONSTANT:
            self.models[i] = self.models[i].copy()
        model, value = self.models[i], float(self.rng.integers(100, 200))
        kind = self.pick(("one", "all", "in place"))
        self.log.append(f"write {kind} of {i}: {value}")
        if kind == "one":
            x[1, 2] = value
            model[1, 2] = value
        elif kind == "all":
            x[...] = value
            model[...] = value
        else:
            x += 1.0
            model += 1.0
            self.arrays[i] = x

    def run(self) -> None:
        """Run the program, and compare every array with its model."""
        self.make()
        for _ in range(int(self.rng.integers(3, 16))):
            i = int(self.rng.integers(len(self.arrays)))
            self.pick((self.move, self.move, self.move, self.view, self.write, self.write))(i)
        for i, (x, model) in enumerate(zip(self.arrays, self.models, strict=True)):
            values = x.device._backend.to_host(x.native, copy=True)
            message = "\n".join((f"array {i} is wrong, of", *self.log))
            np.testing.assert_array_equal(values, model, err_msg=message)


@pytest.mark.parametrize("library", sorted({device.library for device in DEVICES} - {"numpy"}))
def test_arrays_equal_their_models(library: str) -> None:
    """NumPy and one other library share memory most often."""
    near = [device for device in DEVICES if device.library in ("numpy", library)]
    for seed in range(PROGRAMS):
        Program(seed, near).run()


def test_arrays_equal_their_models_on_every_device() -> None:
    for seed in range(5 * PROGRAMS):
        Program(1000 + seed, DEVICES).run()
