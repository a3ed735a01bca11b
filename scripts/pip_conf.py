"""Filter `pip config list` (standard input) down to a pip.conf that makes sense in a RUN step.

Kept: which index, through which proxy, how patiently; where that is said twice, as `pip install` hears it: from the
environment, else from [install], else from [global]. Dropped: certificates (CA_BUNDLE carries them) and paths of this
machine.
"""

import ast
import sys

SECTIONS = ("global", "install", ":env:")  # the later one wins
KEPT = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries")

values: dict[str, str] = {}
lines = sys.stdin.read().splitlines()
for section in SECTIONS:
    for line in lines:
        key, _, quoted = line.strip().partition("=")
        name = key.removeprefix(f"{section}.").removeprefix("default-")
        if key.startswith(f"{section}.") and name in KEPT:
            words = [word for word in ast.literal_eval(quoted).split() if not word.startswith("file:")]
            if words:
                values[name] = "\n    ".join(words)
if values.keys() - {"timeout", "retries"}:
    print("[global]", *(f"{name} = {value}" for name, value in values.items()), sep="\n")
