"""Does the consumer fit the host? Static: imports and runs nothing of either side."""

from atomstack.compat_check.pair import open_pair
from atomstack.compat_check.remember import check, results_folder

__all__ = ["check", "open_pair", "results_folder"]
