"""The library's pages: one, with the table that its tests write."""

project = "smalllearn"
extensions = ["portarray.testing.sphinx"]
