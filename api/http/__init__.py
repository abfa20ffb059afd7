"""The HTTP face: routes, what a request may contain, documents, problems and streams of events."""
