# SPDX-License-Identifier: Apache-2.0
# --timeout: a run that takes longer ends, and says what it waited for.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
cd "$tmp" || exit 99
model_of Relu 3 >relu.onnx
float32_npy 3 "$floats" >x.npy

# With these options of the fake accelerator, a line each.
hang() {
    mkdir -p config/tfrun
    printf '%s\n' "$1" "$2" >config/tfrun/tfrun.conf
    XDG_CONFIG_HOME=$tmp/config timeout 60 "$TFRUN" run relu.onnx -i x.npy \
        --plugin "$TFR_BUILDDIR/tests/fakeacc/.libs/fakeacc.so" --device NPU:0 --timeout "${limit:-1}" "$3"
}

exits 9 "a device that does not end fails the run" hang 'fakeacc.hang_after = 0' '' -v
has "with time, node and device" err \
    'tfrun: the run was to take 1 s at most: after [0-9.]* s it still waits for node "n1" (Relu) on NPU:0 (fakeacc:0)$'
exits 9 "one that does not give up does not hold the process" \
    hang 'fakeacc.hang_after = 0' 'fakeacc.abort = 0' -v
has "which says what it leaves" err 'NPU:0 (fakeacc:0) has not ended work of a run that timed out'
export TFRUN_NOTICE_AFTER_MS=100
exits 9 "a wait that takes long is told of" hang 'fakeacc.hang_after = 0' '' -v
has "with the node" err '^tfrun: waiting for plugin fakeacc: host_wait of node "n1" (Relu), [0-9.]* s so far$'
unset TFRUN_NOTICE_AFTER_MS
exits 9 "it is told as JSON, too" hang 'fakeacc.hang_after = 0' '' --json
has "with its code" out '"code": "TFR_ETIMEOUT"'
limit=60
exits 0 "a device in time is left alone" hang 'fakeacc.delay_us = 1' '' -v

exits 9 "a plugin that does not come back ends the process" timeout 60 "$TFRUN" \
    --plugin "$TFR_BUILDDIR/tests/fake/launch_hangs.so" run relu.onnx -i x.npy -b launch-hangs \
    --timeout 0.2 --json
has "with plugin, slot and node" err \
    'plugin launch-hangs still is in launch of node "n1" (Relu), and nothing can end that but'
has "as JSON, too" out '"code": "TFR_ETIMEOUT"'

# The others that have the option.
mkdir -p good/test_data_set_0
cp relu.onnx good/model.onnx
float32_pb 3 "$floats" >good/test_data_set_0/input_0.pb
float32_pb 3 "$floats_relu" >good/test_data_set_0/output_0.pb
echo 'fakeacc.hang_after = 0' >config/tfrun/tfrun.conf
XDG_CONFIG_HOME=$tmp/config
exits 8 "verify goes on after a time-out" timeout 60 "$TFRUN" verify good \
    --plugin "$TFR_BUILDDIR/tests/fakeacc/.libs/fakeacc.so" --device NPU:0 --timeout 1
has "with the words of the run" out \
    '^good: failed: the run was to take 1 s at most: .* waits for node "n1" (Relu) on NPU:0'
exits 9 "bench ends after a time-out" timeout 60 "$TFRUN" bench model relu.onnx --peers none \
    --plugin "$TFR_BUILDDIR/tests/fakeacc/.libs/fakeacc.so" --device NPU:0 --timeout 1
has "with the node" err 'still waits for node "n1" (Relu) on NPU:0'

exits 2 "a time must be positive" "$TFRUN" run relu.onnx -i x.npy --timeout 0

finish
