"""How a standard function becomes one for native arrays: lookup, promotion and checks."""
