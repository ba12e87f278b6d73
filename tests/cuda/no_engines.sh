# SPDX-License-Identifier: Apache-2.0
# Without cuBLASLt, cuDNN and cuSOLVER tfrun's own kernels go on, and it is said what is missing.
. "$TFR_SRCDIR/tests/lib.sh"

folder=$TFR_BUILDDIR/tests/cuda
if [ ! -e "$TFR_BUILDDIR/plugins/cuda/.libs/tfrun-cuda.so" ]; then
    skip "the CUDA backend was switched off"
    finish
fi
if ! test -f "$folder/cpu_kernels.so"; then
    skip "configure found no C++ compiler for CUDA's kernels"
    finish
fi
mkdir "$tmp/driver"
# A file that is no library is what the loader finds first, whatever is installed.
for file in libcublasLt.so.13 libcublasLt.so.12 libcudnn.so.9 libcusolver.so.12 \
    libcusolver.so.11; do
    echo "no library" >"$tmp/driver/$file"
done
cp "$folder/libcuda.so.1" "$folder/cpu_kernels.so" "$tmp/driver"
LD_LIBRARY_PATH=$tmp/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
TFRUN_PLUGIN_PATH=$TFR_BUILDDIR/plugins/cuda/.libs:$TFRUN_PLUGIN_PATH
XDG_CACHE_HOME=$tmp/cache
export LD_LIBRARY_PATH TFRUN_PLUGIN_PATH XDG_CACHE_HOME
cd "$tmp" || exit 99

product() { "$TFRUN" bench matmul --size 24 --pairs 1 --peers none --device cuda:0 \
    --plugin-option cuda.library-from="$1" --log-level info; }
exits 0 "a product is computed without cuBLASLt" product 0
has "what is missing is said" "$tmp/err" 'CUDA library cuBLASLt is not found, tried libcublasLt'
has "and what it is for, and what brings it" "$tmp/err" \
    'large matrix products need it; install NVIDIA.s libcublas'
exits 0 "a small product" product 100000
claim "does not ask for it" sh -c '! grep -q cublas "$1"' - "$tmp/err"

train() { "$TFRUN" train mnist-cnn --data 'synthetic?train=4&test=2' --batch-size 2 --epochs 1 \
    --device cuda:0 --plugin-option cuda.library-from="$1"; }
exits 0 "a network with convolutions is trained without cuDNN" train 0
has "what is missing is said" "$tmp/err" 'CUDA library cuDNN is not found, tried libcudnn\.so\.9'
has "and what it is for, and what brings it" "$tmp/err" \
    'fast convolutions need it; install NVIDIA.s libcudnn9'
exits 0 "a network with small convolutions" train 100000000
claim "does not ask for it" sh -c '! grep -q cudnn "$1"' - "$tmp/err"

mkdir systems
gzip -dc "$TFR_SRCDIR/tests/data/ops/tfrun.tar.gz" | (cd systems && tar -xf -) || exit 99
invert() { "$TFRUN" run systems/Inverse_1/model.onnx --random-inputs=1 --device cuda:0 --fallback error \
    --plugin-option cuda.library-from="$1" -o inverse.npy; }
exits 0 "matrices are inverted without cuSOLVER" invert 0
has "what is missing is said" "$tmp/err" 'CUDA library cuSOLVER is not found, tried libcusolver'
has "and what it is for, and what brings it" "$tmp/err" \
    'inverses of large matrices need it; install NVIDIA.s libcusolver-13-0'
exits 0 "small matrices" invert 100000000
claim "do not ask for it" sh -c '! grep -q cusolver "$1"' - "$tmp/err"
finish
