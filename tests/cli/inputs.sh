# SPDX-License-Identifier: Apache-2.0
# What inputs may be: sizes of open dims by name, and values that are made up.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
mkdir "$tmp/plugins"
cp "$TFR_BUILDDIR/.libs/tfrun-naive.so" "$tmp/plugins"
TFRUN_PLUGIN_PATH=$tmp/plugins
cd "$tmp" || exit 99

# one OP TYPE DIM...: a model y = OP(x); a word that is no number is the name of a dim.
one() {
    op=$1 type=$2
    shift 2
    keep field 1 node "$op" n1 x y; nodes=$kept
    keep field 11 value_info x "$type" "$@"; inputs=$kept
    keep field 12 value_info y "$type" "$@"; outputs=$kept
    model "$nodes" "$inputs" "$outputs"
}

# --dim
one Relu 1 batch tokens 3 >named.onnx
exits 0 "dims are fixed by their names" \
    "$TFRUN" run named.onnx --random-inputs 1 --dim batch=2 --dim tokens=5
has "in what is made up" out 'float32\[2,5,3\]'
exits 0 "inspect shows dims that are fixed" "$TFRUN" inspect named.onnx --dim batch=2
has "beside those that are not" out '^output  *y: float32\[2,tokens,3\]$'
exits 5 "a name that the model has not" "$TFRUN" run named.onnx --random-inputs 1 --dim bach=2
has "is answered with the nearest" err \
    '^tfrun: --dim bach=2: the model names no dim of its inputs "bach", did you mean "batch"? dims are batch, tokens$'
exits 5 "a dim without a number" "$TFRUN" inspect named.onnx --dim batch
has "is answered with how to write it" err '--dim batch is not NAME=N, write it like batch=4$'
exits 5 "a dim that is given twice" "$TFRUN" inspect named.onnx --dim batch=1 --dim batch=2
has "is named with both sizes" err '--dim batch=1 and --dim batch=2 name the same dim$'
exits 5 "a dim that a shape contradicts" \
    "$TFRUN" run named.onnx --random-inputs 1 --dim batch=2 --shape x=1,5,3

# Sizes by name.
exits 0 "open dims are what their names suggest" "$TFRUN" run named.onnx --random-inputs 1
has "one sample of 128 tokens" out 'float32\[1,128,3\]'
one Relu 1 n 3 height width >image.onnx
exits 0 "sides of images" "$TFRUN" run image.onnx --random-inputs 1
has "are 224" out 'float32\[1,3,224,224\]'
one Relu 1 batch "past + seq" >sum.onnx
exits 0 "a sum of names" "$TFRUN" run sum.onnx --random-inputs 1
has "is the sum of their sizes" out 'float32\[1,144\]'

# Integers.
keep field 1 node Gather n1 "table ids" y; nodes=$kept
keep field 11 value_info table 1 1000 2; inputs=$kept
keep field 11 value_info ids 7 n 64; inputs=$inputs$kept
keep field 12 value_info y 1 n 64 2; outputs=$kept
keep field 1 node Identity n2 ids same; nodes=$nodes$kept
keep field 12 value_info same 7 n 64; outputs=$outputs$kept
model "$nodes" "$inputs" "$outputs" >gather.onnx
exits 0 "indices are within what they index" "$TFRUN" run gather.onnx --random-inputs 1 --json
claim "and some are large" awk '/"same"/ { s = 1 }
    s && /^ *[0-9]+,?$/ && $1 + 0 >= 100 { found = 1 } END { exit !found }' out
keep field 1 node Identity n1 attention_mask y; nodes=$kept
keep field 11 value_info attention_mask 7 n 4; inputs=$kept
keep field 12 value_info y 7 n 4; outputs=$kept
model "$nodes" "$inputs" "$outputs" >mask.onnx
exits 0 "a mask is made up" "$TFRUN" run mask.onnx --random-inputs 1
has "of ones" out ' 1, 1, 1, 1$'

# What is said.
exits 0 "a run" "$TFRUN" run named.onnx --random-inputs 1
claim "says nothing beside its result" test ! -s err
exits 0 "a run with -v" "$TFRUN" -v run named.onnx --random-inputs 1
has "tells of plugins" err '^tfrun: loader: loaded plugin naive'
exits 0 "--threads 0 is all, whatever the environment says" \
    env TFRUN_THREADS=1 "$TFRUN" devices --threads 0 --json
grep '"threads"' out >all
exits 0 "as without either" "$TFRUN" devices --json
grep '"threads"' out >usual
claim "the devices have as many" cmp all usual
finish
