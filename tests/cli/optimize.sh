# SPDX-License-Identifier: Apache-2.0
# tfrun optimize: writes what passes make of a model, checks it, and never harms what is there.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
cd "$tmp" || exit 99
mkdir plugins
cp "$TFR_BUILDDIR/.libs/tfrun-naive.so" plugins
TFRUN_PLUGIN_PATH=$tmp/plugins

# y = Relu(Identity(x)) for any number of rows.
keep field 1 node Identity copy x a; nodes=$kept
keep field 1 node Relu relu a y; nodes=$nodes$kept
keep field 11 value_info x 1 n 3; inputs=$kept
keep field 12 value_info y 1 n 3; outputs=$kept
model "$nodes" "$inputs" "$outputs" >in.onnx

exits 0 "a model is optimized" "$TFRUN" optimize in.onnx out.onnx --check
has "passes are told" out '^passes  *dead: 1 nodes that do nothing'
has "and the check" out '^check  *1 outputs agree, the greatest error is 0$'
has "and the nodes" out '^nodes  *1, 2 before$'
claim "nothing is on standard error" test ! -s err
for rows in 1 5; do
    exits 0 "the result runs with $rows rows" \
        "$TFRUN" run out.onnx --random-inputs 1 --shape "x=$rows,3" --output "y$rows.npy"
    exits 0 "so does the model" \
        "$TFRUN" run in.onnx --random-inputs 1 --shape "x=$rows,3" --output "z$rows.npy"
    claim "with the same result" cmp "y$rows.npy" "z$rows.npy"
done
exits 0 "the same model gives the same file" "$TFRUN" optimize in.onnx again.onnx
claim "byte for byte" cmp out.onnx again.onnx
exits 0 "no passes change nothing" "$TFRUN" optimize in.onnx none.onnx --passes none
has "which is told" out '^passes  *nothing changed$'
exits 0 "a model is optimized in its place" "$TFRUN" optimize none.onnx none.onnx
claim "to the same" cmp out.onnx none.onnx
exits 0 "optimize prints JSON" "$TFRUN" optimize in.onnx out.onnx --check --json
has "with its schema" out '"schema": "tfrun.optimize/1"'
has "the passes" out '"pass": "dead"'
has "the nodes" out '"nodes_before": 2'
has "and the check" out '"check": "passed"'

# Shapes.
exits 0 "a shape is fixed" "$TFRUN" optimize in.onnx fixed.onnx --fold-shapes x=4,3
exits 5 "for good" "$TFRUN" run fixed.onnx --random-inputs 1 --shape x=5,3
has "which the model says" err 'input "x" has shape \[5,3\], the graph wants'
exits 5 "a shape that the model excludes" "$TFRUN" optimize in.onnx no.onnx --fold-shapes x=4,4
has "is told" err 'input "x" is declared as something else than a tensor of shape \[4,4\]'
exits 5 "no list of dims" "$TFRUN" optimize in.onnx no.onnx --fold-shapes x=a
has "is told with the option" err '^tfrun: --fold-shapes x=a is no list of dims'
exits 5 "the shape of no input" "$TFRUN" optimize in.onnx no.onnx --fold-shapes z=1
has "is told with the inputs" err 'the model has no input "z"'

# What is newer than the opset.
keep field 1 node Sigmoid s x a; nodes=$kept
keep field 1 node Mul m "x a" y; nodes=$nodes$kept
model "$nodes" "$inputs" "$outputs" >swish.onnx
exits 0 "an op that is too new" "$TFRUN" optimize swish.onnx no.onnx
has "is not put in" out '^nodes  *2, 2 before$'
exits 0 "a newer opset" "$TFRUN" optimize swish.onnx out.onnx --opset 24 --check
has "has it" out '^nodes  *1, 2 before$'
rm no.onnx

# Roundings of Gemm are others than those of MatMul and Add: nothing is written.
keep field 1 node MatMul p "x w" a; nodes=$kept
keep field 1 node Add s "a b" y; nodes=$nodes$kept
keep field 11 value_info x 1 8 64; inputs=$kept
keep field 11 value_info w 1 64 64; inputs=$inputs$kept
keep field 11 value_info b 1 64; inputs=$inputs$kept
keep field 12 value_info y 1 8 64; outputs=$kept
model "$nodes" "$inputs" "$outputs" >gemm.onnx
cp gemm.onnx before.onnx
exits 0 "roundings are within the tolerance" "$TFRUN" optimize gemm.onnx out.onnx --check
exits 8 "what differs is told" "$TFRUN" optimize gemm.onnx gemm.onnx --check --rtol 0 --atol 0
has "with the element" out '^check  *output "y" differs: element '
claim "and not written" cmp gemm.onnx before.onnx
exits 8 "in JSON too" "$TFRUN" optimize gemm.onnx gemm.onnx --check --rtol 0 --atol 0 --json
has "with the word" out '"check": "failed"'
exits 5 "an unknown pass" "$TFRUN" optimize in.onnx no.onnx --passes fast
has "is told with those there are" err 'there is no pass "fast"; there is: all none fold'

# Files.
exits 7 "a model that is not there" "$TFRUN" optimize none_such.onnx no.onnx
printf 'no model' >text.onnx
exits 5 "a file that is no model" "$TFRUN" optimize text.onnx no.onnx
exits 7 "a folder that is not there" "$TFRUN" optimize in.onnx no/such/out.onnx
has "is told" err 'no/such/out.onnx cannot be written'
exits 2 "one word is too few" "$TFRUN" optimize in.onnx
claim "no file is left behind" test ! -e no.onnx

# Without a backend constants are left as they are.
mkdir empty
exits 0 "without any plugin it works, too" \
    env TFRUN_PLUGIN_PATH="$tmp/empty" "$TFRUN" optimize in.onnx alone.onnx
has "as far as it can" out '^nodes  *1, 2 before$'
finish
