# SPDX-License-Identifier: Apache-2.0
# The op cases on CUDA's kernels, as the CPU runs them, against naive; those of images with the
# channels last, too, in what they read, what they write and both.
. "$TFR_SRCDIR/tests/lib.sh"

plugins=$TFR_BUILDDIR/tests/cuda/plugins
[ -f "$plugins/tfrun-cudacpu.so" ] || skip_all "configure found no C++ compiler for CUDA's kernels"
TFRUN_PLUGIN_PATH=$plugins:$TFRUN_PLUGIN_PATH
export TFRUN_PLUGIN_PATH

ops() {
    TFR_CPU_SEED=7 TFR_CPU_WORKERS=2 "$TFR_BUILDDIR/tests/ops/ops" "$@" value cudacpu:0
}
claim "all that the kernels compute is as naive computes it" \
    ops --seeds 12 --list "$TFR_SRCDIR/tests/cuda/kernels.list"

# Shapes that direct convolutions are for, as far as four multiprocessors make it so.
direct() {
    : >"$tmp/ran"
    for name in "Conv/3 x 3" "Conv/3 x 3, long rows" "ConvGradInput/3 x 3" \
        "ConvGradFilter/3 x 3"; do
        TFR_CPU_KERNELS=$tmp/ran ops --seeds 100 --case "$name" || return 1
    done
}
claim "convolutions of 3 x 3 are as naive computes them" direct
for width in 4 5 6 7; do
    has "direct ones with $width pixels of a row for a thread are among them" "$tmp/ran" \
        "^conv_direct_${width}_f32\$"
done
has "and gradients of filters" "$tmp/ran" '^conv_direct_filter_f32$'
has "and those that do not fit shared memory, as implicit products" "$tmp/ran" '^conv_16_f32$'
has "and gradients of few elements" "$tmp/ran" '^conv_grad_input_16_f32$'

: >"$tmp/ran"
apart() {
    TFR_CPU_KERNELS=$tmp/ran ops --seeds 60 --case "MaxPoolGrad/apart"
}
claim "gradients of windows that are apart are as naive computes them" apart
has "by a thread for each window" "$tmp/ran" '^max_pool_grad_cells_f32$'

# The ops of plan_last.c.
names=$(tr '{' '\n' <"$TFR_SRCDIR/plugins/cuda/plan_last.c" |
    sed -n 's/^"[a-z]*", "\([A-Za-z]*\)", [0-9].*/\1/p')
[ -n "$names" ] || fail "plan_last.c names ops"
last() {
    for name in $names; do
        seeds=12
        [ "$name" != BatchNormGrad ] || seeds=40 # few of its calls are of images
        TFR_CPU_LAST=$1 ops --seeds $seeds --case "$name" || return 1
    done
}
claim "images that are read may have the channels last" last x
claim "images that are written may have them" last y
claim "both may" last xy
finish
