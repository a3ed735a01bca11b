"""Fleets of GPUs: YAML files, validated and rendered to values for bake."""
