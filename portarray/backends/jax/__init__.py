"""The room of JAX: whatever XLA drives."""

from portarray.backends.protocol import RoomInfo

INFO = RoomInfo(
    library="jax",
    title="JAX",
    module="jax",
    ranks={"tpu": 10, "cuda": 30, "rocm": 30, "cpu": 40},
    install={"": "portarray[jax]", "cuda": "jax[cuda12]", "rocm": "jax[rocm]", "tpu": "jax[tpu]"},
    # First with jax.enable_x64; earlier releases were not tried.
    oldest="0.8",
)
