"""What every call goes through: the array, the crossing, dtypes, indices, support."""
