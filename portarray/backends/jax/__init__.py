"""The JAX backend: all devices of XLA.

JAX's arrays are immutable. Assignment and in-place operators replace the native array by a new one,
at the cost of a copy; earlier views do not see the change. NumPy reads arrays through read-only
views, and memory that others may write is shared only with ``copy=False``.

JAX is not configured here: 64-bit dtypes follow the user's ``jax_enable_x64``, in each thread and
at any time. portarray's functions work inside ``jax.jit``, ``jax.grad`` and ``jax.vmap``, except
those that need values.
"""

from portarray.backends.types import BackendInfo, PlatformFacts

INFO = BackendInfo(
    library="jax",
    title="JAX",
    module="jax",
    ranks={"tpu": 10, "cuda": 30, "rocm": 30, "cpu": 40},
    install={"": "portarray[jax]", "cuda": "jax[cuda12]", "rocm": "jax[rocm]", "tpu": "jax[tpu]"},
    # The first release with jax.enable_x64; earlier ones are untested.
    oldest="0.8",
    facts={
        "tpu": PlatformFacts(
            lacks=("int64", "uint64", "float64", "complex128"),
            immutable=True,
            dlpack=12,
            kind="accelerator",
        )
    },
)
