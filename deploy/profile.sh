#!/usr/bin/env bash
# Writes target/profile-guided/workgraph.profdata, with which deploy/release.sh builds the binary: how often a server under the load
# of the benchmark takes each path of the program. It builds the server with counters, runs it for a minute, and merges the counts.
#
# Needs llvm-profdata of the compiler's own LLVM: `rustup component add llvm-tools`, or a package such as llvm-22, whose number
# `rustc -vV` shows. A profile fits one compiler, one target and about this state of the source; without it a binary is only slower.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/static-build.sh

version=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\)\..*/\1/p')
merge=
for tool in "$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata "llvm-profdata-$version" llvm-profdata; do
    if "$tool" --version 2>/dev/null | grep -q "LLVM version $version\."; then
        merge=$tool
        break
    fi
done
if [ -z "$merge" ]; then
    echo "llvm-profdata of LLVM $version is not here: rustup component add llvm-tools, or the package llvm-$version" >&2
    exit 1
fi

folder=target/profile-guided
rm -rf "$folder" && mkdir -p "$folder"
build_binary "$folder/counting" "-C profile-generate=$PWD/$folder/counts"
cargo run --package workgraph-bench -- run --server "$binary" --tasks 20000 --rounds 1 --seconds 0.5 \
    --data "$folder/data" --out "$folder/report.md" > "$folder/run.log"
"$merge" merge --output "$folder/workgraph.profdata" "$folder/counts"
echo "$folder/workgraph.profdata"
