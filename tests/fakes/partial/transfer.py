from partial.devices import LIBRARY

globals().update(LIBRARY.transfer())
