"""The way of a request from its text to the queue and back."""
