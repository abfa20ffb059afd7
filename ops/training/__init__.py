"""How the weights are made: text (corrupted sentences, the tokenizer), model (PyTorch and its training), evaluation.

`commands` and `options` are the command line of `miniserve train` and `miniserve eval`.
"""
