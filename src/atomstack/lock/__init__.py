"""One tuple, locked once: refs -> commits, images -> digests, wheels -> hashes, recipes -> tree hashes.

Everything ends up in docker-bake.override.json, which bake loads by itself. Only what this room obtained
itself is ever written there. `check` takes no network and only the standard library: the gate runs it too.
"""
