# SPDX-License-Identifier: Apache-2.0
# tfrun certify: plugins that keep the contract pass, and what each wrong one does is named.
. "$TFR_SRCDIR/tests/lib.sh"
cd "$tmp" || exit 99
ulimit -c 0
if [ -n "$TFR_SANITIZE" ]; then # hostile shapes ask for more than there is
    ASAN_OPTIONS=$ASAN_OPTIONS:allocator_may_return_null=1:max_allocation_size_mb=1024
    TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}allocator_may_return_null=1
    export ASAN_OPTIONS TSAN_OPTIONS
fi
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

libs=$TFR_BUILDDIR/.libs
naive=$libs/tfrun-naive.so
lacks() { if grep -q -e "$3" "$2"; then fail "$1"; else pass "$1"; fi; }

# What passes.
exits 0 "naive passes" "$TFRUN" certify "$naive" --ops Relu,Gemm,Dropout
has "with its facts" out '^note: passed: naive [0-9.]*, contract [0-9]*\.[0-9]*, priority 0$'
has "its devices" out '^devices: passed: naive:0 of CPU:0; naive:0 is checked$'
has "its life cycle" out '^life cycle: passed: '
has "and each way of an op" out '^Relu strided: passed: [1-9][0-9]* calls$'
has "empty tensors among them" out '^Relu zero-size: passed: '
has "wrong calls, too" out '^Relu hostile: passed: '
lacks "random numbers are not compared with others" out '^Dropout repeated: failed'
has "and a sum" out '^[1-9][0-9]* passed, 0 failed, [0-9]* unsupported$'
keep() { cp out kept; }
keep
exits 0 "once more" "$TFRUN" certify "$naive" --ops Relu,Gemm,Dropout
claim "the report is the same" diff kept out
exits 0 "native passes" "$TFRUN" certify "$libs/tfrun-native.so" --ops Relu,MatMul,Softmax
has "what it does not take has its reason" out '^Relu values: \(passed: .*refused: \|passed\|unsupported: \)'
exits 0 "an op of another domain than ONNX's" "$TFRUN" certify "$naive" --ops Inverse
has "is found by its name alone" out '^tfrun.Inverse hostile: passed: '
if [ -e "$libs/tfrun-onednn.so" ]; then
    exits 0 "onednn passes" "$TFRUN" certify "$libs/tfrun-onednn.so" --ops Relu,Gemm
else
    skip "onednn is not built"
fi
mkdir plugins && chmod go-w . plugins
# shellcheck disable=SC2086 # lists of words
if $TFR_CC $TFR_SANITIZE -std=c99 -I"$TFR_SRCDIR/sdk/include" -fPIC -shared \
    "$TFR_SRCDIR/sdk/template/backend.c" -o plugins/tfrun-template.so 2>cc.log; then
    chmod go-w plugins/tfrun-template.so
    exits 0 "the template passes" "$TFRUN" certify plugins/tfrun-template.so
    has "on its own device" out '^devices: passed: template:0 of NPU:0; '
    exits 0 "by the name of its device" "$TFRUN" certify plugins/tfrun-template.so --device NPU:0
    exits 3 "a device that it does not drive" "$TFRUN" certify plugins/tfrun-template.so -d CPU:0
    has "is told" err 'plugin template does not drive CPU:0'
    exits 3 "without the reference there is nothing to compare with" env TFRUN_DISABLE=naive \
        "$TFRUN" certify plugins/tfrun-template.so
    has "which is told" err 'plugin naive is not usable, disabled: '
    exits 0 "an op that it does not claim" "$TFRUN" certify plugins/tfrun-template.so --ops Conv
    has "is unsupported" out '^Conv values: unsupported: template:0 does not claim the op$'
else
    cat cc.log
    skip "the template could not be compiled"
fi

# What does not.
wrong() { # FAKE TEXT
    exits 1 "$2" "$TFRUN" certify "$TFR_BUILDDIR/tests/fake/$1.so"
}
wrong launch_adds "wrong values fail"
has "by name, with the call" out '^Relu values: failed: Relu:[0-9]*, plain inputs: output 0: element '
has "the facts still pass" out '^note: passed: launch-adds '
wrong launch_drifts "values that differ from run to run fail"
has "by name" out '^Relu repeated: failed: Relu:[0-9]*, a second run: output 0: '
wrong drifts_and_says "and wrong ones, too, if the plugin says that they differ"
has "but not for that" out '^Relu repeated: passed: '
wrong prepare_fails "a yes that prepare does not keep fails"
has "as a broken promise" out '^Relu values: failed: broken promise: .*on second thoughts, no$'
has "of the life cycle, too" out '^life cycle: failed: broken promise: .*on second thoughts, no$'
wrong launch_fails "a yes that launch does not keep fails"
has "as a broken promise" out '^Relu values: failed: broken promise: .*the kernel fell over$'
wrong wrong_digest "an op of another schema fails"
has "by name" out '^claims: failed: 1 of its ops are off: Relu is of version 14 with another schema'
if [ -z "$TFR_SANITIZE" ]; then
    wrong launch_segv "a crash fails its check only"
    has "with the call that it was in" out \
        '^Relu values: failed: crashed (signal 11, Segmentation fault): Relu:[0-9]*, plain inputs$'
    has "the next check is made" out '^Relu zero-size: failed: crashed '
    wrong launch_forgets "memory that is not given back fails"
    has "by name" out '^leaks: failed: [0-9]* bytes of malloc more after '
else
    skip "sanitizers tell of crashes and leaks in their own way"
fi
wrong ctor_segv "a plugin that does not load fails"
has "with its state" out '^note: failed: probe_crash: '
claim "and is not tried further" test "$(wc -l <out)" = 2

exits 1 "a report in JSON" "$TFRUN" certify "$TFR_BUILDDIR/tests/fake/launch_adds.so" --json
has "has a schema" out '"schema": "tfrun.certify/1"'
has "checks with their ops" out '"op": "Relu"'
has "and sums" out '"unsupported": [1-9]'
exits 2 "an op that there is not" "$TFRUN" certify "$naive" --ops Rellu
has "is wrong usage" err 'there is no op "Rellu", did you mean "Relu"'
exits 2 "certify wants a file" "$TFRUN" certify
exits 7 "a file that is not there" "$TFRUN" certify none.so

# The checks are a module, which is loaded from the build or the installation and nowhere else.
mkdir -p bin certify/.libs
echo planted >certify/.libs/tfrun-certify.so
if ! cp "$libs/tfrun" bin/ 2>/dev/null; then
    skip "a program without its module: libtool made no program in .libs"
elif LD_LIBRARY_PATH=$libs bin/tfrun certify "$naive" --ops Relu >out 2>err; then
    skip "a program without its module: one is installed under this build's prefix"
else
    has "a module that is missing is named, with what to do" err \
        'the checks of plugins cannot be loaded: .*/tfrun-certify.so: .*; install this tfrun again'
    lacks "none is taken from a folder above the program" err "$tmp/certify"
fi
finish
