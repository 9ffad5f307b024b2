from over_numpy import Library, OverNumpy

LIBRARY = Library("nofloat64", "metal", 1, "gpu", lacking=("float64", "complex128"), on_host=True)


class NoFloat64(OverNumpy):
    _library = LIBRARY
    standard = LIBRARY.standard()


BACKEND = NoFloat64
