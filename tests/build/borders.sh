# SPDX-License-Identifier: Apache-2.0
# The borders of the tree hold: who includes whom, what leaves a shared object, and the style.
. "$TFR_SRCDIR/tests/lib.sh"

claim "includes point down only" "$TFR_SRCDIR/scripts/check-includes" "$TFR_SRCDIR"
claim "the libraries and plugins export what they should, and headers stand alone" \
    "$TFR_SRCDIR/scripts/check-symbols" "$TFR_SRCDIR" "$TFR_BUILDDIR"
claim "the sources keep the style" "$TFR_SRCDIR/scripts/check-style" "$TFR_SRCDIR"

# The checks can fail.
mkdir -p "$tmp/core" "$tmp/cli" "$tmp/plugins/x" "$tmp/formats/onnx" "$tmp/include" "$tmp/sdk/include"
printf '#include <jansson.h>\n' >"$tmp/core/a.c"
printf '#include "../core/a.h"\n' >"$tmp/cli/b.c"
printf '#include <tfrun/graph.h>\n' >"$tmp/plugins/x/c.c"
printf '#include <tfrun/autodiff.h>\n' >"$tmp/formats/d.c"
printf '#include "onnx/f.h"\n' | tee "$tmp/formats/e.c" >"$tmp/formats/onnx/e.c"
: >"$tmp/formats/onnx/f.h"
exits 1 "wrong includes are found" "$TFR_SRCDIR/scripts/check-includes" "$tmp"
has "a foreign library in core" "$tmp/out" '^core/a.c:1:.*jansson'
has "a private header of another layer" "$tmp/out" '^cli/b.c: .*core/a.h'
has "differentiation in formats" "$tmp/out" '^formats/d.c:1:.*autodiff'
has "a format in what the formats share" "$tmp/out" '^formats/e.c:1:.*onnx/f'
claim "a format may include its own headers" sh -c '! grep "^formats/onnx/" "$0"' "$tmp/out"
has "a user header in a plugin" "$tmp/out" '^plugins/x/c.c:1:.*graph'
{
    printf '/* SPDX-License-Identifier: Apache-2.0 */\n'
    printf 'char *f(char *a, char *b)\n{\n    return strcpy(a, b); /* for cuda */\n}\n'
} >"$tmp/core/a.c"
exits 1 "bad style is found" "$TFR_SRCDIR/scripts/check-style" "$tmp"
has "a banned call" "$tmp/out" '^core/a.c:4:.*banned call'
has "a vendor word" "$tmp/out" '^core/a.c:4:.*vendor word'
has "a missing licence line" "$tmp/out" '^cli/b.c:1: the SPDX'
finish
