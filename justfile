# Recipes for those who work on Workgraph. `cargo install just`, then `just` lists them.

_list:
    @just --list --unsorted

# Everything that must hold before a change is merged
check:
    cargo fmt --all -- --check
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features
    .ci/public-api
    if command -v cargo-deny >/dev/null; then just deny; else echo "cargo-deny is not installed: skipped"; fi
    just test

# All tests
test:
    cargo test --workspace --all-features

# The tests of the API and the server without caches
caches-off:
    .ci/caches-off

# A demo on http://127.0.0.1:8080, with its data in ./workgraph-data
serve *flags:
    cargo run --release -- serve --demo {{flags}}

# Accept the recorded answers of the API tests, the examples of the OpenAPI document, the tables of docs/generated/CONTRACT.md and docs/generated/OAUTH.md, and that of the settings
bless:
    BLESS=1 cargo test -p workgraph-api --all-features --test all -- examples::
    BLESS=1 cargo test -p workgraph-api --all-features
    BLESS=1 cargo test -p workgraph-testkit --test all -- matrix::
    BLESS=1 cargo test -p workgraph-server --lib -- config::

# Accept what a new operation changes: the examples first, since the OpenAPI document contains them
bless-operation:
    BLESS=1 cargo test -p workgraph-api --all-features --test all -- examples::
    BLESS=1 cargo test -p workgraph-api --all-features --test all -- transcripts:: coverage:: openapi:: trips:: waves::
    cargo test -p workgraph-api --all-features --test all -- transcripts:: contract:: typed_inputs:: probes::

# Judge known limiters and pagers, and ours, by the laws, and write docs/generated/LAWS-TABLE.md: packages come from their registries
laws-table *flags:
    cargo build -p workgraph
    cargo build -p workgraph-laws --examples
    python3 crates/laws/subjects/run.py {{flags}}

# Accept the public items of the libraries
bless-api:
    cargo doc --workspace --no-deps --all-features
    BLESS=1 .ci/public-api

# All pages in a browser: axe-core looks at each of them, in each state
browser:
    EVERY_LOOK=1 cargo test -p workgraph --test e2e -- browser::

# Take the pictures of the pages in docs/screenshots again
screenshots:
    SCREENSHOTS=1 cargo test -p workgraph --test e2e -- browser:: stand_in::page::

# Measure throughput and latency
bench *flags:
    cargo build --profile dist -p workgraph && cargo run --profile dist -p workgraph-bench -- run {{flags}}

# Instructions of each request, counted by valgrind on a graph of 100,000 tasks, against fixtures/instructions.tsv
instructions *flags:
    cargo build --profile dist -p workgraph && cargo run --profile dist -p workgraph-bench -- count --all --tasks 100000 --graph target/bench-instructions {{flags}}

# Write the order in which functions lie in a shipped binary: needs valgrind, and some minutes
link-order:
    cargo build --profile dist -p workgraph
    WORKGRAPH_BIN=target/dist/workgraph python3 bins/workgraph/tests/campaigns/link_order.py bins/workgraph/link-order.txt

# The server of an earlier commit and this one beside each other, row by row in short turns
bench-against FROM *flags:
    git worktree add --force --detach target/against {{FROM}}
    CARGO_TARGET_DIR={{justfile_directory()}}/target/against-target cargo build --manifest-path target/against/Cargo.toml --profile dist
    git worktree remove --force target/against
    cargo build --profile dist -p workgraph
    cargo run --profile dist -p workgraph-bench -- compare --before target/against-target/dist/workgraph {{flags}}

# All rows on a graph of 1,000,000 tasks, which is built once and kept in target
bench-million *flags:
    cargo build --profile dist -p workgraph && cargo run --profile dist -p workgraph-bench -- run --tasks 1000000 --graph target/bench-million --out docs/generated/BENCHMARKS-1M.md --beside 100000 {{flags}}

# 1,000 uploads of 10 MB over 16 connections: their rate beside bare hyper, and the memory they take
uploads *flags:
    cargo build --profile dist -p workgraph && cargo run --profile dist -p workgraph-bench -- uploads {{flags}}

# Send some 20,000 requests made from the OpenAPI document, and check the replies against it
openapi examples="90":
    OPENAPI_EXAMPLES={{examples}} cargo test --release -p workgraph --test e2e -- openapi::requests_made_from

# Nodes of an earlier commit and of this one together on one database, under a minute of load; then what removes
upgrade FROM="HEAD~" seconds="60":
    git worktree add --force --detach target/upgrade {{FROM}}
    CARGO_TARGET_DIR={{justfile_directory()}}/target/upgrade-target cargo build --manifest-path target/upgrade/Cargo.toml
    git worktree remove --force target/upgrade
    WORKGRAPH_PREVIOUS={{justfile_directory()}}/target/upgrade-target/debug/workgraph WORKGRAPH_UPGRADE_SECONDS={{seconds}} cargo test -p workgraph --test e2e -- --nocapture upgrade::

