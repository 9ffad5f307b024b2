"""The standard on clarray's arrays: clarray's own functions, and what portarray adds to them."""

from portarray import clarray

STANDARD = clarray
TAKES_SCALARS = True
