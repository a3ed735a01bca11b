"""The vLLM side: `register` holds the two hooks, `platform` the platform class, `host` what lies under it."""
