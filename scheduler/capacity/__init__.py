"""How much the system can do and how much is asked of it: pure functions of what was observed, on no request's way."""
