# SPDX-License-Identifier: Apache-2.0
# The native backend is always built: it needs no library.
TFR_ROW([plugin native], [yes], [kernels and a compiler of our own])
