"""Templates: what is refused where, and that a value stays a value."""
