"""Methods of ``dask.array.random`` for ``dask.config.set({"array.backend": "portarray"})``.

Dask finds the library of a bit generator by the first name of its class's module, and calls
``default_rng`` of that library's ``random``. The names here are therefore those of the module
``dask_portarray`` too, outside of this package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array
import dask.array.random
import numpy as np
from dask.base import normalize_token
from dask.highlevelgraph import MaterializedLayer

import portarray as pa
from portarray.dask import registration

__all__ = ["BitGenerator", "RandomState", "arange", "array", "default_rng", "is_choice"]

arange, array = np.arange, np.array  # what Dask calls for permutations and choices, on the host

Seed = int | np.random.SeedSequence | None


class BitGenerator:
    """The seed of a block, or of the blocks of arrays; it makes no bits itself.

    Parameters
    ----------
    seed : int, SeedSequence or None
        As for NumPy's bit generators.
    """

    def __init__(self, seed: Any = None) -> None:
        is_sequence = isinstance(seed, np.random.SeedSequence)
        self._seed_seq = seed if is_sequence else np.random.SeedSequence(seed)

    def __dask_tokenize__(self) -> Any:
        state = self._seed_seq.state
        return "portarray", normalize_token(sorted(state.items()))


class Methods:
    """The methods of ``numpy.random.Generator`` for one block, by their names."""

    def __init__(self, seeds: np.random.SeedSequence) -> None:
        self._seeds = seeds

    def __getattr__(self, name: str) -> Callable[..., Any]:
        draw = _DRAWS.get(name)
        if draw is not None:
            return self._drawn(draw)
        if name.startswith("_"):
            raise AttributeError(name)
        return _on_host(self._seeds, name)

    def _key(self, device: Any = None) -> pa.Array:
        high, low = (int(word) for word in self._seeds.generate_state(2))
        return pa.random.key((high << 32 | low) - 2**63, device=device)

    def _drawn(self, draw: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
        """Return a method that draws on the device of its arguments, or the default device."""

        def drawn(*args: Any, size: Any = (), dtype: Any = None, **options: Any) -> pa.Array:
            for word in ("out", "method"):  # of NumPy, which change no law
                options.pop(word, None)
            key = self._key(_device_of(*args, *options.values()))
            values = [_on_device(value, key) for value in args]
            named = {word: _on_device(value, key) for word, value in options.items()}
            return draw(key, () if size is None else size, dtype, *values, **named)

        return drawn

    def choice(
        self,
        a: Any,
        size: Any = (),
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """Return random elements of an array, or integers; text remains NumPy's."""
        if isinstance(a, np.ndarray) and a.dtype.kind not in "biufc":
            with pa.device("numpy"):
                indices = self._drawn(_choice)(a.shape[axis], size=size, replace=replace, p=p)
            return np.take(a, registration.as_numpy(indices), axis=axis)
        return self._drawn(_choice)(a, size=size, replace=replace, p=p, axis=axis)

    def shuffle(self, x: np.ndarray[Any, Any], axis: int = 0) -> None:
        """Bring the host's indices into random order."""
        order = pa.random.permutation(self._key("numpy"), x.shape[axis])
        x[...] = np.take(x, registration.as_numpy(order), axis=axis)


class RandomState(Methods):
    """The methods of ``numpy.random.RandomState`` for one block.

    Parameters
    ----------
    seed : int, array of int or None
        As for ``numpy.random.RandomState``.
    """

    def __init__(self, seed: Any = None) -> None:
        super().__init__(np.random.SeedSequence(seed))


def default_rng(bit_generator: BitGenerator | None = None) -> Methods:
    """Return the methods for a seed."""
    return Methods((bit_generator or BitGenerator())._seed_seq)


def is_choice(layer: Any) -> bool:
    """Return whether a layer chooses elements of arrays with the methods above."""
    if type(layer) is not MaterializedLayer or not layer:
        return False
    name, task = next(iter(layer.items()))
    if not str(name[0]).startswith("da.random.choice-"):
        return False
    is_legacy = task.func is dask.array.random._choice_rs  # which asks for the backend
    backend = dask.config.get("array.backend", None)
    return backend == "portarray" if is_legacy else isinstance(task.args[0], BitGenerator)


for _public in (BitGenerator, RandomState):
    _public.__module__ = "dask_portarray"  # by which Dask finds the library


# --- methods ------------------------------------------------------------------------------------


def _device_of(*values: Any) -> pa.Device | None:
    return next((value.device for value in values if isinstance(value, pa.Array)), None)


def _on_device(value: Any, key: pa.Array) -> Any:
    if isinstance(value, dask.array.Array):  # Dask infers the dtype from elements that it lacks
        kind = registration.near(value.dtype, key.device)
        return pa.ones(value.shape, dtype=kind, device=key.device)
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.ndim:
        return pa.asarray(value, device=key.device, narrow=True)
    return value.item() if isinstance(value, (np.ndarray, np.generic)) else value


