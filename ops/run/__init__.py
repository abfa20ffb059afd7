"""What starts and runs the system: processes, the embedded Redis, correctors, faults, spans, logs, health checks."""
