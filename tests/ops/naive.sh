# SPDX-License-Identifier: Apache-2.0
# The op cases on naive: the same results for plain, strided, badly aligned and constant inputs and
# for a second run, and a status for hostile calls. This folder's case.h says what a case is.
exec "$TFR_BUILDDIR/tests/ops/ops" --list "$TFR_SRCDIR/tests/ops/naive.list" claims,value,hostile naive:0
