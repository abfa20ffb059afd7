"""Explains an edit in one sentence, from its words and those around it. `templates.explain` is the entry point."""
