# The build of a static binary, for release.sh and profile.sh: with musl where its target and musl-gcc are installed, and with the
# static glibc of this machine otherwise.
architecture=$(uname -m)
target=$architecture-unknown-linux-musl
target_option=(--target "$target")
if ! { rustup target list --installed | grep -qx "$target" && command -v musl-gcc >/dev/null; }; then
    echo "no musl here (rustup target add $target; musl-tools): linking glibc statically" >&2
    target_option=()
fi

# Builds the binary in a folder, which is emptied first, with more options for the compiler; sets $binary.
build_binary() {
    local folder=$1 options=$2
    rm -rf "$folder"
    RUSTC_WRAPPER=$PWD/deploy/optimizing-compiler \
        WORKGRAPH_COMPILER_OPTIONS="-C target-feature=+crt-static -C relocation-model=static $options" \
        cargo build --locked --profile dist "${target_option[@]}" -p workgraph --target-dir "$folder"
    binary=$folder/${target_option[1]:+$target/}dist/workgraph
}
