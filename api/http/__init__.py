"""The HTTP face: routes, what is read of a request, and replies."""