# Every library crate, built with its examples from its package alone
packages:
    .ci/packages

# The documentation of all packages
doc:
    cargo doc --workspace --no-deps --all-features --open

# 1,000,000 random operations on PostgreSQL in both ways of reading, SQLite and the memory store, which must give equal answers
differential operations="1000000":
    WORKGRAPH_REQUIRE=postgres WORKGRAPH_DIFFERENTIAL_OPS={{operations}} cargo test --release -p workgraph-store-postgres --test all -- --nocapture all_stores_give_equal_answers

# 10,000 random graphs with searches, typeahead among them (250 times the 40 of every run): what a look at every node finds
searches times="250":
    WORKGRAPH_CASES={{times}} cargo test --release -p workgraph-testkit --test all -- memory::searches_find
    WORKGRAPH_CASES={{times}} cargo test --release -p workgraph-store-sqlite --test all -- model::searches_find

# The laws of the limiter over 100 million operations, 5 million for each
laws:
    WORKGRAPH_LAW_OPS=5000000 cargo test --release -p workgraph-limits laws

# The limits in Redis: half a million operations for each law, ten million beside those in process, and fifty outages
limits-campaign operations="10000000" law="530000":
    WORKGRAPH_REDIS_LAW_OPS={{law}} cargo test --release -p workgraph-limits-redis --lib -- laws
    WORKGRAPH_REDIS_CAMPAIGN_OPS={{operations}} cargo test --release -p workgraph-limits-redis --lib -- the_functions_give
    WORKGRAPH_OUTAGES=50 cargo test --release -p workgraph-limits-redis --lib -- outages

# Random pairs of writes at once: they leave what one after the other leaves; so many times the usual
races times="20":
    WORKGRAPH_CASES={{times}} cargo test -p workgraph-api --test all -- races::any_two

# What CI takes a part of, whole: every object of another tenant in every place of every request, exports ended at each of many steps
whole:
    WORKGRAPH_CASES=1 cargo test -p workgraph-api --test all -- probes:: exports::

# Random programs of operations that give access: nobody ends with more than somebody who had it gave; so many times the usual
escalation times="100":
    WORKGRAPH_CASES={{times}} cargo test -p workgraph-api --test all -- escalation::

# How long a decision of Redis takes, and how many there are in a second
limits-bench:
    cargo bench -p workgraph-limits-redis --features test-server --bench calls

# Instructions that a request takes in the limiter, and in governor beside it; needs valgrind. The same twice
limits-instructions:
    #!/usr/bin/env bash
    set -euo pipefail
    cargo build --quiet --profile dist -p workgraph-limits --features laws --example instructions
    count() { # subject, requests
        valgrind --tool=callgrind --callgrind-out-file=/dev/null "${CARGO_TARGET_DIR:-target}/dist/examples/instructions" "$@" 2>&1 \
            | awk '/Collected/ { print $4 }'
    }
    keys=$(($(count keys 122880) - $(count keys 40960)))
    for subject in admitted settled governor; do
        echo "$subject: $((($(count $subject 122880) - $(count $subject 40960) - keys) / 81920)) instructions"
    done

# Kill the server 1,000 times under write load; the seed decides when
kill points="1000" seed="1":
    WORKGRAPH_KILL_POINTS={{points}} WORKGRAPH_KILL_SEED={{seed}} cargo test --release -p workgraph --test e2e -- crash::campaign::acknowledged

# Webhooks: so many events against targets that fail at random, while workers and servers are killed
hooks events="100000" kills="1000":
    WORKGRAPH_TEST_HOOK_EVENTS={{events}} WORKGRAPH_TEST_HOOK_KILLS={{kills}} cargo test --release -p workgraph-api --test all -- webhooks::simulation::nothing_is_lost

# Three nodes, PostgreSQL and Redis under faults for a minute, with twenty kills and a failover
chaos-minute seed="1":
    WORKGRAPH_REQUIRE=postgres,redis WORKGRAPH_CHAOS_SEED={{seed}} WORKGRAPH_CHAOS_SECONDS=52 WORKGRAPH_CHAOS_KILLS=20 cargo test -p workgraph --test chaos -- --nocapture many_kills

