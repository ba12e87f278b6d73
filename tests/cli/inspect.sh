# SPDX-License-Identifier: Apache-2.0
# tfrun inspect: what is in a model, without inputs or plugins.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
TFRUN_PLUGIN_PATH=$tmp/none
cd "$tmp" || exit 99

model_of Relu "n 3" >open.onnx
exits 0 "a model is inspected" "$TFRUN" inspect open.onnx
has "its opset" out '^opset  *ai.onnx [0-9]*$'
has "its input by the name of the dim" out '^input  *x: float32\[n,3\]$'
has "its output with the same dim" out '^output  *y: float32\[n,3\]$'
has "its ops" out '^ops  *1 Relu$'
has "its parameters" out '^parameters  *0 in 0 constants$'
has "its operations" out '^operations .*a dim that varies counts as 1$'
claim "and no node" test -z "$(grep '^NODE' out)"
claim "nothing is said beside" test ! -s err
exits 0 "with --nodes" "$TFRUN" inspect open.onnx --nodes
has "each value has a type" out 'Relu  *y  *float32\[n,3\]$'

exits 0 "JSON" "$TFRUN" inspect open.onnx --nodes --json
has "has a schema" out '"schema": "tfrun.inspect/1"'
has "and names of dims" out '"n"'
has "and numbers" out '"n_nodes": 1'

echo "this is no model" >text.onnx
exits 5 "a file that is no model" "$TFRUN" inspect text.onnx
has "is named" err '^tfrun: text.onnx: '
exits 7 "a file that is not there" "$TFRUN" inspect none.onnx
finish
