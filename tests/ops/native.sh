# SPDX-License-Identifier: Apache-2.0
# The op cases on native against naive, and a status for hostile calls.
exec "$TFR_BUILDDIR/tests/ops/ops" --list "$TFR_SRCDIR/tests/ops/native.list" claims,value,hostile native:0
