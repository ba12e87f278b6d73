# SPDX-License-Identifier: Apache-2.0
# The digests that plugins are compiled with are those of the op table.
. "$TFR_SRCDIR/tests/lib.sh"
exits 0 "tfrun lists its ops" "$TFRUN" ops --json
mv "$tmp/out" "$tmp/ops.json"
make_header() { "$TFR_SRCDIR/scripts/make-op-digests" <"$tmp/ops.json" >"$tmp/op_digests.h"; }
claim "the script makes a header of them" make_header
claim "tfrun/op_digests.h is up to date; make it with scripts/make-op-digests" \
    diff "$TFR_SRCDIR/sdk/include/tfrun/op_digests.h" "$tmp/op_digests.h"
finish
