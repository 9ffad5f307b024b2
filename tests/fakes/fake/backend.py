from over_numpy import Library, OverNumpy

LIBRARY = Library("fake", "cuda", 2, "gpu", scoped=True)


class Fake(OverNumpy):
    _library = LIBRARY
    standard = LIBRARY.standard()


BACKEND = Fake
