"""The Mini-GPT in PyTorch: the twin of the worker's model, its batches, and one run from them to a weights file."""
