#!/usr/bin/env bash
# Makes the files of a release in target/release-files: a static binary, an archive of it, a deb, an rpm and their checksums.
#   deploy/release.sh            all of them
#   deploy/release.sh binary     the static binary alone, tried in an empty root
# A profile of deploy/profile.sh makes the binary faster. cargo-deb and cargo-generate-rpm make the packages:
# `cargo install cargo-deb cargo-generate-rpm --locked`.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
. deploy/static-build.sh
out=target/release-files
rm -rf "$out" && mkdir -p "$out"

profile=target/profile-guided/workgraph.profdata
options=
if [ -f "$profile" ]; then
    options="-C profile-use=$PWD/$profile"
else
    echo "without a profile: deploy/profile.sh makes one" >&2
fi
export CARGO_TARGET_DIR=target/release-build
build_binary "$CARGO_TARGET_DIR" "$options"

# Static, and it starts where there is nothing else.
if file "$binary" | grep -q 'dynamically linked'; then
    echo "$binary is linked dynamically" >&2
    exit 1
fi
.ci/empty-root "$binary"
cp "$binary" "$out/workgraph"
name=workgraph-$version-$architecture-linux
if [ "$what" = binary ]; then
    exit 0
fi

# What belongs to the binary: completions, the manual, units, settings.
stage=target/release-stage
rm -rf "$stage" && mkdir -p "$stage"/completions "$stage"/man
for shell in bash zsh fish; do "$binary" completions "$shell" > "$stage/completions/workgraph.$shell"; done
"$binary" man > "$stage/man/workgraph.1"
gzip -9n "$stage/man/workgraph.1"
# The unit of packages starts the binary where packages put it.
sed 's#/usr/local/bin/#/usr/bin/#' deploy/systemd/workgraph.service > "$stage/workgraph.service"
mkdir "$stage/$name"
cp "$binary" LICENSE README.md "$stage/$name"
cp -r deploy/systemd "$stage/completions" "$stage/man" "$stage/$name"
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/$name.tar.gz" "$name"

cargo deb --no-build --no-strip -p workgraph --profile dist "${target_option[@]}" --output "$out/"
cargo generate-rpm -p bins/workgraph --profile dist "${target_option[@]}" --output "$out/"
(cd "$out" && sha256sum -- * > SHA256SUMS && cat SHA256SUMS)
