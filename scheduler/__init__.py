"""The pure core: request types, errors, settings and the batching policy. No I/O, no clock, no threads."""
