# SPDX-License-Identifier: Apache-2.0
# The op cases on native against naive with what every processor has.
TFRUN_HIDE_CPU_FEATURES="avx2 avx512f"
export TFRUN_HIDE_CPU_FEATURES
exec "$TFR_BUILDDIR/tests/ops/ops" --list "$TFR_SRCDIR/tests/ops/native.list" claims,value native:0
