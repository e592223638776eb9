"""The ledger, on a real Redis."""
