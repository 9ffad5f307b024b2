"""The room of MLX: Apple GPUs, NVIDIA GPUs, CPUs."""

from portarray.backends.protocol import RoomInfo

INFO = RoomInfo(
    library="mlx",
    title="MLX",
    module="mlx",
    ranks={"metal": 10, "cpu": 30, "cuda": 40},
    install={"": "portarray[mlx]", "cuda": "mlx[cuda12]"},
    # mx.from_dlpack and mx.logical_xor came with 0.32.0, mx.searchsorted with 0.32.1.
    oldest="0.32.1",
)
