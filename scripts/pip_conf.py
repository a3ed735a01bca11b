"""Filter `pip config list` (standard input) down to a pip.conf that makes sense in a RUN step.

Kept: which index, through which proxy, how patiently. Dropped: certificates (CA_BUNDLE carries them) and paths of
this machine.
"""

import ast
import sys

KEPT = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries")

values: dict[str, str] = {}
for line in sys.stdin:
    key, _, quoted = line.strip().partition("=")
    name = key.rpartition(".")[2].removeprefix("default-")
    if name in KEPT:
        words = [word for word in ast.literal_eval(quoted).split() if not word.startswith("file:")]
        if words:
            values[name] = "\n    ".join(words)
if values.keys() - {"timeout", "retries"}:
    print("[global]", *(f"{name} = {value}" for name, value in values.items()), sep="\n")
