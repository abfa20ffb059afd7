"""What starts and runs the system: processes, the embedded Redis, correctors, faults, logs, health checks."""
