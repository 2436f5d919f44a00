#!/usr/bin/env bash
# Makes the files of a release in target/release-files: a static binary, an archive of it, a deb, an rpm and their checksums.
#   deploy/release.sh            all of them
#   deploy/release.sh binary     the static binary alone, tried in an empty root
# The binary is linked with musl where its target and musl-gcc are installed, and with the static glibc of this machine
# otherwise. cargo-deb and cargo-generate-rpm make the packages: `cargo install cargo-deb cargo-generate-rpm --locked`.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
architecture=$(uname -m)
out=target/release-files
rm -rf "$out" && mkdir -p "$out"

target=$architecture-unknown-linux-musl
if ! { rustup target list --installed | grep -qx "$target" && command -v musl-gcc >/dev/null; }; then
    echo "no musl here (rustup target add $target; musl-tools): linking glibc statically" >&2
    target=$architecture-unknown-linux-gnu
fi
# The flags of .cargo/config.toml stay; those of the target come with them. Build scripts and macros are not linked so, since a
# target is named.
flags=CARGO_TARGET_$(echo "$target" | tr 'a-z-' 'A-Z_')_RUSTFLAGS
export "$flags=-C target-feature=+crt-static -C relocation-model=static"
cargo build --locked --profile dist --target "$target" -p workgraph
binary=target/$target/dist/workgraph

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

cargo deb --no-build --no-strip -p workgraph --profile dist --target "$target" --output "$out/"
cargo generate-rpm -p bins/workgraph --profile dist --target "$target" --output "$out/"
(cd "$out" && sha256sum -- * > SHA256SUMS && cat SHA256SUMS)
