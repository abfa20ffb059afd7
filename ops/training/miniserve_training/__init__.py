"""Makes the weights of miniserve: text with mistakes (text), the model in PyTorch and its training (model)."""
