# SPDX-License-Identifier: Apache-2.0
# docs/ops.md is what `tfrun ops --json` and scripts/make-ops-table make of it.
. "$TFR_SRCDIR/tests/lib.sh"
exits 0 "tfrun lists its ops" "$TFRUN" ops --json
mv "$tmp/out" "$tmp/ops.json"
make_table() { "$TFR_SRCDIR/scripts/make-ops-table" <"$tmp/ops.json" >"$tmp/ops.md"; }
claim "the script makes a table of them" make_table

# naive is always there and lacks one op only.
grep '^|[^|]*|[^|]*| - |' "$tmp/ops.md" | grep -v '^| ImageDecoder ' >"$tmp/lacking"
claim "naive claims every op but ImageDecoder" test ! -s "$tmp/lacking"
if grep -q '"onednn"' "$tmp/ops.json"; then
    claim "docs/ops.md is up to date; make it with scripts/make-ops-table" \
        diff "$TFR_SRCDIR/docs/ops.md" "$tmp/ops.md"
else
    # Without oneDNN its column and its counts say nothing.
    without_onednn() { sed -e 's/^\(|[^|]*|[^|]*|[^|]*|[^|]*|\)[^|]*|/\1|/' -e '/^## Counts/,$d' "$1"; }
    without_onednn "$TFR_SRCDIR/docs/ops.md" >"$tmp/expected"
    without_onednn "$tmp/ops.md" >"$tmp/obtained"
    claim "docs/ops.md is up to date but for oneDNN, which is not here" \
        diff "$tmp/expected" "$tmp/obtained"
fi
finish
