"""The pure core of miniserve: request types, errors, settings and the batching policy. No I/O, no clock, no threads."""
