from over_numpy import Library, OverNumpy

LIBRARY = Library(
    "no64bit", "tpu", 1, "accelerator", lacking=("int64", "uint64", "float64", "complex128")
)


class No64Bit(OverNumpy):
    _library = LIBRARY
    standard = LIBRARY.standard()


BACKEND = No64Bit
