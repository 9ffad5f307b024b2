"""The backend of JAX: whatever XLA drives.

JAX's arrays never change. Assignment and in-place operators make a new native array and put it in
the place of the old one, at the cost of a copy; a part that was taken before does not see the
change. NumPy reads such an array through a read-only view, and memory that others may write is
shared only with ``copy=False``.

Nothing of JAX is configured here: 64-bit dtypes exist as the user's ``jax_enable_x64`` says, in
each thread and at any time. portarray's functions work inside ``jax.jit``, ``jax.grad`` and
``jax.vmap``, all but those that need values.
"""

from portarray.backends.types import BackendInfo, PlatformFacts

INFO = BackendInfo(
    library="jax",
    title="JAX",
    module="jax",
    ranks={"tpu": 10, "cuda": 30, "rocm": 30, "cpu": 40},
    install={"": "portarray[jax]", "cuda": "jax[cuda12]", "rocm": "jax[rocm]", "tpu": "jax[tpu]"},
    # First with jax.enable_x64; earlier releases were not tried.
    oldest="0.8",
    facts={
        "tpu": PlatformFacts(
            lacks=("int64", "uint64", "float64", "complex128"),
            immutable=True,
            dlpack=12,
            kind="accelerator",
        ),
    },
)
