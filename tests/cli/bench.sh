# SPDX-License-Identifier: Apache-2.0
# tfrun bench: the reports have all fields, peers that are missing are said, usage is checked. No
# time is compared with anything here: machines that test are not quiet.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
cd "$tmp" || exit 99
model_of Relu "n 3" >open.onnx

# json FILE: it is valid, if there is something to say so.
json() { ! command -v python3 >/dev/null 2>&1 || python3 -m json.tool "$1" >/dev/null; }

exits 0 "dispatch measures empty kernels" "$TFRUN" bench dispatch --size 1,20 --pairs 2 --peers none
has "a bound run" out '^20 nodes  tfr_binding_run  '
has "a session's run" out '^20 nodes  tfr_session_run  .*  [0-9.]*  *[0-9.]*-[0-9.]*  '
has "the cost of a node" out '^tfr_binding_run, a node [0-9.e-]* ns$'
exits 0 "dispatch prints JSON" "$TFRUN" bench dispatch --size 1,20 --pairs 2 --peers none --json
claim "it is valid" json out
for field in '"schema": "tfrun.bench/1"' '"bench": "dispatch"' '"cpu": ".' '"threads": 1' \
    '"load_before": ' '"p10": ' '"p90": ' '"min": ' '"max": ' '"binding_ns_per_node": ' '"case": "20 nodes"'; do
    has "with $field" out "$field"
done

exits 0 "matmul measures and draws" \
    "$TFRUN" bench matmul --size 24,40 --pairs 2 --peers naive --svg plot.svg
has "tfrun, with rate, share of the roof and error" out \
    '^40 x 40  tfrun  .* [0-9]*%  *[0-9.]*e-0[5-9] '
has "plain loops" out '^40 x 40  plain loops '
has "the roof" out 'GFLOP/s of float32 multiply-adds'
has "the plot is SVG" plot.svg '^<svg xmlns="http://www.w3.org/2000/svg"'
has "with the sizes" plot.svg '>40</text>'
has "with the names" plot.svg '>tfrun</text>'
claim "and well formed" sh -c '! command -v python3 >/dev/null 2>&1 ||
    python3 -c "import xml.dom.minidom as m; m.parse(\"plot.svg\")"'
exits 0 "matmul on a device that is no processor" "$TFRUN" bench matmul --size 24 --pairs 1 \
    --peers none --plugin "$TFR_BUILDDIR/tests/fakeacc/.libs/fakeacc.so" --device NPU:0
has "has no share of the processor's roof" out '^24 x 24  tfrun  .* -  *-  *[0-9.]*  *-  *[0-9.]*e-'
exits 0 "matmul measures constants" \
    "$TFRUN" bench matmul --size 24 --pairs 1 --peers none --constant --json
claim "as valid JSON" json out
for field in '"flops_per_second": ' '"roof_share": ' '"error": ' '"kernel": "'; do
    has "with $field" out "$field"
done
for peer in onednn openblas onnxruntime; do
    exits 0 "matmul without $peer" "$TFRUN" bench matmul --size 24 --pairs 1 --peers $peer \
        --library $peer=no_such_library.so
    has "says so" out "^skipped: $peer: no_such_library.so: cannot open"
done
exits 0 "matmul without Python" env PATH=/no_such_folder "$TFRUN" bench matmul --size 24 \
    --pairs 1 --peers numpy
has "says so, too" out '^skipped: numpy: python3 does not start: No such file'
exits 7 "a plot that cannot be written is an error" \
    "$TFRUN" bench matmul --size 24 --pairs 1 --peers none --svg no_such_folder/plot.svg

exits 0 "startup starts processes" "$TFRUN" bench startup --size 16 --pairs 1 --peers none
has "ours" out '^start to 16 x 16  tfrun  *[0-9.]* m\{0,1\}s '
has "and one that does nothing" out '^start to 16 x 16  nothing '
exits 0 "memory asks them for their peak" \
    "$TFRUN" bench memory --size 16 --pairs 1 --peers onednn --library onednn=no_such_library.so --json
