#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Usage: dispatch_instructions.sh [MOST]
# Counts the instructions of tfr_binding_run for each node of a graph of 1000 whose kernels do
# nothing, the empty kernel's own included, and fails if there are more than MOST (60). Counts do
# not depend on who else uses the machine. TFRUN names the command; exits with 77 without a
# valgrind that reads this program.
set -u
most=${1:-60}
command -v valgrind >/dev/null 2>&1 || { echo "skipped: valgrind is not installed"; exit 77; }
case ${TFR_SANITIZE:-} in ?*) echo "skipped: valgrind does not run sanitized programs"; exit 77 ;; esac
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tfrun-dispatch.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM

TFRUN_TUNING=off # the first runs of a plan are timed, and none of those is meant
export TFRUN_TUNING

# libtool's tfrun in the build folder is a script that finds the real one.
set -- valgrind --tool=callgrind --callgrind-out-file="$tmp/out" --compress-strings=no \
    --toggle-collect=tfr_binding_run -q
if head -c 2 "$TFRUN" | grep -q '#!'; then
    set -- "$(dirname "$TFRUN")/libtool" --mode=execute "$@"
fi
"$@" "$TFRUN" bench dispatch --size 1000 --pairs 1 --peers none >"$tmp/talk" 2>&1 || {
    if grep -q "debuginfo reader" "$tmp/talk"; then
        echo "skipped: this valgrind cannot read the debug information of ${TFR_CC:-the compiler}"
        exit 77
    fi
    cat "$tmp/talk"
    echo "FAILED: the benchmark does not run under valgrind"
    exit 1
}
awk -v most="$most" '
    /^(summary|totals):/ { total = $2 }
    /^cfn=/ { entry = /tfr_binding_run$/ }
    /^calls=/ && entry { split($1, n, "="); runs += n[2]; entry = 0 }
    END {
        if (!runs || !total) { print "FAILED: no run was counted"; exit 1 }
        each = total / runs / 1000
        printf "%.1f instructions a node (%d runs of 1000, at most %d)\n", each, runs, most
        exit each > most
    }' "$tmp/out"
