"""The limits, on a real Redis."""
