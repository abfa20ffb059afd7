"""What an API process records of its requests: log lines, counts, traces, and the metrics of the system."""
