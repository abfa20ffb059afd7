"""Requests that nobody waits for, and those that are asked about later."""
