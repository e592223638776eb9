"""Schedules: their store in Redis, the beat that fires them, and what can go wrong with both."""
