"""Does the consumer fit the host? Static: imports and runs nothing of either side."""
