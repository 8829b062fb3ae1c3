#!/bin/sh
# Fuzzes one target for some seconds: `fuzz/run.sh TARGET [SECONDS]`. A stable compiler instruments
# through LLVM's own pass; `--target` keeps build scripts and macros out of it. New inputs go to
# `fuzz/target/corpus`; an input that breaks something to `fuzz/target/found`.
set -eu
cd "$(dirname "$0")"
target="$1" seconds="${2:-600}"
triple="$(rustc -vV | sed -n 's/^host: //p')"
out="${CARGO_TARGET_DIR:-target}"
mkdir -p target/corpus/"$target" target/found
RUSTFLAGS="-C passes=sancov-module -C codegen-units=1 -C llvm-args=-sanitizer-coverage-level=4 \
-C llvm-args=-sanitizer-coverage-inline-8bit-counters -C llvm-args=-sanitizer-coverage-pc-table \
-C llvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing" \
    cargo build --release --locked --target "$triple" --bin "$target"
exec "$out/$triple/release/$target" target/corpus/"$target" corpus/"$target" \
    -max_total_time="$seconds" -artifact_prefix=target/found/"$target"- -timeout=10 -rss_limit_mb=2048 \
    -max_len=16384 -print_final_stats=1
