# SPDX-License-Identifier: Apache-2.0
# Helpers for shell tests: . "$TFR_SRCDIR/tests/lib.sh" first, finish last.
# A test counts its cases with pass, fail and skip; finish prints the line that is added up.
n_pass=0 n_fail=0 n_skip=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tfrun-test.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 99' HUP INT TERM

pass() { n_pass=$((n_pass + 1)); echo "ok: $*"; }
fail() {
    n_fail=$((n_fail + 1))
    echo "FAILED: $*" | tee -a "$tmp/failures"
}
skip() { n_skip=$((n_skip + 1)); echo "skipped: $*"; }

# claim TEXT COMMAND...: the command exits with 0.
claim() {
    claim_text=$1
    shift
    if "$@"; then pass "$claim_text"; else fail "$claim_text ($* exited with $?)"; fi
}

# exits STATUS TEXT COMMAND...: the command exits with this status.
# Its output lies in $tmp/out and $tmp/err afterwards, and is shown when it does not.
exits() {
    exits_want=$1 exits_text=$2
    shift 2
    exits_got=0
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || exits_got=$?
    if [ "$exits_got" = "$exits_want" ]; then
        pass "$exits_text"
    else
        fail "$exits_text (expected exit $exits_want, got $exits_got: $*)"
        sed 's/^/  out: /' "$tmp/out"
        sed 's/^/  err: /' "$tmp/err"
    fi
}

# has TEXT FILE PATTERN: the file has a line that matches the basic regular expression.
has() {
    if grep -q -e "$3" "$2"; then
        pass "$1"
    else
        fail "$1 (no line matches '$3')"
        sed 's/^/  /' "$2"
    fi
}

# skip_all REASON: this test cannot run here.
skip_all() {
    echo "skipped: $*"
    exit 77
}

finish() {
    # Once more at the end: whoever cuts a long log cuts its beginning.
    [ "$n_fail" = 0 ] || cat "$tmp/failures"
    echo "$n_pass passed, $n_fail failed, $n_skip skipped"
    [ "$n_fail" = 0 ] || exit 1
    [ "$n_pass" != 0 ] || [ "$n_skip" = 0 ] || exit 77
    [ "$n_pass" != 0 ] || exit 1
    exit 0
}
