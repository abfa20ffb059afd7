"""Scores the corrector as it ships: `miniserve eval`. The training, a distribution of its own, scores by it, too."""
