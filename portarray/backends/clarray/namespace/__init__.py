"""The standard on clarray's arrays: clarray's own functions, and what portarray adds to them."""
