# SPDX-License-Identifier: Apache-2.0
# tfrun verify: passed, failed, skipped, crashed, late.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
cd "$tmp" || exit 99
mkdir plugins
cp "$TFR_BUILDDIR/.libs/tfrun-naive.so" plugins
TFRUN_PLUGIN_PATH=$tmp/plugins

# case NAME OP INPUT EXPECTED: a folder with a model and a data set.
case_of() {
    mkdir -p "$1/test_data_set_0"
    model_of "$2" 3 >"$1/model.onnx"
    float32_pb 3 "$3" >"$1/test_data_set_0/input_0.pb"
    float32_pb 3 "$4" >"$1/test_data_set_0/output_0.pb"
}
case_of all/good Relu "$floats" "$floats_relu"
case_of all/wrong Relu "$floats" "$floats"
case_of all/unknown NoSuchOp "$floats" "$floats"
case_of all/cut Relu "$floats" "$floats_relu"
head -c 30 all/good/model.onnx >all/cut/model.onnx
case_of all/few Relu "$floats" "$floats_relu"
rm all/few/test_data_set_0/input_0.pb
# Sets are tried in order up to the first that fails: what follows it changes nothing.
case_of all/second_wrong Relu "$floats" "$floats_relu"
mkdir all/second_wrong/test_data_set_1 all/second_wrong/test_data_set_2
cp all/wrong/test_data_set_0/* all/second_wrong/test_data_set_1
case_of all/first_few Relu "$floats" "$floats_relu"
cp -r all/first_few/test_data_set_0 all/first_few/test_data_set_1
rm all/first_few/test_data_set_0/input_0.pb
case_of all/none Relu "$floats" "$floats_relu"
rm -r all/none/test_data_set_0
mkdir all/no_model

exits 8 "a folder of models is verified" "$TFRUN" verify all/ --jobs 2
sed "s|: $tmp/|: |" out >masked
claim "each with its result, in order" diff "$TFR_SRCDIR/tests/cli/verify.expected" masked
claim "nothing is on standard error" test ! -s err
exits 0 "one good model passes" "$TFRUN" verify all/good
has "and is counted" out '^1 passed, 0 failed, 0 skipped$'
exits 77 "only skips are no pass" "$TFRUN" verify all/unknown
exits 0 "a wide tolerance passes" "$TFRUN" verify all/wrong --atol 1
exits 8 "verify prints JSON" "$TFRUN" verify all --json
has "with its schema" out '"schema": "tfrun.verify/1"'
has "and the sums" out '"skipped": 2'
exits 5 "a folder without models" "$TFRUN" verify all/no_model
has "is told" err 'all/no_model holds no model.onnx, and no folder in it does'
exits 7 "a folder that is not there" "$TFRUN" verify none
# A model that declares 4 elements and ships 3, as some of ONNX's own do.
case_of other/shape Relu "$floats" "$floats_relu"
model_of Relu 4 >other/shape/model.onnx
exits 0 "data of another shape than declared are tried" "$TFRUN" verify other/shape
# Random numbers: their distribution is judged. A chance of 1 and of 0 leaves nothing to it.
one_one_zero='\000\000\200\077\000\000\200\077\000\000\000\000'
halves='\000\000\000\077\000\000\000\077\000\000\000\000'
case_of random/values Bernoulli "$halves" "$one_one_zero"
case_of random/impossible Bernoulli "$one_one_zero" "$halves"
case_of random/shape Bernoulli "$halves" "$halves"
float32_pb 2 '\000\000\200\277\000\000\000\000' >random/shape/test_data_set_0/output_0.pb
exits 0 "values that can be drawn pass" "$TFRUN" verify random/values
has "which is said" out '^values: passed: random: distribution compared$'
exits 8 "a value that cannot be drawn fails" "$TFRUN" verify random/impossible
has "and is told" out 'element 0: expected 0.5, which no run gave there$'
exits 8 "their shape is compared" "$TFRUN" verify random/shape
# A backend that says yes and then fails: naive gives the right numbers, and yet it is no pass.
fake=$TFR_BUILDDIR/tests/fake/prepare_fails.so
if [ -e "$fake" ]; then
    exits 8 "a backend that does not keep its word fails the model" \
        "$TFRUN" verify all/good other/shape --plugin "$fake" --jobs 1
    has "and is named with its op" out \
        '^good: failed: plugin prepare-fails did not keep its word: .*op Relu: on second thoughts, no$'
    has "and counted" err '^tfrun: in 2 of 2 models a plugin did not keep its word; `tfrun certify FILE'
    has "each model anew" out '^shape: failed: plugin prepare-fails did not keep its word: '
    exits 8 "in JSON, too" "$TFRUN" verify all/good --plugin "$fake" --json
    has "with a code" out '"code": "TFR_EPLUGIN"'
    has "and their number" out '"broken_promises": 1,'
    exits 8 "one that fails when it is asked, too" \
        "$TFRUN" verify all/good --plugin "$TFR_BUILDDIR/tests/fake/supports_fails.so"
    has "with the node and its words" out \
        '^good: failed: supports-fails:0 did not keep its word at node ".*" (Relu): .*no idea'
    exits 0 "run goes on without it" "$TFRUN" run all/good/model.onnx --random-inputs=1 \
        --plugin "$fake"
    has "and warns" err 'prepare-fails.*on second thoughts, no'
else
    skip "the fake plugins are not built"
fi
exits 3 "a device that is not there" "$TFRUN" verify all/good --device GPU:3
claim "is one mistake, told once" test "$(wc -l <err)" = 1

# Crashes and endless loops are kept apart. The kernels of two plugins made here do that.
fake_plugin() {
    {
        printf '#include <signal.h>\n#define FAKE_NAME "%s"\n#define FAKE_PRIORITY 900\n' "$1"
        printf '#define FAKE_ON_LAUNCH %s\n#include "fake.h"\n' "$2"
    } >"$1.c"
    # shellcheck disable=SC2086 # lists of words
    $TFR_CC $TFR_SANITIZE -D_GNU_SOURCE -I"$TFR_SRCDIR/sdk/include" -I"$TFR_SRCDIR/tests/fake" \
        -fPIC -shared "$1.c" -o "$1.so" 2>cc.log
}
# bf16_case NAME EXPECTED: Identity of 1 and -0 in bfloat16.
bf16_pb() { # OCTALS
    number 1 2
    number 2 16
    varint $((9 * 8 + 2))
    varint 4
    # shellcheck disable=SC2059 # the bytes are a format
    printf "$1"
}
bf16_case() {
    mkdir -p "bf16/$1/test_data_set_0"
    keep field 1 node Identity n1 x y; nodes=$kept
    keep field 11 value_info x 16 2; inputs=$kept
    keep field 12 value_info y 16 2; outputs=$kept
    model "$nodes" "$inputs" "$outputs" >"bf16/$1/model.onnx"
    bf16_pb '\200\077\000\200' >"bf16/$1/test_data_set_0/input_0.pb"
    bf16_pb "$2" >"bf16/$1/test_data_set_0/output_0.pb"
}
bf16_case one_up '\201\077\001\000'
exits 0 "one unit in the last place of bfloat16 passes, across 0, too" "$TFRUN" verify bf16/one_up
bf16_case two_up '\202\077\000\000'
exits 8 "two do not" "$TFRUN" verify bf16/two_up
bf16_case inf '\200\177\000\000'
exits 8 "nor does an infinity" "$TFRUN" verify bf16/inf

if fake_plugin dies 'raise(SIGKILL);' && fake_plugin sleeps 'for (;;) pause();'; then
    exits 8 "a crash fails one model, the others go on" \
        "$TFRUN" verify all/good all/unknown all/wrong --jobs 1 --plugin ./dies.so
    has "the first that runs the kernel" out '^good: failed: crashed (signal 9, Killed)$'
    has "the next one" out '^unknown: skipped: '
    has "and the last" out '^0 passed, 2 failed, 1 skipped$'
    exits 8 "a model that never ends is stopped" \
        "$TFRUN" verify all/good all/unknown --plugin ./sleeps.so --timeout 1
    has "and has failed" out '^good: failed: no result within 1 s$'
else
    cat cc.log
    skip "the fake plugins could not be compiled"
fi

finish
