"""The array API standard on MLX's arrays, a file a category."""
