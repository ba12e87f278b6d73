# SPDX-License-Identifier: Apache-2.0
# Registers, shared memory, stack and spills of CUDA's kernels, as nvcc has compiled them for this
# build, are within plugins/cuda/budgets.def, and it had nothing to warn of.
. "$TFR_SRCDIR/tests/lib.sh"

kernels=$TFR_BUILDDIR/plugins/cuda/kernels
[ -e "$kernels/units.def" ] || skip_all "configure found no nvcc that works, or was told to use none"

sed -n 's/^#include "\(.*\)\.cu"$/X(\1)/p' "$TFR_SRCDIR/plugins/cuda/kernels/kernels.cu" |
    LC_ALL=C sort >"$tmp/all"
sed 's/,.*/)/' "$kernels/units.def" | LC_ALL=C sort >"$tmp/compiled"
claim "what the CPU build has in kernels.cu, nvcc compiles, too" diff "$tmp/all" "$tmp/compiled"

# Those of ptxas tell of spills, too (--warn-on-spills).
claim "nvcc has warned of nothing, for whatever architectures it has compiled" \
    sh -c '! grep -i warning "$1"/*.ptxas' - "$kernels"

version=$(sed -n 's/^CUDA_VERSION = //p' "$TFR_BUILDDIR/Makefile")
budgets=$TFR_SRCDIR/plugins/cuda/budgets.def
# shellcheck disable=SC2046 # a list of files; a folder with spaces cannot be built in
check() {
    "$TFR_SRCDIR/scripts/cuda-budgets" check "$1" "$version" \
        $(sed "s|^X(\(.*\),.*|$kernels/\1.ptxas|" "$kernels/units.def")
}
check "$budgets" >"$tmp/over"
case $? in
77) skip "$(cat "$tmp/over")" && finish ;;
0) pass "each kernel is within its budget" ;;
*) fail "each kernel is within its budget" && cat "$tmp/over" ;;
esac

# The check itself: adam_f32 with one register, and without a row.
sed 's/^\(X(adam_f32\)\(, [0-9]*\)\{4\}/\1, 1, 1, 1, 1/' "$budgets" >"$tmp/low.def"
exits 1 "a kernel that needs more registers is noticed" check "$tmp/low.def"
has "and told with its figures" "$tmp/out" \
    '^adam_f32 for [0-9a-z]* needs [0-9]* registers, and may need 1$'
grep -v '^X(adam_f32' "$budgets" >"$tmp/less.def"
exits 1 "a kernel without a budget is noticed" check "$tmp/less.def"
has "and told" "$tmp/out" '^adam_f32 is not in '
finish
