"""The backend of clarray, portarray's own array library for OpenCL."""

from portarray.backends.types import BackendInfo, PlatformFacts

INFO = BackendInfo(
    library="clarray",
    title="clarray",
    module="pyopencl",
    ranks={"opencl": 10},
    install={"": "portarray[opencl]"},
    facts={
        "opencl": PlatformFacts(
            dlpack=4,
            host_functions=(
                *("argsort", "isin", "sort"),
                *("unique_all", "unique_counts", "unique_inverse", "unique_values"),
                *("linalg.cholesky", "linalg.det", "linalg.eig", "linalg.eigh", "linalg.eigvals"),
                *("linalg.eigvalsh", "linalg.inv", "linalg.matrix_rank", "linalg.pinv"),
                *("linalg.qr", "linalg.slogdet", "linalg.solve", "linalg.svd", "linalg.svdvals"),
                *("fft.fft", "fft.fftn", "fft.hfft", "fft.ifft", "fft.ifftn", "fft.ihfft"),
                *("fft.irfft", "fft.irfftn", "fft.rfft", "fft.rfftn"),
            ),
        ),
    },
)
