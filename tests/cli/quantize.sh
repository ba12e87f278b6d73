# SPDX-License-Identifier: Apache-2.0
# tfrun quantize: writes smaller models, tells how good they are, and never harms what is there.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
cd "$tmp" || exit 99

"$TFRUN" train mnist-cnn --data 'synthetic?train=400&test=100' --epochs 1 --quiet \
    --export cnn.onnx >/dev/null 2>&1
claim "there is a network" test -s cnn.onnx
cp cnn.onnx before.onnx

# Samples are what a model that does nothing makes of made-up inputs: two folders, and an image.
model_of Identity "8 1 28 28" >same.onnx
for i in 0 1 2; do
    mkdir -p "samples/test_data_set_$i"
    "$TFRUN" run same.onnx --random-inputs $i --output "samples/test_data_set_$i/input_0.npy" \
        >/dev/null
done
mkdir plain empty
cp samples/test_data_set_0/input_0.npy plain/first.npy
cp samples/test_data_set_1/input_0.npy plain/second.npy

# ---- the forms ----
exits 0 "weights become int8" "$TFRUN" quantize cnn.onnx int8.onnx
has "which is told" out '^form  *weights int8, a scale a channel$'
has "with the nodes" out '^nodes  *[0-9]* quantized, 0 left, '
has "the size" out '^size  *.* -> .* ([34]\.[0-9]*x)$'
has "and how good it is" out ' dB  *0\.999'
claim "nothing is on standard error" test ! -s err
exits 0 "with samples activations, too" "$TFRUN" quantize cnn.onnx qdq.onnx --calibrate samples
has "which is told" out 'activations int8, ranges by minmax$'
has "with the samples" out '^samples  *3 of samples$'
has "the nodes that are merged" out ' merged, 0 left'
has "and that the classes are the same" out ' 2[0-9] of 24$'
exits 0 "fewer samples" "$TFRUN" quantize cnn.onnx out.onnx --calibrate samples --samples 2 \
    --activations uint8 --ranges mse --reduce-range --per-tensor
has "are told" out '^samples  *2 of samples$'
has "with what was asked for" out 'one scale; activations uint8, ranges by mse$'
exits 0 "files are samples of a model with one input" \
    "$TFRUN" quantize cnn.onnx out.onnx --calibrate plain
has "each one" out '^samples  *2 of plain$'
exits 0 "a folder with input_0 is one sample" \
    "$TFRUN" quantize cnn.onnx out.onnx --calibrate samples/test_data_set_1
has "it alone" out '^samples  *1 of '
exits 0 "without samples activations become integers in each run" \
    "$TFRUN" quantize cnn.onnx dynamic.onnx --dynamic
has "which is told" out '; activations uint8 in each run$'
exits 0 "weights become int4" "$TFRUN" quantize cnn.onnx int4.onnx --weights int4 --block-size 16
has "in blocks" out '^form  *weights int4, blocks of 16$'
exits 0 "or uint4" "$TFRUN" quantize cnn.onnx out.onnx --weights int4 --asymmetric
has "with zero points" out '^form  *weights uint4, blocks of 32$'
exits 0 "or float16" "$TFRUN" quantize cnn.onnx f16.onnx --weights f16
has "half the size" out '(\(2\.0\|1\.9\)[0-9]*x)$'
exits 0 "whose inputs may be that, too" "$TFRUN" quantize cnn.onnx io.onnx --weights f16 --io f16
exits 0 "as the model says" "$TFRUN" inspect io.onnx
has "it is float16" out 'float16'
for form in int8 qdq dynamic int4 f16 io; do
    exits 0 "the $form model runs" "$TFRUN" run $form.onnx --random-inputs 1
done
claim "the model is as it was" cmp cnn.onnx before.onnx
exits 0 "the same again" "$TFRUN" quantize cnn.onnx again.onnx --no-check
claim "is the same byte for byte" cmp int8.onnx again.onnx
has "without a check there is no accuracy" out '^size'
claim "none at all" sh -c '! grep -q SQNR out'

