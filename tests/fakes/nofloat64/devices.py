from over_numpy import Library

LIBRARY = Library("nofloat64", "metal", 1, "gpu", lacking=("float64", "complex128"), on_host=True)
globals().update(LIBRARY.devices())
