# SPDX-License-Identifier: Apache-2.0
# tfrun run --trace: files that Perfetto opens.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
# naive is everywhere and the same everywhere.
mkdir "$tmp/plugins"
cp "$TFR_BUILDDIR/.libs/tfrun-naive.so" "$tmp/plugins"
TFRUN_PLUGIN_PATH=$tmp/plugins
check=$TFR_BUILDDIR/tests/cli/trace_check
[ -x "$check" ] || skip_all "tests/cli/trace_check is not built"
cd "$tmp" || exit 99

model_of Relu 3 >relu.onnx
float32_npy 3 "$floats" >x.npy

exits 0 "a run leaves a trace" "$TFRUN" -q run relu.onnx -i x.npy --trace one.json
exits 0 "it is valid and nests" "$check" one.json
has "one run" out '^run 1$'
has "its planning" out '^plan 1$'
has "its kernel" out '^kernel 1$'
has "the event has the node's name" one.json '"name":"n1","cat":"kernel","ph":"X"'
has "with op, backend and work" one.json '"op":"Relu","backend":"naive:0","node":0,"flops":3,"bytes":24'
has "threads have names" one.json '"name":"thread_name"'

exits 0 "several runs are in one trace" "$TFRUN" -q run relu.onnx -i x.npy --runs 5 --trace five.json
exits 0 "it is valid, too" "$check" five.json
has "with all of them" out '^run 5$'
has "planned once" out '^plan 1$'

# Names that JSON has to escape.
keep field 1 node Relu 'a"b\c/é' x y; nodes=$kept
keep field 11 value_info x 1 3; inputs=$kept
keep field 12 value_info y 1 3; outputs=$kept
model "$nodes" "$inputs" "$outputs" >odd.onnx
exits 0 "an odd name is no trouble" "$TFRUN" -q run odd.onnx -i x.npy --trace odd.json
exits 0 "and the file is valid" "$check" odd.json

exits 7 "a file that cannot be written is an error" \
    "$TFRUN" -q run relu.onnx -i x.npy --trace "$tmp/none/t.json"
has "with its name" err 'none/t.json cannot be written'

if [ -c /dev/full ]; then
    exits 7 "a full device is an error" "$TFRUN" -q run relu.onnx -i x.npy --trace /dev/full
    has "with its reason" err '/dev/full cannot be written: No space left on device'
    claim "and stays" test -c /dev/full
else
    skip "there is no /dev/full"
fi
echo old >kept.json
exits 7 "a trace that finds no room is an error" sh -c 'trap "" XFSZ; ulimit -f 0; exec "$@"' - \
    "$TFRUN" -q run relu.onnx -i x.npy --trace kept.json
claim "which leaves the old file" test "$(cat kept.json)" = old
claim "and no other" test -z "$(ls -A | grep '^\.tfrun')"
mkfifo pipe.json
claim "a trace goes into a pipe" sh -c '"$1" -q run relu.onnx -i x.npy --trace pipe.json >/dev/null &
    cat pipe.json >piped.json && wait && "$2" piped.json >/dev/null' - "$TFRUN" "$check"

# A device with a queue and memory of its own, and an input that lies strided.
fakeacc=$TFR_BUILDDIR/tests/fakeacc/.libs/fakeacc.so
if [ -e "$fakeacc" ]; then
    header="{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }"
    model_of Relu "3 2" >wide.onnx
    # shellcheck disable=SC2059 # the bytes are a format
    { printf '\223NUMPY\001\000\166\000%-117s\n' "$header"; printf "$floats$floats"; } >f.npy
    exits 0 "a device leaves a trace" \
        "$TFRUN" -q run wide.onnx -i f.npy --plugin "$fakeacc" --device NPU:0 --trace npu.json
    exits 0 "it is valid, and its queue's work nests" "$check" npu.json
    for kind in kernel copy wait reorder enqueue; do has "it has each $kind" out "^$kind [1-9]"; done
    has "and what the plugin calls it" out '^inner,kernel 1$'
    has "the queue has a name" npu.json '"name":"queue 0"'
    has "and the device" npu.json '"name":"fakeacc:0"'
    # Without the plugin's records the times are those of the waits.
    XDG_CONFIG_HOME=$tmp/config
    mkdir -p config/tfrun
    echo 'fakeacc.profile = 0' >config/tfrun/tfrun.conf
    exits 0 "a device without records does, too" \
        "$TFRUN" -q run wide.onnx -i f.npy --plugin "$fakeacc" --device NPU:0 --trace bare.json
    exits 0 "and it is valid" "$check" bare.json
    has "with the kernel" out '^kernel 1$'
    claim "and no records" sh -c "! grep -q inner out"
else
    skip "the fake accelerator is not built"
fi
finish
