"""POST /correct as a stream of events."""
