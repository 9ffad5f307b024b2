from over_numpy import Library

LIBRARY = Library(
    "no64bit", "tpu", 1, "accelerator", lacking=("int64", "uint64", "float64", "complex128")
)
globals().update(LIBRARY.devices())
