# SPDX-License-Identifier: Apache-2.0
# ONNX's own backend tests, where libonnx-testdata is installed: so many pass, those of
# tests/onnx_known.list fail and no other does, and nothing crashes.
. "$TFR_SRCDIR/tests/lib.sh"
data=${TFR_ONNX_DATA:-/usr/share/libonnx-testdata/data}
[ -d "$data/node" ] || skip_all "libonnx-testdata is not installed"
TFRUN_PLUGIN_PATH=$TFR_BUILDDIR/.libs
lists=$TFR_SRCDIR/tests/onnx_known.list
# Debian 13 has the models of ONNX 1.17, with data that are wrong in other places, too.
[ ! -d "$data/node/test_ai_onnx_ml_binarizer" ] ||
    lists="$lists $TFR_SRCDIR/tests/onnx_known_1.17.list"
# shellcheck disable=SC2086 # several words
sed -e '/^#/d' -e 's/:.*//' $lists | sort >"$tmp/known"

# models FOLDER FLOOR [OPTION...]: verifies all models of a folder.
models() {
    folder=$1 floor=$2
    shift 2
    what="$folder${*:+ $*}"
    "$TFRUN" verify "$@" "$data/$folder" >"$tmp/out" 2>"$tmp/err" </dev/null
    passed=$(sed -n 's/^\([0-9]*\) passed, [0-9]* failed, [0-9]* skipped$/\1/p' "$tmp/out")
    if [ "${passed:-0}" -ge "$floor" ]; then
        pass "$what: $passed models pass, at least $floor"
    else
        fail "$what: ${passed:-no} models pass, not $floor: $(cat "$tmp/err")"
    fi
    sed -n 's/: failed: .*//p' "$tmp/out" | sort >"$tmp/failed"
    # Of those that are known only the ones in this folder.
    : >"$tmp/here"
    while read -r name; do
        [ ! -d "$data/$folder/$name" ] || echo "$name" >>"$tmp/here"
    done <"$tmp/known"
    for name in $(comm -13 "$tmp/here" "$tmp/failed"); do
        fail "$what: $(grep "^$name: " "$tmp/out")"
    done
    for name in $(comm -23 "$tmp/here" "$tmp/failed"); do
        fail "$what: $name is in tests/onnx_known.list and does not fail; take it out"
    done
    claim "$what: nothing crashes" sh -c '! grep ": failed: crashed" "$1"' sh "$tmp/out"
}

for placement in "--backend naive" ""; do
    # shellcheck disable=SC2086 # two words or none
    {
        models node 928 $placement
        models simple 23 $placement
        models pytorch-converted 82 $placement
        models pytorch-operator 35 $placement
    }
done
finish
