from faulty.devices import LIBRARY
from portarray.backends.numpy import namespace as of_numpy

globals().update(LIBRARY.namespace(of_numpy))
