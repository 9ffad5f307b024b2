from settable.devices import LIBRARY

globals().update(LIBRARY.transfer())
