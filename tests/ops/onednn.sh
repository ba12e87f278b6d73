# SPDX-License-Identifier: Apache-2.0
# The op cases on onednn against naive, and a status for hostile calls. Passive, because OpenMP's
# threads spin between two short calls, which takes the processor from everybody else's tests.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
exec "$TFR_BUILDDIR/tests/ops/ops" --list "$TFR_SRCDIR/tests/ops/onednn.list" claims,value,hostile onednn:0
