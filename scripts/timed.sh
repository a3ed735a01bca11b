#!/usr/bin/env bash
# timed.sh NAME CMD ...: run CMD and note how long it took.  timed.sh --report: say where the time went, and start anew.
set -euo pipefail
times=$(dirname "$0")/../.build/times
mkdir -p "$(dirname "$times")"
if [[ $1 == --report ]]; then
	awk '{ seconds = $1; $1 = ""; printf "%6d s %s\n", seconds, $0; sum += seconds } END { printf "%6d s  in all\n", sum }' "$times"
	rm -f "$times"
	exit
fi
name=$1
shift
printf '\n== %s\n' "$name"
SECONDS=0
"$@"
echo "$SECONDS $name" >>"$times"
