"""Hints for names that portarray does not have: what to use instead of other libraries' names.

Errors about one of the names below end with a hint. ``docs/other_names.md`` shows the tables.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, NoReturn, TypeVar

__all__ = [
    "ATTRIBUTES",
    "EXTRAS",
    "FUNCTIONS",
    "KEYWORDS",
    "LIBRARIES",
    "RENAMED",
    "MissingAttribute",
    "attribute_error",
    "hide_var_keywords",
    "module_getattr",
    "nearest_hint",
    "unexpected_keyword",
]

F = TypeVar("F", bound=Any)

RENAMED: dict[str, str] = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "array": "asarray",
    "as_tensor": "asarray",
    "asanyarray": "asarray",
    "ascontiguousarray": "asarray",
    "bitwise_not": "bitwise_invert",
    "bool_": "bool",
    "broadcast_tensors": "broadcast_arrays",
    "cat": "concat",
    "clamp": "clip",
    "concatenate": "concat",
    "conjugate": "conj",
    "cumprod": "cumulative_prod",
    "cumsum": "cumulative_sum",
    "device_put": "to_device",
    "double": "float64",
    "fix": "trunc",
    "from_numpy": "asarray",
    "ge": "greater_equal",
    "gt": "greater",
    "half": "float16",
    "in1d": "isin",
    "int": "int64",
    "int_": "int64",
    "intp": "int64",
    "invert": "bitwise_invert",
    "le": "less_equal",
    "left_shift": "bitwise_left_shift",
    "long": "int64",
    "lt": "less",
    "mm": "matmul",
    "bmm": "matmul",
    "mul": "multiply",
    "movedim": "moveaxis",
    "ndarray": "Array",
    "ne": "not_equal",
    "neg": "negative",
    "power": "pow",
    "promote_types": "result_type",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "row_stack": "concat",
    "single": "float32",
    "sub": "subtract",
    "tensor": "asarray",
    "Tensor": "Array",
    "true_divide": "divide",
    "unbind": "unstack",
    "unique": "unique_values",
}
"""Functions and dtypes with another name here and the same order of parameters."""

# By module of portarray: functions that users look for in another module.
_HOME = {
    "linalg": "cholesky cross det diagonal eig eigh eigvals eigvalsh inv matrix_norm matrix_power "
    "matrix_rank outer pinv qr slogdet svd svdvals trace vector_norm",
    "kernels": "attention cross_entropy embedding gelu layer_norm linear log_softmax relu rms_norm "
    "silu softmax solve_triangular",
    "fft": "fftn ifft ifftn irfft rfft",
    "random": "choice dirichlet exponential laplace multivariate_normal normal permutation poisson "
    "student_t uniform",
    "special": "betainc betaln digamma entr erf erfc erfcx erfinv expit gammainc gammaincc gammaln "
    "i0e i1 i1e kl_div log_expit log_ndtr logit logsumexp ndtr ndtri polygamma psi rel_entr "
    "xlog1py xlogy zeta",
}
# Functions of NumPy that accept arrays on any device (portarray/_numpy_functions), but write into
# them, print them or have another name in the namespace.
_NUMPY = (
    "array2string around asfortranarray fill_diagonal geomspace place put put_along_axis putmask"
)
_EXTRAS = (
    "allclose angle append apply_along_axis apply_over_axes argpartition argwhere array_equal "
    "array_equiv array_split atleast_1d atleast_2d atleast_3d average bincount block cbrt "
    "column_stack compress convolve copy corrcoef correlate cov deg2rad degrees delete diag "
    "diagflat digitize divmod dot dsplit dstack ediff1d einsum exp2 extract fabs flatnonzero "
    "fliplr flipud float_power fmax fmin fmod gradient heaviside histogram histogram2d "
    "histogram_bin_edges histogramdd "
    "hsplit hstack inner insert interp intersect1d isclose iscomplex iscomplexobj isneginf "
    "isposinf isreal isrealobj ix_ kron ldexp lexsort logaddexp2 median modf nan_to_num "
    "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile "
    "nanprod nanquantile nanstd nansum nanvar pad partition percentile piecewise polyadd "
    "polyder polyint polymul polysub polyval ptp quantile rad2deg radians ravel resize rollaxis "
    "rot90 select setdiff1d setxor1d sinc split swapaxes transpose trapezoid trim_zeros union1d "
    "unwrap vander vdot vsplit vstack"
)
EXTRAS = frozenset(_EXTRAS.split())
"""Functions of NumPy, CuPy and JAX that the namespace has beyond the standard."""


def _numpy(names: str, module: str = "") -> dict[str, str]:
    return {name: f"np.{module}{name}, which accepts these arrays" for name in names.split()}


FUNCTIONS: dict[str, dict[str, str]] = {
    "": {
        **{name: f"pa.{ours}" for name, ours in RENAMED.items()},
        **{name: f"pa.{part}.{name}" for part, names in _HOME.items() for name in names.split()},
        **_numpy(_NUMPY),
        "addmm": "z + x @ y",
        "asnumpy": 'x.to_device("numpy").native',
        "autograd": "pa.grad",
        "baddbmm": "z + x @ y",
        "bernoulli": "pa.random.uniform(key, shape) < p",
        "binary_cross_entropy": "-pa.mean(y * pa.log(x) + (1 - y) * pa.log(1 - x))",
        "binary_cross_entropy_with_logits": "pa.mean(pa.logaddexp(x, 0.0) - x * y)",
        "cdist": "pa.sqrt(pa.sum((x[:, None] - y[None]) ** 2, axis=-1))",
        "chunk": "np.array_split(x, n, axis=axis)",
        "cosine_similarity": "pa.vecdot(x, y) / (pa.linalg.vector_norm(x, axis=-1) * "
        "pa.linalg.vector_norm(y, axis=-1))",
        "cuda": 'pa.device("cuda"), pa.memory and pa.synchronize',
        "diag_embed": "x[..., None] * pa.eye(x.shape[-1])",
        "dropout": "pa.where(pa.random.uniform(key, x.shape) < p, 0.0, x / (1 - p))",
        "dtype": "numpy.dtype; dtypes here are NumPy's",
        "elu": "pa.where(x > 0, x, pa.expm1(x))",
        "empty_cache": "pa.reclaim()",
        "eval": "pa.synchronize(x.device)",
        "flatten": "pa.reshape(x, (-1,))",
        "float": "pa.float64 or pa.float32",
        "float_": "pa.float64",
        "fori_loop": "pa.scan, or pa.while_loop",
        "frombuffer": "pa.asarray(np.frombuffer(buffer, dtype))",
        "fromiter": "pa.asarray(list(values))",
        "gather": "pa.take_along_axis(x, indices, axis=axis)",
        "Generator": "pa.random.key(seed)",
        "get_default_device": "pa.device()",
        "hessian": "pa.jacobian(pa.grad(function)), or pa.hvp for its product with a vector",
        "identity": "pa.eye(n)",
        "index_add": "pa.scatter_add(x, indices, values, axis=axis)",
        "index_select": "pa.take(x, indices, axis=axis)",
        "indices": 'pa.meshgrid(pa.arange(2), pa.arange(3), indexing="ij")',
        "inference_mode": "nothing: only functions of pa.grad are recorded",
        "is_floating_point": 'pa.isdtype(x.dtype, "real floating")',
        "is_tensor": "isinstance(x, pa.Array)",
        "jit": "pa.compile",
        "kthvalue": "pa.sort(x)[..., n]",
        "l1_loss": "pa.mean(pa.abs(x - y))",
        "lax": "pa.scan, pa.while_loop and pa.cond",
        "leaky_relu": "pa.where(x > 0, x, 0.01 * x)",
        "lerp": "x + (y - x) * weight",
        "lgamma": "pa.special.gammaln(x)",
        "manual_seed": "pa.random.key(seed)",
        "masked_fill": "pa.where(mask, value, x)",
        "masked_select": "x[mask]",
        "matvec": "pa.matmul(x, y[..., None])[..., 0]",
        "mod": "pa.remainder(x, y)",
        "mse_loss": "pa.mean((x - y) ** 2)",
        "multi_dot": "x @ y @ z",
        "multinomial": "pa.random.choice(key, x.shape[0], shape, p=p)",
        "mv": "pa.matmul(x, y)",
        "narrow": "slices: x[a:b]",
        "ndim": "x.ndim",
        "nll_loss": "pa.kernels.cross_entropy of the logits",
        "nn": "functions of pa.kernels and of your own parameters, and pa.grad",
        "no_grad": "nothing: only functions of pa.grad are recorded",
        "norm": "pa.linalg.vector_norm(x), or pa.linalg.matrix_norm(x)",
        "normalize": "x / pa.linalg.vector_norm(x, axis=-1, keepdims=True)",
        "numel": "x.size",
        "numpy": "numpy itself, or pa.namespace('numpy')",
        "one_hot": "pa.astype(x[..., None] == pa.arange(n), pa.int64)",
        "optim": "the examples' step of Adam, or a library that takes functions, such as optax",
        "permute": "pa.permute_dims(x, axes)",
        "polyfit": "pa.linalg.pinv(np.vander(x, n + 1)) @ y",
        "rand": "pa.random.uniform(key, shape)",
        "rand_like": "pa.random.uniform(key, x.shape, dtype=x.dtype)",
        "randint": "pa.random.integers(key, low, high, shape)",
        "randn": "pa.random.normal(key, shape)",
        "randn_like": "pa.random.normal(key, x.shape, dtype=x.dtype)",
        "randperm": "pa.random.permutation(key, n)",
        "relu6": "pa.clip(x, 0, 6)",
        "repeat_interleave": "pa.repeat(x, n, axis=axis)",
        "rsqrt": "1 / pa.sqrt(x)",
        "savez": "pa.save",
        "scaled_dot_product_attention": "pa.kernels.attention",
        "scatter": "np.put_along_axis(y, indices, values, axis), where y = x.copy()",
        "scipy": "scipy itself, which accepts these arrays",
        "set_default_dtype": "dtype= of the function that makes an array",
        "shape": "x.shape",
        "sigmoid": "pa.special.expit(x)",
        "size": "x.size",
        "softplus": "pa.logaddexp(x, 0.0)",
        "solve": "pa.linalg.solve",
        "t": "x.T",
        "topk": "pa.sort(x, descending=True)[..., :n], and pa.argsort for indices",
        "trapz": "pa.trapezoid",
        "tree_map": "optree.tree_map",
        "tri": "pa.tril(pa.ones((n, n)))",
        "tril_indices": "pa.nonzero(pa.tril(pa.ones((n, n))))",
        "triu_indices": "pa.nonzero(pa.triu(pa.ones((n, n))))",
        "uint": "pa.uint64",
        "unravel_index": "pa.floor_divide and pa.remainder by the lengths of the axes",
        "unsqueeze": "pa.expand_dims(x, axis=axis)",
        "vecmat": "pa.matmul(x[..., None, :], y)[..., 0, :]",
        "vectorize": "functions of whole arrays",
        "view": "pa.reshape(x, shape) for a shape, pa.astype(x, dtype) for a dtype",
    },
    "linalg": {
        **_numpy("cond multi_dot norm tensorinv tensorsolve", "linalg."),
        "dot": "pa.matmul(x, y), or pa.vecdot(x, y) of vectors",
        "lstsq": "pa.linalg.pinv(x) @ y",
        "solve_triangular": "pa.kernels.solve_triangular",
    },
    "fft": {
        "fft2": "pa.fft.fftn(x, axes=(-2, -1))",
        "ifft2": "pa.fft.ifftn(x, axes=(-2, -1))",
        "rfft2": "pa.fft.rfftn(x, axes=(-2, -1))",
        "irfft2": "pa.fft.irfftn(x, axes=(-2, -1))",
    },
    "tasks": {
        "TaskGroup": "pa.tasks.Region",
        "ThreadPoolExecutor": "pa.tasks.Region",
        "delayed": "region.spawn",
        "spawn": "region.spawn",
        "submit": "region.spawn",
    },
    "special": {
        "lgamma": "pa.special.gammaln(x)",
        "sigmoid": "pa.special.expit(x)",
    },
    "random": {
        "PRNGKey": "pa.random.key(seed)",
        "RandomState": "pa.random.key(seed)",
        "SeedSequence": "pa.random.key(seed) and pa.random.split(key, n)",
        "bernoulli": "pa.random.uniform(key, shape) < p",
        "chisquare": "2 * pa.random.gamma(key, df / 2, shape)",
        "default_rng": "pa.random.key(seed)",
        "gumbel": "-pa.log(pa.random.exponential(key, shape))",
        "logistic": "pa.log(x / (1 - x)), where x = pa.random.uniform(key, shape)",
        "lognormal": "pa.exp(pa.random.normal(key, shape))",
        "multinomial": "pa.random.choice(key, n, shape, p=p)",
        "rand": "pa.random.uniform(key, shape)",
        "randint": "pa.random.integers(key, low, high, shape)",
        "randn": "pa.random.normal(key, shape)",
        "random": "pa.random.uniform(key, shape)",
        "seed": "pa.random.key(seed)",
        "shuffle": "x = pa.random.permutation(key, x)",
        "standard_exponential": "pa.random.exponential(key, shape)",
        "standard_gamma": "pa.random.gamma(key, a, shape)",
        "standard_normal": "pa.random.normal(key, shape)",
        "standard_t": "pa.random.student_t(key, df, shape)",
    },
    "kernels": {
        "dot_product_attention": "pa.kernels.attention",
        "scaled_dot_product_attention": "pa.kernels.attention",
        "swish": "pa.kernels.silu",
        "layernorm": "pa.kernels.layer_norm",
        "rmsnorm": "pa.kernels.rms_norm",
        "sigmoid": "pa.special.expit(x)",
    },
}
"""What to use instead of a function that portarray or one of its modules does not have."""

LIBRARIES: dict[str, str] = {
    **{
        f"scipy.linalg.{name}": f"pa.linalg.{name}"
        for name in ("eig", "eigh", "eigvals", "eigvalsh", "inv", "pinv", "solve", "svd", "svdvals")
    },
    "scipy.linalg.cho_factor": "pa.linalg.cholesky",
    "scipy.linalg.cholesky": "pa.linalg.cholesky(x, upper=True), or the lower factor without it",
    "scipy.linalg.convolution_matrix": "pa.convolve",
    "scipy.linalg.ldl": "pa.linalg.cholesky of a positive definite matrix",
    "scipy.linalg.lstsq": "pa.linalg.pinv(x) @ y",
    "scipy.linalg.lu": "pa.linalg.solve for a solution, pa.linalg.det for the determinant",
    "scipy.linalg.lu_factor": "pa.linalg.solve for a solution, pa.linalg.det for the determinant",
    "scipy.linalg.null_space": "pa.linalg.svd: the last rows of vh",
    "scipy.linalg.orth": "pa.linalg.svd: the first columns of u",
    "scipy.linalg.pinvh": "pa.linalg.pinv",
    "scipy.linalg.polar": "pa.linalg.svd: u @ vh, and the rest",
    "scipy.linalg.qr": 'pa.linalg.qr(x, mode="complete")',
    "scipy.linalg.solve_triangular": "pa.kernels.solve_triangular",
    "scipy.linalg.sqrtm": "pa.linalg.eigh of a Hermitian matrix",
    "scipy.signal.unique_roots": "pa.unique_values",
    "scipy.spatial.distance.cdist": "pa.linalg.vector_norm(x[:, None] - y[None], axis=-1)",
    "scipy.stats.binned_statistic": "pa.histogram(x, weights=values)",
    "scipy.stats.percentileofscore": "pa.mean of comparisons, such as pa.astype(x < score, float)",
    "scipy.stats.relfreq": "pa.histogram(x) divided by the count",
    "scipy.stats.cumfreq": "pa.cumulative_sum of pa.histogram(x)",
    "sklearn.preprocessing.scale": "(x - pa.mean(x, axis=0)) / pa.std(x, axis=0)",
}
"""Functions of other libraries that read arrays on the host, by the name that users call."""

# Functions that are methods in other libraries.
_METHODS = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh count_nonzero diff "
    "exp expm1 floor isfinite isinf isnan log log10 log1p log2 logical_not "
    "reciprocal sign sin sinh sqrt square tan tanh tril triu trunc unstack"
)
_METHODS_OF_TWO = (
    "atan2 floor_divide hypot logaddexp logical_and logical_or maximum minimum remainder"
)

ATTRIBUTES: dict[str, str] = {
    **{name: f"pa.{name}(x)" for name in _METHODS.split()},
    **{name: f"pa.{name}(x, y)" for name in _METHODS_OF_TWO.split()},
    "add_": "x += y",
    "backward": "pa.grad(function)(x)",
    "block_until_ready": "pa.synchronize(x.device)",
    "bool": "x.astype(pa.bool)",
    "byte": "x.astype(pa.uint8)",
    "chunk": "np.array_split(x, n, axis=axis)",
    "clamp": "pa.clip(x, lo, hi)",
    "clamp_": "x[...] = pa.clip(x, lo, hi)",
    "clone": "x.copy()",
    "contiguous": "x; the library chooses the memory layout",
    "copy_": "x[...] = y",
    "cpu": 'x.to_device("cpu")',
    "cuda": 'x.to_device("cuda")',
    "data": "x.native",
    "data_ptr": "x.native, which has the address",
    "detach": "pa.stop_gradient(x)",
    "dim": "x.ndim",
    "div": "x / y",
    "div_": "x /= y",
    "double": "x.astype(pa.float64)",
    "dtypes": "x.dtype",
    "element_size": "x.dtype.itemsize",
    "eq": "x == y",
    "expand": "pa.broadcast_to(x, shape)",
    "expand_as": "pa.broadcast_to(x, y.shape)",
    "fill_": "x[...] = value",
    "float": "x.astype(pa.float32)",
    "gather": "pa.take_along_axis(x, indices, axis=axis)",
    "ge": "x >= y",
    "get": 'x.to_device("numpy").native',
    "grad": "pa.grad(function)(x)",
    "gt": "x > y",
    "H": "pa.conj(x.mT)",
    "half": "x.astype(pa.float16)",
    "index_select": "pa.take(x, indices, axis=axis)",
    "int": "x.astype(pa.int32)",
    "is_cuda": 'x.device.platform == "cuda"',
    "le": "x <= y",
    "log_softmax": "pa.kernels.log_softmax(x)",
    "long": "x.astype(pa.int64)",
    "lt": "x < y",
    "masked_fill": "pa.where(mask, value, x)",
    "masked_fill_": "x[mask] = value",
    "matmul": "x @ y",
    "median": "np.median(x)",
    "mm": "x @ y",
    "mul": "x * y",
    "mul_": "x *= y",
    "narrow": "slices: x[a:b]",
    "ne": "x != y",
    "neg": "-x",
    "new_ones": "pa.ones(shape, dtype=x.dtype, device=x.device)",
    "new_zeros": "pa.zeros(shape, dtype=x.dtype, device=x.device)",
    "norm": "pa.linalg.vector_norm(x)",
    "numel": "x.size",
    "numpy": 'x.to_device("numpy").native, or numpy.asarray(x) on host memory',
    "permute": "pa.permute_dims(x, axes)",
    "pow": "x**y",
    "ptp": "np.ptp(x)",
    "put": "np.put(x, indices, values)",
    "relu": "pa.kernels.relu(x)",
    "requires_grad": "pa.grad(function)(x)",
    "requires_grad_": "pa.grad(function)(x)",
    "resize": "pa.reshape(x, shape)",
    "roll": "pa.roll(x, n, axis=axis)",
    "scatter": "np.put_along_axis(y, indices, values, axis), where y = x.copy()",
    "scatter_": "np.put_along_axis(x, indices, values, axis)",
    "set": "x[index] = value",
    "sigmoid": "pa.special.expit(x)",
    "softmax": "pa.kernels.softmax(x)",
    "split": "np.split(x, range(n, x.shape[0], n)) for parts of n",
    "strides": "x.native.strides, where the library has them",
    "sub": "x - y",
    "sub_": "x -= y",
    "t": "x.T",
    "tile": "pa.tile(x, shape)",
    "to": "x.to_device(device), or x.astype(dtype)",
    "to_numpy": 'x.to_device("numpy").native',
    "tobytes": 'x.to_device("numpy").native.tobytes()',
    "topk": "pa.sort(x, descending=True)[..., :n], and pa.argsort for indices",
    "type": "x.astype(dtype)",
    "type_as": "x.astype(y.dtype)",
    "unbind": "pa.unstack(x, axis=axis)",
    "unique": "pa.unique_values(x)",
    "unsqueeze": "pa.expand_dims(x, axis=axis)",
    "zero_": "x[...] = 0",
}
"""What to use instead of an attribute or method that arrays do not have."""

KEYWORDS: dict[str, str] = {
    "a_max": "max",
    "a_min": "min",
    "dim": "axis",
    "dim0": "axis",
    "dims": "axes",
    "ddof": "correction",
    "input": "x",
    "keepdim": "keepdims",
    "unbiased": "correction=1 for unbiased=True, correction=0 for unbiased=False",
    "casting": "pa.astype(x, dtype) before the call",
    "decimals": "np.round(x, n)",
    "initial": "NumPy's function, such as np.max(x, initial=value)",
    "kind": "stable",
    "memory_format": "nothing: the library chooses the memory layout",
    "ndmin": "pa.reshape or pa.expand_dims of the result",
    "non_blocking": "nothing: a device runs its work in order, and the host waits where it reads",
    "order": "pa.reshape of pa.permute_dims(x, axes) for another order of elements; "
    "the library chooses the memory layout",
    "out": "y[...] = with the result",
    "overwrite_input": "nothing: arguments are never overwritten",
    "requires_grad": "pa.grad(function)(x)",
    "subok": "nothing: results are portarray arrays",
    "steps": "num",
    "where": "pa.where(mask, x, value) before the call, with a value that changes nothing",
}
"""What to use instead of a keyword argument: another one's name, or what to write."""


