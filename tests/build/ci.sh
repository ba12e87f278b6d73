# SPDX-License-Identifier: Apache-2.0
# .ci/run makes each pass, whatever fails, and fails if one of them did; what the fuzzer finds is
# shown and does not fail. A made-up tree notes who is called.
. "$TFR_SRCDIR/tests/lib.sh"
[ -e "$TFR_SRCDIR/.ci/run" ] || skip_all "a release has no .ci/run"

mkdir -p "$tmp/tree/.ci" "$tmp/tree/scripts" "$tmp/tree/build"
cd "$tmp/tree" || exit 99
cp "$TFR_SRCDIR/.ci/run" .ci/run
# stub FILE: notes its words, and fails if FAILS has its name and first word.
stub() {
    cat >"$1" <<'END'
#!/bin/sh
echo "${0##*/} $*; in ${PWD##*/}, cache $TFR_CUDA_CACHE, CC ${CC:-none}" >>"$CALLS"
case ${0##*/} in
configure) printf 'check:\n\t@echo built; test ! -e broken\ncheck-unit:\n\t@echo "PASS: tests/x"; echo noise\n' >Makefile ;;
test-summary) echo "1 passed, 0 failed, 0 skipped" ;;
esac
for word in $FAILS; do
    [ "${word%=*}" != "${0##*/}:${2:-${1:-}}" ] || exit "${word#*=}"
done
END
    chmod +x "$1"
}
for file in quickstart configure scripts/fuzz-graphs scripts/test-summary; do stub $file; done

# run STATUS TEXT: .ci/run, with FAILS.
run() {
    CALLS=$tmp/calls
    export CALLS FAILS
    : >"$CALLS"
    MAKEFLAGS='' exits "$1" "$2" sh .ci/run
    sort "$CALLS" >"$tmp/sorted"
}
unset TFR_CUDA_CACHE XDG_CACHE_HOME CC CI
HOME=$tmp/home
mkdir -p "$HOME" "$tmp/bin"
printf '#!/bin/sh\n' >"$tmp/bin/ccache"
chmod +x "$tmp/bin/ccache"
PATH=$tmp/bin:$PATH
export HOME PATH
FAILS=
run 0 "what passes passes"
has "the README's command runs" "$tmp/sorted" '^quickstart check; '
has "with a folder for CUDA's kernels" "$tmp/sorted" "^quickstart .*, cache $HOME/.cache/tfrun-ci/cuda, "
has "and with ccache, as the others" "$tmp/sorted" '^quickstart .*, CC ccache gcc$'
has "ASan and UBSan" "$tmp/sorted" "^configure --enable-sanitizers .*; in build-asan, cache $HOME/.cache/tfrun-ci/cuda, CC ccache gcc\$"
has "TSan" "$tmp/sorted" '^configure --enable-thread-sanitizer --without-onednn .*; in build-tsan,'
claim "both with warnings as errors" test "$(grep -c -e '^configure .*--enable-werror' "$tmp/sorted")" = 2
has "unit tests are shown with their pass" "$tmp/out" '^asan: PASS: tests/x$'
has "each" "$tmp/out" '^tsan: PASS: tests/x$'
for way in 'build-asan memory' 'build mutant' 'build diff' 'build ort'; do
    has "graphs, $way" "$tmp/sorted" "^fuzz-graphs $way --seconds 60; "
done
summary=$(sed -n 's/^test-summary \(.*\); in .*/\1/p' "$tmp/calls")
case $summary in
'build --unit build-asan build-tsan --log '*) pass "all of it is summed up" ;;
*) fail "all of it is summed up ($summary)" ;;
esac
claim "with the logs of four ways" test "$(echo "$summary" | tr ' ' '\n' | grep -c 'fuzz/[a-z]*\.log$')" = 4
claim "the sum is the last line" test "$(tail -n 1 "$tmp/out")" = "1 passed, 0 failed, 0 skipped"

for FAILS in quickstart:check=1 configure:--enable-werror=1 configure:--without-onednn=1 \
    fuzz-graphs:ort=2 fuzz-graphs:memory=99 test-summary:--unit=1; do
    run 1 "a failure fails it: $FAILS"
    claim "and the others are made" test "$(wc -l <"$tmp/calls")" = 8
done
for FAILS in fuzz-graphs:memory=1 fuzz-graphs:diff=1; do
    run 0 "what the fuzzer finds does not: $FAILS"
    has "but is told" "$tmp/out" '^==> [a-z]* found what is in build.*/fuzz/'
    claim "and is no result of a pass" sh -c '! grep -q "test-summary.* [^ ]*/$1.log" "$2"' - \
        "$(expr "$FAILS" : '.*:\(.*\)=')" "$tmp/calls"
done
FAILS=fuzz-graphs:ort=77
run 0 "a way that cannot be had here is no failure"
FAILS=
touch build-tsan/broken
run 1 "a tree that does not build fails it"
has "with its log" "$tmp/err" '^built$'
has "while the other one is tested" "$tmp/out" '^asan: PASS: '
finish
