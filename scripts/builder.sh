#!/usr/bin/env bash
# Finds the BuildKit builder this machine already has, or starts one of our own from Debian's packages.
#
#   builder.sh up            print which builder is used; start ours when there is no other (idempotent)
#   builder.sh run CMD ...   run CMD with PATH, DOCKER_HOST and DOCKER_CONFIG set for that builder
#   builder.sh down          stop ours, and only ours; its cache stays
#   builder.sh purge         down, and delete its cache and binaries
#
# Ours lives in ${ATOMSTACK_BUILDER_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/atomstack/builder}: binaries, containerd, dockerd,
# image store, client configuration, socket. It has a bridge, an address range and firewall rules of its own
# (dockerd's own iptables handling is off, for it rewrites chains that every other dockerd on the machine shares).
set -euo pipefail

export HOME=${HOME:-~} # a service has none; the shell knows it from the list of users
dir=${ATOMSTACK_BUILDER_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/atomstack/builder}
root=$dir/root run=$dir/run
socket=$run/docker.sock
# Two builders in two folders must not share a network: both names come from the folder.
number=$(($(cksum <<<"$dir" | cut -d' ' -f1) % 250))
bridge=atomstack$number subnet=10.213.$number.0/24

say() { printf 'builder: %s\n' "$*" >&2; }
die() {
	say "$@"
	exit 3
}

# --- the builder that is already there ---------------------------------------------------------------------------

# Whether the `docker` in PATH has a daemon, a builder, and a bake that knows what docker-bake.hcl uses.
theirs_works() {
	command -v docker >/dev/null || return 1
	docker version --format '{{.Server.Version}}' &>/dev/null || return 1
	docker buildx inspect --bootstrap &>/dev/null || return 1
	docker buildx bake --print -f - &>/dev/null <<-'HCL'
		variable "V" {
		  type        = string
		  description = "described variables came with buildx 0.29"
		  default     = "v"
		}
		target "default" {
		  tags = [V]
		}
	HCL
}

# --- ours --------------------------------------------------------------------------------------------------------

use_ours() {
	export PATH=$root/usr/bin:$root/usr/sbin:$PATH DOCKER_HOST=unix://$socket DOCKER_CONFIG=$dir/config
	unset DOCKER_CONTEXT BUILDX_BUILDER
}
ours_answers() { [[ -S $socket ]] && (use_ours && timeout 10 docker version &>/dev/null); }

# Process ids of ours with the given name. Read from /proc and not from a pidfile: it survives a kill -9, and after a
# reboot its number may belong to somebody else.
pids_of() {
	local proc
	for proc in /proc/[0-9]*; do
		[[ $(cat "$proc/comm" 2>/dev/null) == "$1" ]] || continue
		if tr '\0' '\n' 2>/dev/null <"$proc/cmdline" | grep -qF -- "$run/"; then echo "${proc#/proc/}"; fi
	done
}

# apt with the machine's own proxies and credentials, and a sources list, lists and cache of ours.
forky_apt() {
	apt-get -qq -o APT::Sandbox::User=root -o Dir::Etc::sourcelist="$dir/tmp/forky.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$dir/tmp/lists" -o Dir::Cache="$dir/tmp/cache" "$@"
}

