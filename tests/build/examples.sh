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
finish
