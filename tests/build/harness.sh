# SPDX-License-Identifier: Apache-2.0
# The harness tells a failure from a pass, a crash from a skip, and counts what ran.
. "$TFR_SRCDIR/tests/lib.sh"

t=$TFR_BUILDDIR/tests/test_harness
if [ -x "$t" ]; then
    TFR_TEST_SELF=1
    export TFR_TEST_SELF
    exits 0 "good checks exit with 0" "$t" good_checks_pass
    has "good checks are counted" "$tmp/out" '^1 passed, 0 failed, 0 skipped$'
    exits 1 "a failed check exits with 1" "$t" failed_check_goes_on good_checks_pass
    has "expected and obtained are printed" "$tmp/out" 'expected 1, obtained 2'
    has "the case goes on after a check" "$tmp/out" 'after the check'
    has "one case of two has failed" "$tmp/out" '^1 passed, 1 failed, 0 skipped$'
    exits 1 "a failed requirement exits with 1" "$t" failed_requirement_ends_the_case
    claim "the case ends at a requirement" sh -c '! grep -q "after the requirement" "$1"' - "$tmp/out"
    exits 77 "only skips exit with 77" "$t" skip_is_no_pass
    exits 1 "an unknown case is an error" "$t" no_such_case
    unset TFR_TEST_SELF
else
    skip "CUnit is missing, so there is no unit test to try"
fi

# A made-up build tree: what ran is counted from the logs, what did not run is a failure.
mkdir -p "$tmp/b/t"
cat >"$tmp/b/Makefile" <<'EOF'
print-test-logs:
	@echo t/a.log t/b.log t/c.log t/d.log t/e.log t/f.log
EOF
result() { echo ":test-result: $2" >"$tmp/b/t/$1.trs"; cat >"$tmp/b/t/$1.log"; }
printf 'x\n3 passed, 0 failed, 1 skipped\nPASS t/a (exit status: 0)\n' | result a PASS
printf '9 passed, 9 failed, 9 skipped\nbye\nPASS t/b (exit status: 0)\n' | result b PASS
{
    printf '5 passed, 0 failed, 0 skipped\n'
    printf 'took 9 s; user and system time of the shell, then of the command:\n'
    printf '0m0.01s 0m0.00s\n1m2.250000s 0m0.5s\nPASS t/f (exit status: 0)\n'
} | result f PASS
printf 'no device\nSKIP t/c (exit status: 77)\n' | result c SKIP
printf '2 passed, 0 failed, 0 skipped\nleak\nFAIL t/d (exit status: 1)\n' | result d FAIL
exits 1 "a failure or a test that never ran fails the summary" \
    "$TFR_SRCDIR/scripts/test-summary" "$tmp/b"
claim "the summary is one line that adds up" \
    test "$(tail -n 1 "$tmp/out")" = "9 passed, 2 failed, 2 skipped"
has "what took long is listed, with its time" "$tmp/out" '^ *62\.8  *9  .*/t/f\.log$'
exits 77 "to be timed leaves a command its status" "$TFR_SRCDIR/scripts/timed" sh -c 'exit 77'
"$TFR_SRCDIR/scripts/timed" sh -c 'echo; echo 7 passed, 0 failed, 0 skipped' | result e PASS
"$TFR_SRCDIR/scripts/test-summary" "$tmp/b" >"$tmp/out" 2>"$tmp/err"
claim "and its cases their number" \
    test "$(tail -n 1 "$tmp/out")" = "16 passed, 1 failed, 2 skipped"
finish