# What dockerd calls but does not carry. Only what is missing is installed, and nothing is ever removed for it.
install_commands() {
	local missing=() pair
	for pair in containerd:containerd runc:runc iptables:iptables ip:iproute2 git:git; do
		command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
	done
	[[ ${#missing[@]} -eq 0 ]] && return
	say "installing ${missing[*]} from this machine's Debian"
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends --no-remove "${missing[@]}" >/dev/null
}

# dockerd, docker and buildx from Debian forky (bookworm has no buildx; these need only libc6 >= 2.34), unpacked, not installed.
fetch_docker() {
	[[ -d $root ]] && return
	mkdir -p "$dir"
	rm -rf "$dir/tmp" # half a download of an earlier run
	mkdir -p "$dir/tmp"/{lists/partial,cache/archives/partial,debs,root}
	"$(dirname "$0")/debian-sources.sh" forky | grep ' forky main$' >"$dir/tmp/forky.list" ||
		die "apt-get indextargets names no mirror of Debian here; see /etc/apt/sources.list.d"
	say "fetching docker.io, docker-cli and docker-buildx (42 MB) of Debian forky"
	forky_apt update
	(cd "$dir/tmp/debs" && forky_apt download docker.io docker-cli docker-buildx)
	local deb
	for deb in "$dir"/tmp/debs/*.deb; do dpkg-deb -x "$deb" "$dir/tmp/root"; done
	mkdir -p "$dir/config/cli-plugins"
	ln -sfn "$root/usr/libexec/docker/cli-plugins/docker-buildx" "$dir/config/cli-plugins/docker-buildx"
	mv "$dir/tmp/root" "$root" # last: its being there means it is whole
	rm -rf "$dir/tmp"
}

rules() { # rules -I | -D: what lets RUN steps and containers out, and their answers in
	iptables -w "$1" FORWARD -i "$bridge" -j ACCEPT
	iptables -w "$1" FORWARD -o "$bridge" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
	iptables -w -t nat "$1" POSTROUTING -s "$subnet" ! -o "$bridge" -j MASQUERADE
}

network_down() {
	ip link show "$bridge" &>/dev/null || return 0
	rules -D 2>/dev/null || true
	ip link delete "$bridge"
}

network_up() {
	ip link show "$bridge" &>/dev/null && return
	ip link add "$bridge" type bridge
	ip address add "${subnet%.0/24}.1/24" dev "$bridge"
	ip link set "$bridge" up
	rules -I
}

detached() { # detached LOG CMD ...: lives on when the shell that started it ends; holds neither its terminal nor our lock
	local log=$1
	shift
	setsid nohup "$@" </dev/null >>"$log" 2>&1 9>&- &
}

start_ours() {
	install_commands
	fetch_docker
	# Here a containerd of ours may still run whose dockerd was killed: it is kept, and the new dockerd tidies up its containers.
	[[ -n $(pids_of containerd) ]] || stop_ours
	mkdir -p "$run" "$dir/data"
	rm -f "$run/docker.pid" "$socket"
	network_up

	# A containerd of our own: dockerd would otherwise join the machine's, and share a namespace with the machine's Docker.
	if [[ -z $(pids_of containerd) ]]; then
		cat >"$run/containerd.toml" <<-TOML
			version = 2
			root = "$dir/data/containerd"
			state = "$run/containerd"
			disabled_plugins = ["io.containerd.grpc.v1.cri"]
			[grpc]
			  address = "$run/containerd.sock"
		TOML
		: >"$dir/containerd.log"
		detached "$dir/containerd.log" containerd --config "$run/containerd.toml"
	fi
	echo '{"features": {"containerd-snapshotter": true}}' >"$run/daemon.json"
	: >"$dir/dockerd.log"
	detached "$dir/dockerd.log" env PATH="$root/usr/bin:$root/usr/sbin:$PATH" dockerd \
		--config-file "$run/daemon.json" --host "unix://$socket" --containerd "$run/containerd.sock" \
		--data-root "$dir/data/docker" --exec-root "$run/docker" --pidfile "$run/docker.pid" \
		--bridge "$bridge" --iptables=false --ip6tables=false

	say "starting dockerd (log: $dir/dockerd.log)"
	local second
	for second in {1..60}; do
		ours_answers && return
		[[ -n $(pids_of dockerd) || $second -lt 3 ]] || break
		((second % 5)) || say "waiting for dockerd (${second} s)"
		sleep 1
	done
	tail -n 15 "$dir/containerd.log" "$dir/dockerd.log" >&2
	die "dockerd did not start; the last lines of its log stand above, the whole in $dir/dockerd.log"
}

unmount_run() {
	local mount
	awk -v prefix="$dir/" 'index($5, prefix) == 1 { print $5 }' /proc/self/mountinfo | sort -r |
		while read -r mount; do umount -l "$mount"; done
}

stop_ours() {
	local name pid
	for name in dockerd containerd containerd-shim; do # in this order: each tidies up what the next one holds
		for pid in $(pids_of "$name"); do
			# A shim left without its dockerd still holds a container.
			[[ $name == containerd-shim ]] && pkill -KILL -P "$pid"
			kill "$pid" 2>/dev/null || continue
			for _ in {1..200}; do kill -0 "$pid" 2>/dev/null && sleep 0.1; done
			kill -KILL "$pid" 2>/dev/null || true
		done
	done
	network_down
	unmount_run
	rm -rf --one-file-system "$run"
}

how_to_get_one() {
	if [[ $(id -u) -ne 0 ]]; then
		die "no working \`docker buildx\` here, and starting a builder of our own needs root: \`sudo make builder\` once and build as root, or install Docker (https://docs.docker.com/engine/install/) and join the group docker"
	fi
	die "no working \`docker buildx\` here: install Docker with buildx 0.29 or newer (Ubuntu: apt-get install docker.io docker-buildx; others: https://docs.docker.com/engine/install/)"
}

up() {
	if theirs_works; then
		say "using the one that docker buildx has ($(docker buildx version | cut -d' ' -f2))"
		return
	fi
	if ours_answers; then
		say "ours is running, in $dir"
		return
	fi
	# shellcheck source=/dev/null
	[[ $(id -u) -eq 0 && $(. /etc/os-release && echo "$ID") == debian ]] || how_to_get_one
	[[ ${#socket} -lt 100 ]] || die "$socket is too long for a socket; set ATOMSTACK_BUILDER_DIR to a shorter folder"
	mkdir -p "$dir"
	exec 9>"$dir/lock"
	flock -n 9 || {
		say "another \`builder.sh up\` is at work; waiting for it"
		flock 9
	}
	ours_answers || start_ours
	exec 9>&-
	say "ours is running, in $dir"
}

case ${1:-} in
up) up ;;
run)
	shift
	theirs_works || {
		ours_answers || up
		use_ours
	}
	exec "$@"
	;;
down | purge)
	if [[ -d $dir ]]; then
		exec 9>"$dir/lock"
		flock 9
		stop_ours
		[[ $1 == down ]] || rm -rf --one-file-system "$dir"
	fi
	say "ours is stopped"
	;;
*)
	sed -n '2,/^set/{/^#/p}' "$0" >&2
	exit 2
	;;
esac
