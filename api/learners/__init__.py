"""What learners often get wrong: counts by reason and verb, never text."""
