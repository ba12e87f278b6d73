# SPDX-License-Identifier: Apache-2.0
# The naive backend is the specification in code; it needs nothing and is always built.
TFR_ROW([plugin naive], [yes], [reference kernels in plain C])
