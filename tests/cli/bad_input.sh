# SPDX-License-Identifier: Apache-2.0
# Bad input gets one clear sentence on standard error, its exit status, and nothing half-written.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
cd "$tmp" || exit 99
mkdir good
model_of Relu 3 >good/relu.onnx
float32_npy 3 "$floats" >good/x.npy
float32_pb 3 "$floats" >good/x.pb

# refuses STATUS TEXT PATTERN WORD...: the run ends so, with one line that matches.
refuses() {
    status=$1 text=$2 pattern=$3
    shift 3
    exits "$status" "$text" "$TFRUN" -q run "$@"
    has "$text: the sentence" err "$pattern"
    claim "$text: one line" test "$(wc -l <err)" = 1
    claim "$text: nothing on standard output" test ! -s out
}

# ---- models ----
head -c 40 good/relu.onnx >cut.onnx
refuses 5 "a truncated model" '^tfrun: cut.onnx: ' cut.onnx
echo "this is no model" >text.onnx
refuses 5 "not a model" '^tfrun: text.onnx: ' text.onnx
: >empty.onnx
refuses 5 "an empty file" '^tfrun: empty.onnx: ' empty.onnx
model_of Rleu 3 >unknown.onnx
refuses 5 "an unknown op" '^tfrun: unknown.onnx: .*op "Rleu"' unknown.onnx
refuses 7 "a model that is not there" '^tfrun: none.onnx: .*No such file' none.onnx
refuses 7 "a model that is a folder" '^tfrun: good/model.onnx: ' good
keep field 1 node Relu n1 nothing y; nodes=$kept
keep field 12 value_info y 1 3; outputs=$kept
model "$nodes" "" "$outputs" >missing.onnx
refuses 5 "a value that nobody makes" 'missing.onnx: .*"nothing"' missing.onnx
keep field 1 node Relu n1 y y2; nodes=$kept
keep field 1 node Relu n2 y2 y; nodes=$nodes$kept
model "$nodes" "" "$outputs" >cycle.onnx
refuses 5 "a cycle" '^tfrun: cycle.onnx: .*' cycle.onnx
keep field 1 node Relu n1 x y; nodes=$kept
keep field 1 node Relu n2 x y; nodes=$nodes$kept
keep field 11 value_info x 1 3; inputs=$kept
model "$nodes" "$inputs" "$outputs" >twice.onnx
refuses 5 "a value that is made twice" '^tfrun: twice.onnx: .*y' twice.onnx
keep field 11 value_info x 1 4611686018427387904 4; inputs=$kept
keep field 1 node Relu n1 x y; nodes=$kept
model "$nodes" "$inputs" "$outputs" >huge.onnx
refuses 5 "overflowing dims" '4611686018427387904' huge.onnx --random-inputs 1
keep field 11 value_info x 1 1099511627776 64; inputs=$kept
model "$nodes" "$inputs" "$outputs" >large.onnx
if [ -n "$TFR_SANITIZE" ]; then
    skip "a sanitizer ends the process when memory is short"
else
    refuses 6 "more memory than there is" '^tfrun: ' large.onnx --random-inputs 1
fi

# ---- inputs ----
run="good/relu.onnx"
refuses 5 "a wrong input name" 'the model has no input "z"; inputs are x$' $run --input z=good/x.npy
model_of Relu 3 | sed 's/x/X/g' >upper.onnx
refuses 5 "a name that is nearly right" 'no input "x", did you mean "X"? inputs are X$' \
    upper.onnx --input x=good/x.npy
refuses 5 "an input given twice" 'input "x" is given twice' $run -i x=good/x.npy -i x=good/x.pb
float32_npy 4 "$floats\\000\\000\\000\\000" >four.npy
refuses 5 "a wrong shape" 'input "x" has shape \[4\], the graph wants float32\[3\]' $run -i four.npy
sed 's/<f4/<i4/' good/x.npy >int.npy
refuses 5 "a wrong type" 'int.npy has int32, and input "x" is float32; give --cast-inputs' $run -i int.npy
head -c 130 good/x.npy >cut.npy
refuses 5 "a truncated .npy" '^tfrun: cut.npy: ' $run -i cut.npy
head -c 12 good/x.pb >cut.pb
refuses 5 "a truncated .pb" '^tfrun: cut.pb: ' $run -i cut.pb
refuses 5 "a file of another kind" 'text.onnx: tensors are kept in .npy and .pb files' \
    $run -i text.onnx
refuses 7 "an input that is not there" '^tfrun: none.npy: .*No such file' $run -i none.npy
if [ "$(id -u)" = 0 ]; then
    skip "root may read every file"
else
    cp good/x.npy secret.npy
    chmod 000 secret.npy
    refuses 7 "an input that may not be read" '^tfrun: secret.npy: .*Permission denied' \
        $run -i secret.npy
fi

# ---- outputs ----
run="good/relu.onnx -i good/x.npy"
# shellcheck disable=SC2086 # lists of words from here on
refuses 5 "a wrong output name" 'the model has no output "z"; outputs are y$' $run -o z=y.npy
refuses 5 "an output of no known format" 'y.txt: tensors are kept in' $run -o y.txt
refuses 7 "an output in no folder" '^tfrun: none/y.npy cannot be written: No such file' \
    $run -o none/y.npy
mkdir folder.npy
refuses 7 "an output that is a folder" 'folder.npy cannot be written: it is a folder' \
    $run -o folder.npy
refuses 5 "two outputs in one file" 'outputs "y" and "y" go to one file, y.npy' \
    $run -o y=y.npy -o y=y.npy
refuses 5 "two spellings of one file" 'go to one file, ./y.npy; give each its own' \
    $run -o y=y.npy -o y=./y.npy
ln -s y.npy link.npy
refuses 5 "a link to where another output goes" 'go to one file, link.npy' \
    $run -o y=y.npy -o y=link.npy
rm link.npy
cp good/relu.onnx model.npy
refuses 5 "an output over its model" 'output "y" would replace the model, ./model.npy' \
    model.npy -i good/x.npy -o y=./model.npy
refuses 7 "one of two outputs cannot be written" 'none/y.npy cannot be written' \
    $run -o y=y.npy -o y=none/y.npy
claim "then the other is not written" test ! -e y.npy
echo before >y.npy
sed 's/(3,)/(2,)/' good/x.npy | head -c 136 >short.npy
refuses 5 "a run that fails" 'input "x" has shape \[2\]' good/relu.onnx -i short.npy -o y.npy
claim "leaves the old file alone" test "$(cat y.npy)" = before
claim "no temporary file is left" test -z "$(find . -name '.tfrun*')"

# ---- as JSON ----
exits 5 "errors are objects, too" "$TFRUN" -q run cut.onnx --json
has "with the code" out '"code": "TFR_EMODEL"'
has "and the exit status" out '"exit": 5'
# A name in a model cannot drive the terminal.
model_of "$(printf 'A\033[2JB')" 3 >escape.onnx
refuses 5 "an op with an escape sequence in its name" 'escape.onnx: ' escape.onnx
claim "its escape byte is not printed" sh -c '! grep -q "$(printf "\033")" err'
finish
