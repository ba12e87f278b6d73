# SPDX-License-Identifier: Apache-2.0
# The examples do what they say, and the README shows the code that is tested.
. "$TFR_SRCDIR/tests/lib.sh"

sed -n '/^#include/,$p' "$TFR_SRCDIR/examples/run_model.c" >"$tmp/example.c"
sed -n '/^```c$/,/^```$/{/^```/!p}' "$TFR_SRCDIR/README.md" >"$tmp/readme.c"
claim "the README shows examples/run_model.c" diff -u "$tmp/example.c" "$tmp/readme.c"

run_model=$TFR_BUILDDIR/examples/run_model
exits 2 "run_model wants three arguments" "$run_model"
exits 1 "a missing model is an error" "$run_model" "$tmp/none.onnx" "$tmp/x.pb" "$tmp/y.pb"
has "the error names the file" "$tmp/err" 'none\.onnx'

model=/usr/share/libonnx-testdata/data/pytorch-operator/test_operator_conv
if [ -d "$model" ]; then
    mkdir -p "$tmp/m/test_data_set_0"
    cp "$model/model.onnx" "$tmp/m"
    cp "$model"/test_data_set_0/input_*.pb "$tmp/m/test_data_set_0"
    exits 0 "run_model runs a model" \
        "$run_model" "$model/model.onnx" "$model/test_data_set_0/input_0.pb" \
        "$tmp/m/test_data_set_0/output_0.pb"
    exits 0 "what it wrote is what the command computes" "$TFRUN" verify "$tmp/m"
else
    skip "no model to run: libonnx-testdata is not installed"
fi

exits 0 "list_devices lists" "$TFR_BUILDDIR/examples/list_devices"
has "the processor" "$tmp/out" '^device CPU:0: '
has "and its backends" "$tmp/out" '^  backend naive:0, priority 0$'
exits 0 "list_devices takes a file that is no plugin" \
    "$TFR_BUILDDIR/examples/list_devices" "$TFR_SRCDIR/README.md"
has "and says what is wrong with it" "$tmp/out" '^plugin README.md: not_a_plugin, .*; '
has "next to the others" "$tmp/out" '^device CPU:0: '

run_op=$TFR_BUILDDIR/examples/run_op
exits 0 "run_op runs an op" "$run_op" naive:0 Neg int32 -1 0 7
claim "with the right result" test "$(echo $(cat "$tmp/out"))" = "1 0 -7"
exits 2 "run_op wants a device, an op, a type and values" "$run_op" CPU:0 Neg int32
exits 1 "a device that is not there is an error" "$run_op" GPU:9 Neg int32 1
has "with the devices that are there" "$tmp/err" 'CPU:0'
exits 1 "a type that is not there is an error" "$run_op" CPU:0 Neg float33 1
claim "with a sentence" test -s "$tmp/err"

train=$TFR_BUILDDIR/examples/train_mnist
exits 2 "train_mnist wants data and a file" "$train" synthetic
exits 1 "data that are not there are an error" "$train" "$tmp/none" "$tmp/out.onnx"
exits 0 "train_mnist trains" "$train" 'synthetic?train=64&test=32' "$tmp/trained.onnx" 1
has "and tests" "$tmp/out" '^epoch 1: loss [0-9.]*, test accuracy [0-9.]*$'
exits 0 "what it wrote is a model" "$TFRUN" run "$tmp/trained.onnx" --random-inputs 1
finish
