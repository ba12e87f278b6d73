# SPDX-License-Identifier: Apache-2.0
# Without cuBLASLt tfrun's own kernels go on, and it is said what is missing.
. "$TFR_SRCDIR/tests/lib.sh"

folder=$TFR_BUILDDIR/tests/cuda
if ! test -f "$folder/cpu_kernels.so"; then
    skip "configure found no C++ compiler for CUDA's kernels"
    finish
fi
mkdir "$tmp/driver"
# A file that is no library is what the loader finds first, whatever is installed.
for file in libcublasLt.so.13 libcublasLt.so.12 libcudnn.so.9; do
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
finish
