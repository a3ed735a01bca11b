#!/usr/bin/env bash
# BuildKit's own check of every Dockerfile. What bake gives a Dockerfile as named contexts (`target:base`, Git) is an empty
# folder here: the check reads the Dockerfile, it builds nothing. (`bake --call=check` cannot follow target: contexts.)
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .build/empty

# What a check wants to be well-formed; nothing is fetched.
args=(--build-arg TORCH_WHEEL_URL=https://localhost/torch.whl --build-arg "TORCH_WHEEL_SHA256=$(printf '%064d' 0)")
failed=0
for file in docker/Dockerfile.*; do
	stages=$(grep -oiP '^FROM .* AS \K\S+' "$file" || true)
	contexts=()
	mapfile -t names < <(grep -oP '(^FROM |from=)\K[a-z][a-z-]*(?=[ ,]|$)' "$file" | sort -u)
	for name in "${names[@]}"; do
		[[ $'\nscratch\n'$stages$'\n' == *$'\n'$name$'\n'* ]] || contexts+=(--build-context "$name=.build/empty")
	done
	echo "$file"
	scripts/builder.sh run docker buildx build --check --progress=quiet --file "$file" "${args[@]}" "${contexts[@]}" . || failed=1
done
exit "$failed"
