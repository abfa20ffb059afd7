"""What looks at a running system, on the screen or by alerts, and what an operator does to it."""
