"""Refuses edits that the words around them speak against: "I really are", "food [will buy] for next week"."""
