# SPDX-License-Identifier: Apache-2.0
# Ops of com.microsoft give what ONNX Runtime computed of them (tests/data/ops/README), and the table
# of docs/com-microsoft.md tells which there are.
. "$TFR_SRCDIR/tests/lib.sh"
mkdir "$tmp/cases" "$tmp/lstm" "$tmp/half" || exit 99
gzip -dc "$TFR_SRCDIR/tests/data/ops/microsoft.tar.gz" | (cd "$tmp/cases" && tar -xf -) || exit 99
# ONNX Runtime rounds its inputs and states to 8 bits.
mv "$tmp/cases"/DynamicQuantizeLSTM_* "$tmp/lstm" || exit 99
# The reference rounds to float16 behind each node.
mv "$tmp/cases"/*_f16 "$tmp/half" || exit 99

# verified TEXT FOLDER OPTION...: all cases pass.
verified() {
    text=$1 folder=$tmp/$2
    shift 2
    cases=$(find "$folder" -name model.onnx | wc -l)
    exits 0 "$text" "$TFRUN" verify "$folder" "$@"
    grep -v ': passed$' "$tmp/out" | sed 's/^/  /'
    has "and there are $cases" "$tmp/out" "^$cases passed, 0 failed, 0 skipped\$"
}
verified "ops of com.microsoft pass where tfrun places them" cases --atol 1e-5
verified "a dynamically quantized LSTM is near" lstm --atol 2e-2
verified "those of float16 pass" half --atol 1e-3
TFRUN_DISABLE="native onednn"
export TFRUN_DISABLE
verified "ops of com.microsoft pass on the reference" cases --atol 1e-5
verified "those of float16 pass there" half --atol 1e-3
unset TFRUN_DISABLE

"$TFRUN" ops --json >"$tmp/ops" || exit 99
awk -F'"' '$2 == "name" { name = $4 } $2 == "domain" && $4 == "com.microsoft" { print name }' \
    "$tmp/ops" | sort >"$tmp/have"
sed -n '/^## /q; s/^| \([A-Z][A-Za-z0-9]*\) |.*/\1/p' "$TFR_SRCDIR/docs/com-microsoft.md" |
    sort >"$tmp/told"
claim "docs/com-microsoft.md has the ops of the plugin" diff "$tmp/have" "$tmp/told"
ls "$tmp/cases" "$tmp/lstm" "$tmp/half" | sed -n 's/_.*//p' | sort -u >"$tmp/seen"
# Nothing computes FusedMatMulActivation on a CPU but tfrun.
claim "each has a case" test "$(comm -23 "$tmp/have" "$tmp/seen" | tr '\n' ' ')" = \
    "FusedMatMulActivation "


mkdir "$tmp/refused" || exit 99
gzip -dc "$TFR_SRCDIR/tests/data/ops/microsoft_refused.tar.gz" |
    (cd "$tmp/refused" && tar -xf -) || exit 99
for folder in "$tmp/refused"/*; do
    "$TFRUN" run "$folder/model.onnx" --random-inputs 1 >"$tmp/out" 2>"$tmp/err" </dev/null
    claim "${folder##*/} is an error of the model" test $? -gt 0 -a $? -lt 8
    has "and says why" "$tmp/err" "$(cat "$folder/says")"
done
finish
