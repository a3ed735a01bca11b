"""Refs to commits, wheels to hashes, recipes to tree hashes: the generated half of docker-bake.override.json."""
