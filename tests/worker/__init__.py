"""Real worker processes: what is said to them, and what is done to them."""
