from no64bit.devices import LIBRARY

globals().update(LIBRARY.transfer())
