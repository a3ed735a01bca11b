#!/usr/bin/env bash
# Makes .venv, with the tool and what it is developed with, from requirements-dev.lock.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }

python=
for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
	if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$candidate && break; fi
done
[[ -n $python ]] || {
	say "needs Python 3.11 or newer: sudo apt-get install python3.11-venv, or a newer Debian or Ubuntu"
	exit 3
}
"$python" -c 'import ensurepip, venv' 2>/dev/null || {
	if [[ $(id -u) -ne 0 ]]; then
		say "needs Python's venv: sudo apt-get install python3-venv"
		exit 3
	fi
	say "installing python3-venv"
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends python3-venv >/dev/null
}

[[ -x .venv/bin/pip ]] || {
	say "making .venv with $("$python" --version)"
	"$python" -m venv .venv
}
pip=(.venv/bin/pip --disable-pip-version-check --quiet --quiet) # twice: pip warns of every index that lacks a package
say "installing the development tools into .venv"
"${pip[@]}" install --require-hashes --requirement requirements-dev.lock
"${pip[@]}" install --no-deps --no-build-isolation --no-index --editable .
touch .venv/ready
say ".venv/bin/atomstack $(.venv/bin/atomstack --version | cut -d' ' -f2)"
