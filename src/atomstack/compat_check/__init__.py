"""Does the consumer fit the host? Static: imports and runs nothing of either side."""

from atomstack.compat_check.check import check
from atomstack.compat_check.pair import open_pair

__all__ = ["check", "open_pair"]