claim "as valid JSON" json out
has "in bytes" out '"peak_rss_bytes": [1-9][0-9]*'
has "a child's reason arrives" out '"reason": "no_such_library.so: cannot open'

exits 0 "model measures a model" "$TFRUN" bench model open.onnx --batch 1,4 --pairs 2 --peers none
has "for each batch" out '^open.onnx, batch 4  tfrun  '
has "with plan and arena" out '^open.onnx, batch 4: .*plan .* arena .* lower bound '
model_of Relu 3 >fixed.onnx
float32_npy 3 "$floats" >x.npy
exits 0 "model takes an input from a file" \
    "$TFRUN" bench model fixed.onnx --pairs 1 --peers none -i x.npy
exits 7 "and reads it" "$TFRUN" bench model fixed.onnx --pairs 1 --peers none -i none.txt
exits 0 "a peer whose library is missing is no error" \
    "$TFRUN" bench model open.onnx --pairs 1 --library onnxruntime=no_such_library.so
has "but a line that says why" out '^skipped: onnxruntime: no_such_library.so: cannot open'
exits 0 "in JSON, too" \
    "$TFRUN" bench model open.onnx --pairs 1 --library onnxruntime=no_such_library.so --json
has "as who and reason" out '"who": "onnxruntime"'
exits 0 "model prints CSV" "$TFRUN" bench model open.onnx --pairs 1 --peers none --csv
claim "each line has as many fields as the titles" \
    awk -F '","|",|,"|,' 'NR == 1 { n = NF } NF != n { exit 1 } END { exit NR != 2 }' out

# field: folders as ONNX has its test data.
mkdir -p field/good/test_data_set_0 field/bad
cp open.onnx field/good/model.onnx
echo nothing >field/bad/model.onnx
{ number 1 2; number 1 3; number 2 1; byte 74 24; printf '%024d' 0; } >field/good/test_data_set_0/input_0.pb
exits 0 "a folder is a model with its test data" "$TFRUN" run field/good -o y.npy
exits 0 "model takes a folder, too" "$TFRUN" bench model field/good --pairs 1 --peers none
exits 0 "field measures the models of a folder" "$TFRUN" bench field field --pairs 1 --peers none
has "each is a line when it is done" out '^good  *tfrun [0-9.]* '
has "and a row" out '^good  *[0-9.]* [mun]*s  *-  *-  *-  *-  *-  *[0-9.]* [mun]*s$'
has "what cannot be measured is said" out '^skipped: bad: field/bad/model.onnx: '
exits 0 "field prints JSON" "$TFRUN" bench field field --pairs 1 --peers none --json
claim "it is valid" json out
has "with the model" out '"case": "good"'
has "and what was left out" out '"who": "bad"'
segv=$TFR_BUILDDIR/tests/fake/ctor_segv.so
if [ -z "$TFR_SANITIZE" ]; then
    exits 0 "field measures without a peer that crashes" "$TFRUN" bench field field/good \
        --pairs 1 --peers onnxruntime,openvino --library openvino="$segv" \
        --library onnxruntime=no_such_library.so
    has "gives our figures" out '^good  *[0-9.]* [mun]*s  *-  *-  *-  *-  *-  *[0-9.]* [mun]*s$'
    has "names the one that crashed" out '^skipped: good: openvino: crashed (signal 11, Seg'
    has "and says what became of the others" out \
        '^skipped: .*onnxruntime: no_such_library.so: cannot'
    got=0
    "$TFRUN" bench model field/good --pairs 1 --peers openvino --library openvino="$segv" \
        >out 2>err || got=$?
    claim "model crashes with it" test "$got" = 139
    has "and names it" err '^tfrun: openvino, .* crashed with SIGSEGV .*; leave it out of --peers$'
else
    skip "sanitizers tell of crashes in their own way"
