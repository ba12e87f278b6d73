# SPDX-License-Identifier: Apache-2.0
# libtfrun stays small: stripped, as it is installed by distributions.
. "$TFR_SRCDIR/tests/lib.sh"
limit=430080

grep -q '^TFR_SIZE_CFLAGS = -O[sz]' "$TFR_BUILDDIR/Makefile" ||
    skip_all "this build is not compiled for size: CFLAGS without -O2, or sanitizers"
command -v strip >/dev/null 2>&1 || skip_all "there is no strip"
claim "libtfrun can be stripped" strip -o "$tmp/libtfrun.so" "$TFR_BUILDDIR/.libs/libtfrun.so"
bytes=$(wc -c <"$tmp/libtfrun.so")
echo "libtfrun: $bytes bytes stripped, the limit is $limit"
claim "libtfrun stripped has at most $limit bytes" [ "$bytes" -le "$limit" ]
finish
