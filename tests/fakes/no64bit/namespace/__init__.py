from no64bit.devices import LIBRARY
from portarray.backends.numpy import namespace as of_numpy

globals().update(LIBRARY.namespace(of_numpy))
