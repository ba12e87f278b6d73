# SPDX-License-Identifier: Apache-2.0
# The host half of the CUDA backend, with one op of the tests' own (host_family.c), over the driver
# stand-in: what certify checks of every plugin, and models on a GPU that is not there.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"

plugin=$TFR_BUILDDIR/tests/cuda/.libs/cudahost.so
if [ ! -e "$plugin" ] || [ ! -e "$TFR_BUILDDIR/tests/cuda/libcuda.so.1" ]; then
    skip "the CUDA backend was switched off"
    finish
fi
LD_LIBRARY_PATH=$TFR_BUILDDIR/tests/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
XDG_CACHE_HOME=$tmp/cache # remembers answers, which depend on the switches of the stand-in
export LD_LIBRARY_PATH XDG_CACHE_HOME
cd "$tmp" || exit 99

TFRUN_FAKE_CUDA=devices=2 "$TFRUN" certify "$plugin" >certified 2>&1
cat certified
claim "certify finds nothing wrong" \
    sh -c '! grep ": failed: " "$1"' - certified
for check in "life cycle" "two runtimes" "Add values" "Add memory" variables copies queues enqueuing \
    failure abort loss "out of memory" "memory limit" "two devices" threads leaks; do
    has "it tries $check" certified "^$check: passed: "
done

model_of Relu 3 >relu.onnx
keep field 1 node Add n1 "x x" y; nodes=$kept
keep field 11 value_info x 1 3; inputs=$kept
keep field 12 value_info y 1 3; outputs=$kept
model "$nodes" "$inputs" "$outputs" >add.onnx
float32_npy 3 "$floats" >x.npy
run() { "$TFRUN" run "$@" --plugin "$plugin"; }
exits 0 "a model runs on the GPU" run add.onnx --input x=x.npy --output y=y.npy --device cuda:0 -v
exits 0 "and on the processor" "$TFRUN" run add.onnx --input x=x.npy --output y=cpu.npy
claim "with the same result" cmp y.npy cpu.npy
exits 0 "what the GPU has no kernel for" run relu.onnx --input x=x.npy --output y=relu.npy \
    --device cuda:0
exits 0 "is computed by the processor" "$TFRUN" run relu.onnx --input x=x.npy --output y=relu_cpu.npy
claim "with the same result, too" cmp relu.npy relu_cpu.npy

exits 0 "the opening of a device is told" run add.onnx -i x=x.npy -o y=y.npy --device cuda:0 \
    --log-level info
has "with its library" "$tmp/err" 'cuda: opened CUDA library libcuda.so.1, CUDA 13.0$'
has "and its properties" "$tmp/err" 'opened device 0 .*compute capability: 9.0, clock: 1.98 GHz'

for limit in memory_limit=64 memory-fraction=0.000000001; do
    exits 0 "with $limit there is no room" run add.onnx -i x=x.npy -o y=y.npy --log-level info \
        --plugin-option "cuda.$limit"
    claim "and the result is right" cmp y.npy cpu.npy
done
finish
