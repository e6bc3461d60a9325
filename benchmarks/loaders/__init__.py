"""Reading the data sets, one module each; every file of the named format in their folder."""
