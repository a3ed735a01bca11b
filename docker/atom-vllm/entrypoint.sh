#!/bin/sh
# Refuses to start what this image's manifest rules out, then becomes the command it was given.
set -eu
if [ "${ATOM_DISABLE_VLLM_PLUGIN:-1}" != 1 ] && grep -q '"plugin":"forbidden"' /usr/share/atomstack/stack.json; then
	echo "ATOM_DISABLE_VLLM_PLUGIN=${ATOM_DISABLE_VLLM_PLUGIN}: the manifest of this image forbids the ATOM plugin, for ATOM has no kernels for its cards. Unset the variable; \`stack-info\` says what is inside." >&2
	exit 2
fi
exec "$@"
