"""The backend of MLX: Apple GPUs, NVIDIA GPUs, CPUs."""

from portarray.backends.types import BackendInfo, PlatformFacts

INFO = BackendInfo(
    library="mlx",
    title="MLX",
    module="mlx",
    ranks={"metal": 10, "cpu": 30, "cuda": 40},
    install={"": "portarray[mlx]", "cuda": "mlx[cuda12]"},
    # mx.searchsorted came with 0.32.1, and integer division by 0 ended the process until 0.32.4:
    # https://github.com/ml-explore/mlx/pull/4442
    oldest="0.32.4",
    facts={"metal": PlatformFacts(lacks=("float64", "complex128"), on_host=True)},
)