class _Message:
    """The message of an AttributeError, built when it is read.

    Many libraries call ``hasattr`` for many names, so the nearest name is not computed before.
    """

    __slots__ = ("_available", "_hints", "_name", "_owner")

    def __init__(
        self,
        owner: str,
        name: str,
        hints: Mapping[str, str],
        available: Callable[[], Iterable[str]],
    ) -> None:
        self._owner = owner
        self._name = name
        self._hints = hints
        self._available = available

    def __str__(self) -> str:
        name = self._name
        fix = self._hints.get(name)
        hint = nearest_hint(name, self._available()) if fix is None else f"\nHint: use {fix}"
        return f"{self._owner} has no attribute {name!r}{hint}"

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


def nearest_hint(name: str, available: Iterable[str]) -> str:
    """Return a hint that names the most similar available name, "" if none is similar."""
    import difflib  # most programs do without

    by_lower = {word.lower(): word for word in available}
    matches = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
    return f"\nHint: did you mean {by_lower[matches[0]]!r}?" if matches else ""


def attribute_error(
    owner: str, name: str, hints: Mapping[str, str], available: Callable[[], Iterable[str]]
) -> AttributeError:
    """Return the error for a missing attribute of an owner, such as ``"module 'portarray'"``."""
    # obj=None: Python would append a suggestion of its own.
    return AttributeError(_Message(owner, name, hints, available), name=name, obj=None)


