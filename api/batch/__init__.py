"""POST /correct/batch: many texts at once."""
