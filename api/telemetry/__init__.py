"""What an API process records of its requests: log lines and counts."""
