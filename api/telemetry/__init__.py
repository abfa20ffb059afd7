"""What an API process records of its requests: log lines, counts and traces."""
