"""The generated training sentences, a line each, in `sentences/`: lines reads, check finds faults, swaps varies."""
