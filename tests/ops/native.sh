# SPDX-License-Identifier: Apache-2.0
# The op cases on native against naive, and a status for hostile calls.
grep -q -w avx2 /proc/cpuinfo 2>/dev/null || {
    echo "most kernels of native need a processor with AVX2"
    exit 77
}
exec "$TFR_BUILDDIR/tests/ops/ops" --list "$TFR_SRCDIR/tests/ops/native.list" claims,value,hostile native:0
