"""The live view: what the batch, the queue and the workers do now, for those who watch."""
