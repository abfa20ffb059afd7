"""The HTTP face of miniserve: tokenizes, queues, waits, explains. Imports no model and no NumPy."""