fi
exits 0 "field gives options of plugins to its processes" "$TFRUN" bench field field/good \
    --pairs 1 --peers none --plugin "$TFR_BUILDDIR/tests/fakeacc/.libs/fakeacc.so" \
    --device NPU:0 --plugin-option fakeacc.lose_after=0
has "which are those that they compute with" out '^skipped: good: fakeacc:0 is lost at '
exits 0 "an option that its processes cannot be given" "$TFRUN" bench field field/good --pairs 1 \
    --peers none --plugin-option native.winograd="$(printf '%0200d' 0)"
has "is told for each model" out '^skipped: good: bench field passes 64 options on, 16 of them '
mkdir empty
exits 5 "a folder without models is an error" "$TFRUN" bench field empty
has "that says how to make some" err 'holds no model.onnx.*bench/field/get_models.py'
exits 2 "a field without a folder is one, too" "$TFRUN" bench field

exits 7 "a model that is not there is an error" "$TFRUN" bench model none.onnx

few="--data synthetic?train=120&test=20 --batch-size 8"
exits 0 "train measures a step" "$TFRUN" bench train $few --pairs 1 --peers none
has "with samples a second and the time of an epoch" out '^CASE .* SAMPLES/S  *EPOCH  GFLOP/S'
has "the peak of memory" out '^mnist-cnn, batch 8  tfrun  .* [0-9.]* MiB  '
has "and counts" out '^mnist-cnn, batch 8: nodes [0-9]*, launches a step [0-9]*, programs '
exits 0 "train runs whole epochs" "$TFRUN" bench train $few --epochs 1 --peers none --json
claim "as valid JSON" json out
for field in '"samples_per_second": ' '"epoch_seconds": ' '"accuracy": 0.'; do
    has "with $field" out "$field"
done
exits 0 "train with oneDNN" "$TFRUN" bench train $few --pairs 1 --peers onednn,onednn-split
if grep -q '^skipped: onednn: libdnnl' out; then
    skip "no oneDNN to compare gradients with"
else
    has "one list has our gradients" out '^mnist-cnn, batch 8  onednn  .* [0-9.]*e-0[5-9]  '
    has "and a list on each thread" out '^mnist-cnn, batch 8  onednn-split  .* [0-9.]*e-0[5-9]  '
fi
exits 0 "train without Python" env PATH=/no_such_folder "$TFRUN" bench train $few --pairs 1 \
    --peers torch
has "says so" out '^skipped: torch: python3 does not start: No such file'
exits 2 "a batch of too many" "$TFRUN" bench train --batch-size 5000
exits 3 "train on data that is not there" "$TFRUN" bench train --data no_such_folder --peers none

exits 2 "no benchmark of this name" "$TFRUN" bench speed
has "the names there are" err 'no benchmark "speed"; benchmarks are dispatch'
exits 2 "a model is missing" "$TFRUN" bench model
has "it says so" err 'bench: MODEL is missing'
exits 2 "a file for a benchmark without one" "$TFRUN" bench dispatch open.onnx
exits 2 "a size that is no number" "$TFRUN" bench dispatch --size 1,many
has "the limits" err '--size takes at most 32 numbers from 1 to 100000 .*, not "1,many"'
exits 2 "a batch of nothing" "$TFRUN" bench model open.onnx --batch 0
exits 2 "JSON and CSV at once" "$TFRUN" bench dispatch --json --csv

got=0
"$TFR_SRCDIR/bench/dispatch_instructions.sh" >counted 2>&1 || got=$?
cat counted
case $got in
77) skip "$(sed 's/^skipped: //' counted)" ;;
*) claim "a node costs at most 60 instructions" test "$got" = 0 ;;
esac
exits 3 "a device that is not there" "$TFRUN" bench startup --device nonsense:7
has "is told before anything is started" "$tmp/err" '^tfrun: there is no device.*"nonsense:7"'
finish
