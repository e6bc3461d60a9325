"""Ideas for the ranking, each as a variant of the default system on the same questions."""
