# SPDX-License-Identifier: Apache-2.0
# The op cases of what NVIDIA's libraries compute, each however small by the stand-in of its library,
# against naive.
folder=$TFR_BUILDDIR/tests/cuda
if [ ! -e "$TFR_BUILDDIR/plugins/cuda/.libs/tfrun-cuda.so" ]; then
    echo "skipped: the CUDA backend was switched off"
    exit 77
fi
if ! test -f "$folder/cpu_kernels.so" || ! test -f "$folder/libcublasLt.so.13" ||
    ! test -f "$folder/libcudnn.so.9" || ! test -f "$folder/libcusolver.so.12"; then
    echo "skipped: configure found no C++ compiler for CUDA's kernels"
    exit 77
fi
cache=$(mktemp -d) || exit 99
trap 'rm -rf "$cache"' EXIT
LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
TFRUN_PLUGIN_PATH=$TFR_BUILDDIR/plugins/cuda/.libs:$TFRUN_PLUGIN_PATH
XDG_CACHE_HOME=$cache # remembers answers, which depend on the switches of the stand-in
export LD_LIBRARY_PATH TFRUN_PLUGIN_PATH XDG_CACHE_HOME
status=0
for case in ${*:-MatMul Gemm Conv ConvGradInput ConvGradFilter Inverse Solve}; do
    "$TFR_BUILDDIR/tests/ops/ops" --option cuda.library-from=0 --option cuda.tune_fill=0 \
        --seeds 12 --case "$case" value cuda:0 || status=1
done
exit $status
