"""How good a model is: scores of the product on files of sentences, held-out sets of a run, bias of <eos>, figures."""
