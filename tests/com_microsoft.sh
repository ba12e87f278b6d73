# SPDX-License-Identifier: Apache-2.0
# Ops of com.microsoft give what ONNX Runtime computed of them (tests/data/ops/README).
. "$TFR_SRCDIR/tests/lib.sh"
gzip -dc "$TFR_SRCDIR/tests/data/ops/microsoft.tar.gz" | (cd "$tmp" && tar -xf -) || exit 99

# verified TEXT OPTION...: all cases pass.
verified() {
    text=$1
    shift
    cases=$(find "$tmp" -name model.onnx | wc -l)
    exits 0 "ops of com.microsoft pass $text" "$TFRUN" verify "$tmp" "$@"
    grep -v ': passed$' "$tmp/out" | sed 's/^/  /'
    has "and there are $cases" "$tmp/out" "^$cases passed, 0 failed, 0 skipped\$"
}
verified "where tfrun places them" --atol 1e-5
TFRUN_DISABLE="native onednn" verified "on the reference" --atol 1e-5
finish
