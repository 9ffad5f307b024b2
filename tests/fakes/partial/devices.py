from over_numpy import Library

LIBRARY = Library("partial", "oneapi", 1, "gpu")
globals().update(LIBRARY.devices())
