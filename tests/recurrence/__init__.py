"""When things recur; no server is needed."""
