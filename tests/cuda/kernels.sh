# SPDX-License-Identifier: Apache-2.0
# The op cases on CUDA's kernels, as the CPU runs them, against naive.
plugins=$TFR_BUILDDIR/tests/cuda/plugins
if ! test -f "$plugins/tfrun-cudacpu.so"; then
    echo "skipped: configure found no C++ compiler for CUDA's kernels"
    exit 77
fi
TFRUN_PLUGIN_PATH=$plugins:$TFRUN_PLUGIN_PATH
export TFRUN_PLUGIN_PATH
TFR_CPU_SEED=7 TFR_CPU_WORKERS=2 exec "$TFR_BUILDDIR/tests/ops/ops" --seeds 12 \
    --list "$TFR_SRCDIR/tests/cuda/kernels.list" value cudacpu:0
