"""Suppressions, on a real Redis."""
