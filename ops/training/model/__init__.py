"""The Mini-GPT in PyTorch: the twin of the worker's model, batches, one run (loop, trainer), export and mean.

Only this package and evaluation/heldout need PyTorch.
"""
