"""Arrays and the calls on them: dispatch, promotion, dtypes, indexing, interoperability."""
