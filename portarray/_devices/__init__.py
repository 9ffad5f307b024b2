"""Which hardware there is, through which library, and which of it is used."""