# ---- which nodes ----
exits 0 "nodes are listed" "$TFRUN" quantize cnn.onnx out.onnx --verbose --exclude Conv
has "those that are quantized" out ' Gemm  *quantized  *weights int8, a scale a channel'
has "those that are not" out ' Conv  *left  *its name or op was left out'
has "and counted with the reason" out ' left: its name or op was left out$'
exits 0 "nodes are chosen" "$TFRUN" quantize cnn.onnx out.onnx --nodes 'C*v' --json
has "in JSON, too" out '"schema": "tfrun.quantize/1"'
has "with the sizes" out '"bytes_before": [0-9]'
has "the accuracy" out '"sqnr_db": [0-9]'
has "the nodes" out '"result": "quantized"'
has "and the reasons" out '"reason": "its name or op was left out"'

# ---- what is wrong ----
keep field 1 node Add s "a b" y; nodes=$kept
keep field 11 value_info a 1 n; inputs=$kept
keep field 11 value_info b 1 3; inputs=$inputs$kept
keep field 12 value_info y 1 3; outputs=$kept
model "$nodes" "$inputs" "$outputs" >open.onnx
exits 5 "made-up inputs that do not fit" \
    "$TFRUN" quantize open.onnx out.onnx --weights f16 --shape a=2
has "are told with what to do" err 'inputs are made up, give --calibrate, --input or --dim, or'
exits 0 "as it says" "$TFRUN" quantize open.onnx out.onnx --weights f16 --no-check
printf old >old.onnx
exits 5 "the model is not written over" "$TFRUN" quantize cnn.onnx cnn.onnx
has "which is told" err 'cnn.onnx is the model itself'
ln -s cnn.onnx link.onnx
exits 5 "nor through a link" "$TFRUN" quantize cnn.onnx link.onnx
claim "it is as it was" cmp cnn.onnx before.onnx
exits 1 "a model without weights" "$TFRUN" quantize same.onnx old.onnx
has "has nothing to quantize" err 'same.onnx has nothing to quantize in this form'
exits 7 "samples that are not there" "$TFRUN" quantize cnn.onnx old.onnx --calibrate none
has "are told" err 'the folder none of samples cannot be read'
exits 5 "a folder without samples" "$TFRUN" quantize cnn.onnx old.onnx --calibrate empty
has "is told with what it wants" err 'empty has no samples; give it folders with input_0.npy'
mkdir broken
printf 'no array' >broken/one.npy
exits 5 "a broken sample" "$TFRUN" quantize cnn.onnx old.onnx --calibrate broken
has "is told with its name" err 'broken/one.npy'
model_of Identity "8 1 28 27" >wrong.onnx
mkdir wrong
"$TFRUN" run wrong.onnx --random-inputs 1 --output wrong/one.npy >/dev/null
exits 5 "a sample of another shape" "$TFRUN" quantize cnn.onnx old.onnx --calibrate wrong
has "is told with both" err 'has shape \[8,1,28,27\], the graph wants'
exits 7 "a model that is not there" "$TFRUN" quantize none.onnx old.onnx
exits 5 "a file that is no model" "$TFRUN" quantize broken/one.npy old.onnx
exits 5 "a block that is no power of two" \
    "$TFRUN" quantize cnn.onnx old.onnx --weights int4 --block-size 48
has "is told" err 'block-size takes a power of two, not 48'
claim "the old file is there after all of them" test "$(cat old.onnx)" = old
exits 7 "a folder that is not there" "$TFRUN" quantize cnn.onnx no/such/out.onnx
has "is told" err 'no/such/out.onnx cannot be written'
exits 2 "ranges want samples" "$TFRUN" quantize cnn.onnx old.onnx --ranges mse
has "which is told" err 'for --weights int8 with --calibrate'
exits 2 "dynamic is without samples" \
    "$TFRUN" quantize cnn.onnx old.onnx --dynamic --calibrate samples
exits 2 "blocks want int4" "$TFRUN" quantize cnn.onnx old.onnx --block-size 32
exits 2 "float16 inputs want f16" "$TFRUN" quantize cnn.onnx old.onnx --io f16
exits 2 "7 bits want int8" "$TFRUN" quantize cnn.onnx old.onnx --weights f16 --reduce-range
exits 2 "tables are for integers" "$TFRUN" quantize cnn.onnx old.onnx --weights f16 --tables
exits 2 "a number of samples wants samples" "$TFRUN" quantize cnn.onnx old.onnx --samples 3
exits 2 "an unknown form" "$TFRUN" quantize cnn.onnx old.onnx --weights int2
finish
