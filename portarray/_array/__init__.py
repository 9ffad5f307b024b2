"""What every call goes through: the array, its calls, dtypes and indices."""

# `array` and `call` need each other, and array's class body calls functions of `call` while `call`
# needs the class only once functions run: whichever is asked for, `array` must be begun first.
from portarray._array import array as array
