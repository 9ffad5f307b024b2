from nofloat64.devices import LIBRARY

globals().update(LIBRARY.transfer())
