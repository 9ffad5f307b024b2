"""The backend of CuPy: NVIDIA GPUs, and AMD GPUs with the builds for ROCm."""

from portarray.backends.types import BackendInfo, PlatformFacts

INFO = BackendInfo(
    library="cupy",
    title="CuPy",
    module="cupy",
    ranks={"cuda": 10, "rocm": 10},
    install={"": "portarray[cupy-cuda12]", "rocm": "portarray[cupy-rocm]"},
    # Each build of CuPy has its own name.
    distributions=("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy-rocm-7-0", "cupy"),
    # The first release whose DLPack exchange supports versions and the standard's options.
    oldest="13.4",
    facts={
        "cuda": PlatformFacts(current=True, dlpack=2),
        "rocm": PlatformFacts(current=True, dlpack=10),
    },
)