def _on_host(seeds: np.random.SeedSequence, name: str) -> Callable[..., pa.Array]:
    """Return a method of NumPy whose numbers move to the default device."""
    method = getattr(np.random.default_rng(seeds), name, None) or getattr(
        np.random.RandomState(seeds.generate_state(8)), name
    )

    def drawn(*args: Any, size: Any = (), **options: Any) -> pa.Array:
        values = [registration.as_numpy(x) if isinstance(x, pa.Array) else x for x in args]
        numbers = np.asarray(method(*values, size=size, **options))
        return pa.asarray(numbers, device=_device_of(*args), narrow=True)

    return drawn


def _floating(dtype: Any, key: pa.Array) -> Any:
    return registration.near(dtype or np.float64, key.device)


def _located(name: str) -> Callable[..., pa.Array]:
    """Return the draw of a distribution with a location and a scale, which may be arrays."""

    def draw(key: pa.Array, shape: Any, dtype: Any, loc: Any = 0.0, scale: Any = 1.0) -> pa.Array:
        make: Callable[..., pa.Array] = getattr(pa.random, name)
        kind = _floating(dtype, key)
        if isinstance(loc, pa.Array) or isinstance(scale, pa.Array):
            x: pa.Array = make(key, shape, dtype=kind) * scale + loc
            return x.astype(kind, copy=False)
        values = {"scale": scale} if name == "exponential" else {"loc": loc, "scale": scale}
        return make(key, shape, dtype=kind, **values)

    return draw


def _uniform(key: pa.Array, shape: Any, dtype: Any, low: Any = 0.0, high: Any = 1.0) -> pa.Array:
    kind = _floating(dtype, key)
    if isinstance(low, pa.Array) or isinstance(high, pa.Array):
        x: pa.Array = pa.random.uniform(key, shape, dtype=kind) * (high - low) + low
        return x.astype(kind, copy=False)
    return pa.random.uniform(key, shape, dtype=kind, low=low, high=high)


def _gamma(key: pa.Array, shape: Any, dtype: Any, a: Any, scale: Any = 1.0) -> pa.Array:
    return pa.random.gamma(key, a, shape, dtype=_floating(dtype, key), scale=scale)


def _integers(
    key: pa.Array, shape: Any, dtype: Any, low: Any, high: Any = None, endpoint: bool = False
) -> pa.Array:
    kind = registration.near(dtype or np.int64, key.device)
    return pa.random.integers(key, low, high, shape, dtype=kind, endpoint=endpoint)


def _choice(
    key: pa.Array,
    shape: Any,
    dtype: Any,
    a: Any,
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
) -> pa.Array:
    if isinstance(p, pa.Array) and p.dtype.kind != "f":  # Dask tries the integer 1
        p = p.astype(registration.near(np.float64, key.device))
    return pa.random.choice(key, a, shape, replace=replace, p=p, axis=axis)


def _counts(name: str) -> Callable[..., pa.Array]:
    def draw(key: pa.Array, shape: Any, dtype: Any, *values: Any) -> pa.Array:
        make: Callable[..., pa.Array] = getattr(pa.random, name)
        return make(key, *values, shape, dtype=registration.near(np.int64, key.device))

    return draw


def _real(name: str) -> Callable[..., pa.Array]:
    def draw(key: pa.Array, shape: Any, dtype: Any, *values: Any) -> pa.Array:
        make: Callable[..., pa.Array] = getattr(pa.random, name)
        return make(key, *values, shape, dtype=_floating(dtype, key))

    return draw


_normal = _located("normal")
_exponential = _located("exponential")

_DRAWS: dict[str, Callable[..., pa.Array]] = {
    "beta": _real("beta"),
    "binomial": _counts("binomial"),
    "chisquare": lambda key, shape, dtype, df: 2 * _gamma(key, shape, dtype, df / 2),
    "exponential": lambda key, shape, dtype, scale=1.0: _exponential(key, shape, dtype, 0.0, scale),
    "gamma": _gamma,
    "integers": _integers,
    "laplace": _located("laplace"),
    "lognormal": lambda *args, **options: pa.exp(_normal(*args, **options)),
    "normal": _normal,
    "poisson": _counts("poisson"),
    "randint": _integers,
    "random": _uniform,
    "random_sample": _uniform,
    "standard_exponential": _exponential,
    "standard_gamma": _gamma,
    "standard_normal": _normal,
    "standard_t": _real("student_t"),
    "uniform": _uniform,
}
"""Methods that draw on the device; NumPy makes the numbers of the others."""