def module_getattr(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a public module."""

    def __getattr__(name: str) -> NoReturn:  # noqa: N807
        hints = FUNCTIONS[module.partition(".")[2]]
        raise attribute_error(
            f"module {module!r}", name, hints, lambda: sys.modules[module].__all__
        )

    return __getattr__


class MissingAttribute:
    """A descriptor for an attribute of other libraries' arrays; reading it raises with a hint.

    A ``__getattr__`` of the class would slow down every attribute access.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> NoReturn:
        raise attribute_error("'Array' object", self._name, ATTRIBUTES, tuple)


def hide_var_keywords(function: F) -> F:
    """Hide ``**unknown`` from a function's signature.

    A function takes it only to raise :func:`unexpected_keyword`. It costs 20 ns a call, so only
    functions that take options and a microsecond have it.
    """
    code = function.__code__
    del function.__annotations__["unknown"]
    shown = FunctionType(
        code.replace(co_flags=code.co_flags & ~inspect.CO_VARKEYWORDS),
        function.__globals__,
        function.__name__,
        function.__defaults__,
    )
    shown.__kwdefaults__ = function.__kwdefaults__
    shown.__annotations__ = function.__annotations__
    function.__wrapped__ = shown
    return function


def unexpected_keyword(function: Any, unknown: Iterable[str]) -> TypeError:
    """Return the error for keyword arguments that a function does not take."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = [name for name in code.co_varnames[code.co_posonlyargcount : count] if name != "self"]
    wrong = next(iter(unknown))
    fix = KEYWORDS.get(wrong, "")
    if fix in names:
        hint = f"\nHint: use {fix}="
    elif fix and not fix.isidentifier():
        hint = f"\nHint: use {fix}"
    else:
        hint = nearest_hint(wrong, names) or f"\nHint: use one of {', '.join(names)}"
    return TypeError(f"{function.__name__}() got an unexpected keyword argument {wrong!r}{hint}")
