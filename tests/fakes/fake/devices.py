from over_numpy import Library

LIBRARY = Library("fake", "cuda", 2, "gpu", scoped=True)
globals().update(LIBRARY.devices())
