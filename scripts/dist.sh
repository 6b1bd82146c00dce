#!/usr/bin/env bash
# Makes the archive that is handed out: the program, completions, manual pages, licences of all crates, and a file of checksums.
#
#   scripts/dist.sh [TARGET]      # such as x86_64-unknown-linux-gnu; without it the one of this machine
#
# Prints the path of the archive, in target/dist-archives. On Linux the program is linked to no library (Debian's libc6-dev has the libc.a it needs).
# PROFILE=release or PROFILE=dev is quicker, for a try.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
target=${1:-$host}
profile=${PROFILE:-dist}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=cortex-$version-$target
built=${CARGO_TARGET_DIR:-$PWD/target}
out=$built/dist-archives

flags=() where=() at=$built
case $target in *-linux-*) flags=(-C target-feature=+crt-static) ;; esac
[ "$target" = "$host" ] || { where=(--target "$target"); at=$built/$target; }
cargo rustc --locked --profile "$profile" ${where[@]+"${where[@]}"} --bin cortex -- ${flags[@]+"${flags[@]}"} >&2
folder=$profile
[ "$profile" != dev ] || folder=debug
program=$at/$folder/cortex

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/$name/completions" "$stage/$name/man" "$out"
cp "$program" README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE cortex.toml.example "$stage/$name/"
scripts/licences.py "$target" >"$stage/$name/THIRD-PARTY-LICENCES"

# The program describes itself; one for another machine is described by a program for this one, if there is any.
describe=$program
[ "$target" = "$host" ] || describe=${CORTEX:-$(command -v cortex || true)}
if [ -n "$describe" ]; then
    for shell in bash zsh fish nushell elvish powershell; do
        "$describe" completions "$shell" >"$stage/$name/completions/cortex.$shell"
    done
    "$describe" man >"$stage/$name/man/cortex.1"
    "$describe" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' | grep -v '^help$' | while read -r command; do
        "$describe" man "$command" >"$stage/$name/man/cortex-$command.1"
    done
else
    echo "scripts/dist.sh: no cortex for this machine (CORTEX=PATH): the archive has no completions and manual pages" >&2
fi

# The same bytes for the same files.
moment=$(git log -1 --format=%ct 2>/dev/null || echo 0)
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$moment" -C "$stage" -cf - "$name" | gzip -n9 >"$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$out/$name.tar.gz"
