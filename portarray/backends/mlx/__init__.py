"""The room of MLX: Apple GPUs, NVIDIA GPUs, CPUs."""

from portarray.backends.protocol import RoomInfo

INFO = RoomInfo(
    library="mlx",
    title="MLX",
    module="mlx",
    ranks={"metal": 10, "cpu": 30, "cuda": 40},
    install={"": "portarray[mlx]", "cuda": "mlx[cuda12]"},
    # mx.from_dlpack, mx.searchsorted and mx.unstack came late, and streams of several threads
    # changed until here.
    oldest="0.32",
)
