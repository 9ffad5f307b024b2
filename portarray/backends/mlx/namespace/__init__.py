"""The array API standard on MLX's arrays, a file a chapter."""

TAKES_SCALARS = False
STANDARD = None
