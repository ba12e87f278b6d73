# SPDX-License-Identifier: Apache-2.0
# Ops newer than libonnx-testdata, classic models and linear systems give the values that
# tests/data/ops/README names the source of, on naive alone and where tfrun places them.
. "$TFR_SRCDIR/tests/lib.sh"
for archive in newer coarse classic tfrun; do
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
finish
