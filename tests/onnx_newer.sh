# SPDX-License-Identifier: Apache-2.0
# Ops newer than libonnx-testdata, classic models and linear systems give the values that
# tests/data/ops/README names the source of, on naive alone and where tfrun places them.
. "$TFR_SRCDIR/tests/lib.sh"
for archive in newer coarse classic image tfrun; do
    mkdir "$tmp/$archive" || exit 99
    gzip -dc "$TFR_SRCDIR/tests/data/ops/$archive.tar.gz" | (cd "$tmp/$archive" && tar -xf -) ||
        exit 99
done

# verified TEXT ARCHIVE OPTION...: all of the archive's cases pass.
verified() {
    text=$1 archive=$2
    shift 2
    cases=$(find "$tmp/$archive" -name model.onnx | wc -l)
    exits 0 "$text pass" "$TFRUN" verify "$tmp/$archive" --atol 1e-6 "$@"
    grep -v ': passed$' "$tmp/out" | sed 's/^/  /'
    has "and there are $cases" "$tmp/out" "^$cases passed, 0 failed, 0 skipped\$"
}
verified "newer ops on naive" newer --backend naive
verified "newer ops where tfrun places them" newer
verified "bfloat16 on naive" coarse --rtol 1e-2 --backend naive
verified "bfloat16 where tfrun places it" coarse --rtol 1e-2
verified "classic models" classic
verified "linear systems" tfrun
# What the plugin image opens may be missing on a machine without the packages.
"$TFRUN" verify "$tmp/image" >"$tmp/images"
if grep 'needs a library that does not load' "$tmp/images"; then
    skip "all formats of ImageDecoder: a library is missing"
else
    verified "images" image
fi
model=$tmp/image/test_image_decoder_decode_png_rgb/model.onnx
"$TFRUN" optimize "$model" "$tmp/saved.onnx" >"$tmp/out" || exit 99
TFRUN_DISABLE=image "$TFRUN" inspect "$tmp/saved.onnx" >"$tmp/out" 2>&1
has "a saved model has ONNX's op" "$tmp/out" 'ImageDecoder is an op of the plugin image, which no runtime'
TFRUN_DISABLE=image exits 77 "without the plugin they are skipped" "$TFRUN" verify "$tmp/image"
has "for the reason" "$tmp/out" 'ImageDecoder is an op of the plugin image, which no runtime'
finish
