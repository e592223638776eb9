"""Private servers, run for real; and the set-up script's care for the system's services."""
