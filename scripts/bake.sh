#!/usr/bin/env bash
# docker buildx bake, with what this machine has to say: which builder, which certificate authorities and package index
# its RUN steps need and, for MANIFEST=portable, the root filesystem and the torch wheel. Arguments go to bake.
#
# A person with Docker and a network needs none of this: `docker buildx bake atom-vllm` is the same build.
#
# `bake.sh gate` and `bake.sh atom-vllm` end with what the gate said and exit as every gate does: 0 holds, 1 findings (or a later
# step failed), 2 a value that the bake file refuses, 3 the gate could not be made. The JSON is .build/gate/compat-check.sources.json.
set -euo pipefail

cd "$(dirname "$0")/.."
mkdir -p .build
allow=()
[[ -x .venv/bin/atomstack ]] || {
	echo "bake.sh: needs .venv, which \`make setup\` makes; without it: docker buildx bake" >&2
	exit 3
}

# RUN steps trust what pip trusts here.
CA_BUNDLE=${CA_BUNDLE-${PIP_CERT:-${SSL_CERT_FILE:-}}}
[[ -z $CA_BUNDLE || -f $CA_BUNDLE ]] || {
	echo "bake.sh: CA_BUNDLE=$CA_BUNDLE: no such file" >&2
	exit 2
}
[[ -z $CA_BUNDLE ]] || allow+=(--allow="fs.read=$CA_BUNDLE")

# Of pip's configuration what says where packages come from; paths of this machine mean nothing inside a RUN.
if [[ -z ${PIP_CONF+set} ]]; then
	PIP_CONF=$PWD/.build/pip.conf
	(umask 077 && : >"$PIP_CONF" && chmod 600 "$PIP_CONF") # an index may have a password in its address
	.venv/bin/pip config list | .venv/bin/python scripts/pip_conf.py >"$PIP_CONF"
	[[ -s $PIP_CONF ]] || PIP_CONF=
fi
[[ -z $PIP_CONF ]] || allow+=(--allow="fs.read=$PIP_CONF")

if [[ ${MANIFEST:-instinct} == portable ]]; then
	mapfile -t packages < <(.venv/bin/atomstack manifest show portable --field rootfs.packages && .venv/bin/atomstack manifest show portable --field toolchain)
	scripts/rootfs.sh .build/rootfs "$(.venv/bin/atomstack manifest show portable --field rootfs.suite)" "${packages[@]}"
	PORTABLE_ROOTFS=$(cat .build/rootfs/rootfs.id)

	# pip knows whether the locked torch wheel lies in a folder of this machine (find-links). Else BuildKit fetches it by its URL.
	if [[ -z ${TORCH_WHEEL_DIR+set} ]]; then
		torch=$(.venv/bin/python -c 'import json; print(json.load(open("docker-bake.override.json"))["variable"]["ATOMSTACK_LOCK"]["default"]["wheels"]["torch"]["version"])')
		if [[ -e .build/torch/torch-$torch.found ]] ||
			{ mkdir -p .build/torch && .venv/bin/pip download --quiet --no-index --no-deps --only-binary :all: --dest .build/torch \
				--python-version 3.11 --implementation cp "torch==$torch" &>.build/torch/log; }; then
			touch ".build/torch/torch-$torch.found"
			TORCH_WHEEL_DIR=.build/torch
		else
			TORCH_WHEEL_DIR=
		fi
	fi
	[[ -z $TORCH_WHEEL_DIR ]] || allow+=(--allow="fs.read=$TORCH_WHEEL_DIR")
	export PORTABLE_ROOTFS TORCH_WHEEL_DIR
fi

export CA_BUNDLE PIP_CONF
bake() { scripts/builder.sh run docker buildx bake "${allow[@]}" "$@"; }

[[ $# -eq 1 && $1 =~ ^(gate|atom-vllm)$ ]] || {
	bake "$@"
	exit
}

rm -rf .build/gate .build/plan.json
bake --print "$1" >.build/plan.json 2>.build/plan.log || {
	cat .build/plan.log >&2
	exit 2
}
built=0
bake "$1" || built=$?
echo
bake --progress=quiet gate-result &>/dev/null || {
	echo "The gate could not be made; the reason stands above. MANIFEST=portable needs no registry, and \`atomstack compat-check\` no image." >&2
	exit 3
}
cat .build/gate/compat-check.sources.txt
gate=$(<.build/gate/status)
[[ $gate -eq 0 ]] || exit "$gate"
[[ $built -eq 0 ]] || {
	echo "The gate holds, and a later step failed; it stands above." >&2
	exit "$built"
}
[[ $1 == atom-vllm ]] || exit 0

image=$(.venv/bin/python -c 'import json; print(json.load(open(".build/plan.json"))["target"]["atom-vllm"]["tags"][0])')
docker=docker # or, where ours is the builder, by way of it
[[ $(scripts/builder.sh run printenv DOCKER_HOST) == "${DOCKER_HOST:-}" ]] || docker="scripts/builder.sh run docker"
cat <<-DONE

	$image
	  what is inside  $docker run --rm $image stack-info
	  serve a model   $docker run --rm --shm-size=1g -p 8000:8000 -v FOLDER:/model:ro $image vllm serve /model
DONE
