"""How the weights are made: corrupted sentences, the tokenizer, a PyTorch twin of the model, the loop."""
