#!/usr/bin/env bash
# Prints, as lines of a sources.list, where this machine gets SUITE of Debian from: its own mirror, keyring and components of
# its own apt configuration, with the suite's name put in place of the machine's. Prints nothing when the machine has no
# Debian sources (another distribution). apt answers, so .list, .sources and mirror lists all count.
#
#   debian-sources.sh SUITE
set -euo pipefail

targets() { # one line per index: origin, codename ("bookworm-security"), mirror, file that names it
	# shellcheck disable=SC2016 # apt's variables, not the shell's
	apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(CODENAME) $(SITE) $(SOURCESENTRY)' 'Created-By: Packages'
}

# Which of the sources are Debian's is written in their Release files.
[[ $(targets) == *"Debian main"* || $(id -u) -ne 0 ]] || apt-get -qq update >&2

targets | while read -r origin component codename site entry; do
	[[ $origin/$component == Debian/main ]] || continue
	[[ $codename == *-* ]] && part=-${codename#*-} || part=
	keyring=$(grep -ihoE 'signed-by *[:=] *"?/[^] ,"]+' "${entry%:*}" | grep -oE '/.*' | head -n 1) || true
	echo "deb ${keyring:+[signed-by=$keyring] }$site $1$part main"
done | sort -u