# Three nodes, PostgreSQL and Redis under faults: so many histories, or one again by its seed; WORKGRAPH_CHAOS_KILLS and
# WORKGRAPH_CHAOS_MINUTES bound it further
chaos histories="1000" seed="1" seconds="6" lanes="4":
    CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 cargo build --release --target-dir target/chaos -p workgraph
    WORKGRAPH_BIN={{justfile_directory()}}/target/chaos/release/workgraph WORKGRAPH_REQUIRE=postgres,redis WORKGRAPH_CHAOS_HISTORIES={{histories}} WORKGRAPH_CHAOS_SEED={{seed}} WORKGRAPH_CHAOS_SECONDS={{seconds}} WORKGRAPH_CHAOS_LANES={{lanes}} cargo test -p workgraph --test chaos -- --nocapture many_histories

# Kill the server 1,000 times while jobs copy a project, and again while they export one
kill-jobs points="1000" seed="1":
    WORKGRAPH_KILL_POINTS={{points}} WORKGRAPH_KILL_SEED={{seed}} cargo test --release -p workgraph --test e2e -- jobs:: exports::an_export_survives

# Kill the server 300 times while files are uploaded and deleted
kill-attachments points="300" seed="1":
    WORKGRAPH_KILL_POINTS={{points}} WORKGRAPH_KILL_SEED={{seed}} cargo test --release -p workgraph --test e2e -- attachments::a_server_that_is_killed

# Kill a process 200 times that writes to a store whose database is a hard link
kill-linked points="200":
    WORKGRAPH_KILL_POINTS={{points}} cargo test -p workgraph-store-sqlite --lib -- linked_files::tests::what_a_killed_process

# Random programs in a world: after each move of the clock nothing is due, and one move equals many small ones
time-programs programs="10000":
    WORKGRAPH_PROGRAMS={{programs}} cargo test --release -p workgraph --test e2e -- time_programs

# The same requests twice, once beside a busy core and twenty other worlds: replies, headers, deliveries and logs are equal
repetition steps="5000":
    WORKGRAPH_STEPS={{steps}} cargo test --release -p workgraph --test e2e -- repetition

# With hide_forbidden, every gid that a reader may not see against one that nothing has: all cases, not every thirteenth
oracles:
    WORKGRAPH_ORACLE_STRIDE=1 cargo test -p workgraph-api --test all -- oracles::gids --nocapture

# The limiter, with three threads in every order that they can run in
loom:
    RUSTFLAGS="--cfg loom" cargo test --release -p workgraph-limits --test loom --target-dir target/loom

# Licences, duplicates and sources of what we depend on. Once: cargo install cargo-deny --locked
deny:
    cargo deny check licenses bans sources

# Restores every commit of many random histories from their archives (`WORKGRAPH_CASES` histories of 50 commits).
archive:
    WORKGRAPH_CASES=${WORKGRAPH_CASES:-40} cargo test -p workgraph-store-sqlite --test all -- archive::every_commit

# Kills `workgraph move` at 100 points in each direction, into the database and back
kill-move points="100":
    WORKGRAPH_KILL_POINTS={{points}} cargo test -p workgraph --test e2e -- --nocapture moves::a_move_that_is_killed

# Copies 1,000 random histories into PostgreSQL and back, with equal digests (100 times the ten of every run)
copies times="100":
    WORKGRAPH_CASES={{times}} cargo test -p workgraph-store-postgres --test all -- rows::a_copy_into

# Moves 100,000 tasks with history and attachments into PostgreSQL and back; `WORKGRAPH_BIN` names the binary
move-large tasks="100000":
    python3 bins/workgraph/tests/campaigns/move_large.py {{tasks}}

# Rates over PostgreSQL beside pgbench with the same statements, limits in Redis, and three nodes beside one
bench-postgres *flags:
    cargo build --profile dist -p workgraph -p workgraph-bench
    WORKGRAPH_BIN=target/dist/workgraph WORKGRAPH_BENCH_BIN=target/dist/workgraph-bench python3 bins/workgraph/tests/campaigns/postgres_gates.py {{flags}}

# Recovers PostgreSQL to a point in time with the commands of docs/BACKUPS.md
point-in-time:
    python3 bins/workgraph/tests/campaigns/point_in_time.py

# The end-to-end tests where each server is three nodes over PostgreSQL and Redis, and all transcripts on three nodes
e2e-nodes *filters:
    WORKGRAPH_REQUIRE=postgres,redis WORKGRAPH_TEST_NODES=3 cargo test -p workgraph --test e2e -- {{filters}}
    WORKGRAPH_REQUIRE=postgres cargo test -p workgraph-api --test all -- transcripts

# Nodes over a primary whose standby is promoted, and behind pgbouncer, which must be installed
topologies:
    WORKGRAPH_REQUIRE=postgres,pgbouncer cargo test -p workgraph --test e2e -- --nocapture topologies::
