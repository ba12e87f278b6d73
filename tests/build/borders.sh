# SPDX-License-Identifier: Apache-2.0
# The borders of the tree hold: who includes whom, what leaves a shared object, and the style.
. "$TFR_SRCDIR/tests/lib.sh"

claim "includes point down only" "$TFR_SRCDIR/scripts/check-includes" "$TFR_SRCDIR"
claim "the folders of core/ have an order" "$TFR_SRCDIR/scripts/check-includes" --graph "$TFR_SRCDIR"
claim "the libraries and plugins export what they should, and headers stand alone" \
    "$TFR_SRCDIR/scripts/check-symbols" "$TFR_SRCDIR" "$TFR_BUILDDIR"
claim "the lists of sources are what is there" "$TFR_SRCDIR/scripts/list-sources" --check
claim "the sources keep the style" "$TFR_SRCDIR/scripts/check-style" "$TFR_SRCDIR"

# The checks can fail.
mkdir -p "$tmp/core" "$tmp/cli" "$tmp/plugins/x" "$tmp/formats/onnx" "$tmp/include" "$tmp/sdk/include"
printf '#include <jansson.h>\n' >"$tmp/core/a.c"
printf '#include "../core/a.h"\n' >"$tmp/cli/b.c"
printf '#include <tfrun/graph.h>\n' >"$tmp/plugins/x/c.c"
printf '#include <tfrun/autodiff.h>\n' >"$tmp/formats/d.c"
printf '#include "onnx/f.h"\n' | tee "$tmp/formats/e.c" >"$tmp/formats/onnx/e.c"
: >"$tmp/formats/onnx/f.h"
mkdir "$tmp/core/value" "$tmp/core/op" "$tmp/core/device" "$tmp/core/run"
printf '#include "op/op.h"\n' >"$tmp/core/value/up.c"
printf '#include "device/loader.h"\n#include <tfrun/onnx.h>\n' >"$tmp/core/run/hidden.c"
printf '#include <tfrun/session.h>\n' >"$tmp/core/op/owner.c"
: >"$tmp/core/op/op.h"
: >"$tmp/core/device/loader.h"
for i in 1 2 3 4; do
    printf 'void tfr__f%d(void)\n{\n    tfr__f%d();\n}\n' $i $((i % 4 + 1)) >"$tmp/core/run/f$i.c"
done
exits 1 "wrong includes are found" "$TFR_SRCDIR/scripts/check-includes" "$tmp"
has "a foreign library in core" "$tmp/out" '^core/a.c:1:.*jansson'
has "a private header of another layer" "$tmp/out" '^cli/b.c: .*core/a.h'
has "differentiation in formats" "$tmp/out" '^formats/d.c:1:.*autodiff'
has "a format in what the formats share" "$tmp/out" '^formats/e.c:1:.*onnx/f'
claim "a format may include its own headers" sh -c '! grep "^formats/onnx/" "$0"' "$tmp/out"
has "an include up in core" "$tmp/out" '^core/value/up.c:1:.*core/value comes before core/op'
has "a private header of another folder" "$tmp/out" '^core/run/hidden.c:1:.*private to core/device'
has "a public header from above" "$tmp/out" '^core/run/hidden.c:2:.*a layer above core'
has "a public header of a later folder" "$tmp/out" '^core/op/owner.c:1:.*belongs to core/run'
has "a circle of calls" "$tmp/out" '^core: 4 files call each other in a circle'
has "a user header in a plugin" "$tmp/out" '^plugins/x/c.c:1:.*graph'
exits 1 "and the graph fails for them" "$TFR_SRCDIR/scripts/check-includes" --graph "$tmp"
has "it counts what points up" "$tmp/out" '^upward: [1-9]'
{
    printf '/* SPDX-License-Identifier: Apache-2.0 */\n'
    printf 'char *f(char *a, char *b)\n{\n    return strcpy(a, b); /* for cuda */\n}\n'
} >"$tmp/core/a.c"
printf 'void x_pooling_prepare(x_build *b)\n{\n}\n' >"$tmp/plugins/x/pooling.c"
exits 1 "bad style is found" "$TFR_SRCDIR/scripts/check-style" "$tmp"
has "a banned call" "$tmp/out" '^core/a.c:4:.*banned call'
has "a vendor word" "$tmp/out" '^core/a.c:4:.*vendor word'
has "the file of an op with a name of its own" "$tmp/out" '^plugins/x/pooling.c:1: no pooling.c'
has "a missing licence line" "$tmp/out" '^cli/b.c:1: the SPDX'
finish
