"""Fleets of GPUs: YAML files of people -> validated values for bake.

`load` reads one manifest, `load_all` every one of a checkout, `render` gives the value of the bake variable
ATOMSTACK_MANIFESTS. Mistakes in a file are one `UsageError` that names each with file and line.
"""

from atomstack.manifest.load import load, load_all, names
from atomstack.manifest.model import Manifest, Rootfs, render

__all__ = ["Manifest", "Rootfs", "load", "load_all", "names", "render"]
