"""Reads the state of the system, and serves GET /metrics."""
