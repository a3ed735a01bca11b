#!/usr/bin/env bash
# Makes a Debian root filesystem from Debian's packages, for machines that reach no container registry.
#
#   rootfs.sh OUT_DIR SUITE PACKAGE ...
#
# Writes OUT_DIR/rootfs.tar, OUT_DIR/rootfs.packages (package=version, sorted) and OUT_DIR/rootfs.id (SHA-256 over that list, the
# suite and this script). The same packages give the same tar, byte by byte. Nothing of this machine is in it: no
# mirror, proxy, CA, resolver, log, cache. A call for what is already there does nothing; `rm -r OUT_DIR` gets newer packages.
set -euo pipefail

say() { printf 'rootfs: %s\n' "$*" >&2; }

[[ $# -ge 3 ]] || {
	sed -n '2,/^set/{/^#/p}' "$0" >&2
	exit 2
}
out=$1 suite=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
exec 9>"$out/lock"
flock 9

wanted=$(printf '%s\n' "$suite" "$(sha256sum <"$here/rootfs.sh")" "$(printf '%s\n' "$@" | sort -u)" | sha256sum | cut -d' ' -f1)
if [[ -f $out/rootfs.tar && $(cat "$out/rootfs.wanted" 2>/dev/null) == "$wanted" ]]; then
	say "$out/rootfs.tar is there ($suite, $(wc -l <"$out/rootfs.packages") packages)"
	exit
fi

command -v mmdebstrap >/dev/null || {
	if [[ $(id -u) -ne 0 ]]; then
		say "needs mmdebstrap: sudo apt-get install mmdebstrap"
		exit 3
	fi
	say "installing mmdebstrap"
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends --no-remove mmdebstrap >/dev/null
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$here/debian-sources.sh" "$suite" >"$tmp/sources.list" # empty on another distribution: mmdebstrap then knows Debian's own
options=()
[[ ! -s $tmp/sources.list ]] || options+=("$tmp/sources.list")
# mmdebstrap starts from an empty apt configuration: proxies and tolerance for an old mirror are handed over, and deleted below.
apt-config dump --format '%F "%v";%n' Acquire |
	grep -iE '^Acquire::((http|https|ftp|socks)::|Proxy|Retries|Check-|ForceIPv)' | grep -v ' "";$' >"$tmp/machine.conf" || true
cat >"$tmp/setup" <<'HOOK'
#!/bin/sh
# The credentials of private mirrors, for as long as the packages are fetched.
set -eu
for file in /etc/apt/auth.conf /etc/apt/auth.conf.d/*.conf; do
	[ ! -f "$file" ] || install -D -m 600 "$file" "$1/etc/apt/auth.conf.d/machine-${file##*/}"
done
HOOK
cat >"$tmp/customize" <<'HOOK'
#!/bin/sh
# What came from this machine, and what differs from one run to the next.
set -eu
rm -f "$1"/etc/apt/auth.conf.d/machine-* "$1"/etc/apt/apt.conf.d/99mmdebstrap "$1"/etc/resolv.conf "$1"/etc/hostname
rm -rf "$1"/etc/apt/sources.list.d/* "$1"/tmp/*
find "$1"/var/lib/apt/lists "$1"/var/log "$1"/var/cache -type f -delete
: >"$1"/etc/apt/sources.list
HOOK
chmod +x "$tmp/setup" "$tmp/customize"

say "making $suite with $* (about a minute)"
# Files newer than this are dated so: bookworm's first release. Python byte code is then checked by content, not by date.
export SOURCE_DATE_EPOCH=1686355200
# usr-is-merged: what bookworm takes instead, usrmerge, brings 50 MB of Perl.
mmdebstrap --variant=minbase --include="usr-is-merged $*" --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
	--aptopt="$tmp/machine.conf" \
	--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-include=/usr/share/doc/*/copyright' \
	--setup-hook="$tmp/setup" --customize-hook="$tmp/customize" \
	"$suite" "$tmp/rootfs.tar" "${options[@]}" 2>&1 |
	tee "$tmp/log" | { grep --line-buffered '^I: ' || true; } | sed -u 's/^I: /rootfs: /' >&2 || {
	tail -n 30 "$tmp/log" >&2
	say "mmdebstrap failed; its last lines stand above"
	exit 3
}

tar -xOf "$tmp/rootfs.tar" ./var/lib/dpkg/status |
	awk '$1 == "Package:" { name = $2 } $1 == "Version:" { print name "=" $2 }' | LC_ALL=C sort >"$tmp/packages"
{
	echo "$suite"
	cat "$here/rootfs.sh" "$tmp/packages"
} | sha256sum | cut -d' ' -f1 >"$tmp/id"
echo "$wanted" >"$tmp/wanted"
# Moved, for a copy of OUT_DIR may share its files by hard links. `wanted` goes first and comes last: its being there means that
# the others belong together.
rm -f "$out/rootfs.wanted"
for part in packages id wanted; do mv "$tmp/$part" "$tmp/rootfs.$part"; done
for part in tar packages id wanted; do mv "$tmp/rootfs.$part" "$out/rootfs.$part"; done
say "$(du -h "$out/rootfs.tar" | cut -f1) in $out/rootfs.tar, $(wc -l <"$out/rootfs.packages") packages, id $(cut -c1-12 "$out/rootfs.id")"
