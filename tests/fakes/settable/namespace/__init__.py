from portarray.backends.numpy import namespace as of_numpy
from settable.devices import LIBRARY

globals().update(LIBRARY.namespace(of_numpy))
