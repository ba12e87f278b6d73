# SPDX-License-Identifier: Apache-2.0
# What inputs may be: sizes of open dims by name, and values that are made up.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
mkdir "$tmp/plugins"
cp "$TFR_BUILDDIR/.libs/tfrun-naive.so" "$tmp/plugins"
TFRUN_PLUGIN_PATH=$tmp/plugins
cd "$tmp" || exit 99

# one OP TYPE DIM...: a model y = OP(x); a word that is no number is the name of a dim.
one() {
    op=$1 type=$2
    shift 2
    keep field 1 node "$op" n1 x y; nodes=$kept
    keep field 11 value_info x "$type" "$@"; inputs=$kept
    keep field 12 value_info y "$type" "$@"; outputs=$kept
    model "$nodes" "$inputs" "$outputs"
}

# --dim
one Relu 1 batch tokens 3 >named.onnx
exits 0 "dims are fixed by their names" \
    "$TFRUN" run named.onnx --random-inputs 1 --dim batch=2 --dim tokens=5
has "in what is made up" out 'float32\[2,5,3\]'
exits 0 "inspect shows dims that are fixed" "$TFRUN" inspect named.onnx --dim batch=2
has "beside those that are not" out '^output  *y: float32\[2,tokens,3\]$'
exits 5 "a name that the model has not" "$TFRUN" run named.onnx --random-inputs 1 --dim bach=2
has "is answered with the nearest" err \
    '^tfrun: --dim bach=2: the model names no dim of its inputs "bach", did you mean "batch"? dims are batch, tokens$'
exits 5 "a dim without a number" "$TFRUN" inspect named.onnx --dim batch
has "is answered with how to write it" err '--dim batch is not NAME=N, write it like batch=4$'
exits 5 "a dim that is given twice" "$TFRUN" inspect named.onnx --dim batch=1 --dim batch=2
has "is named with both sizes" err '--dim batch=1 and --dim batch=2 name the same dim$'
exits 5 "a dim that a shape contradicts" \
    "$TFRUN" run named.onnx --random-inputs 1 --dim batch=2 --shape x=1,5,3

# Sizes by name.
exits 0 "open dims are what their names suggest" "$TFRUN" run named.onnx --random-inputs 1
has "one sample of 128 tokens" out 'float32\[1,128,3\]'
one Relu 1 n 3 height width >image.onnx
exits 0 "sides of images" "$TFRUN" run image.onnx --random-inputs 1
has "are 224" out 'float32\[1,3,224,224\]'
one Relu 1 batch "past + seq" >sum.onnx
exits 0 "a sum of names" "$TFRUN" run sum.onnx --random-inputs 1
has "is the sum of their sizes" out 'float32\[1,144\]'

# Integers.
keep field 1 node Gather n1 "table ids" y; nodes=$kept
keep field 11 value_info table 1 1000 2; inputs=$kept
keep field 11 value_info ids 7 n 64; inputs=$inputs$kept
keep field 12 value_info y 1 n 64 2; outputs=$kept
keep field 1 node Identity n2 ids same; nodes=$nodes$kept
keep field 12 value_info same 7 n 64; outputs=$outputs$kept
model "$nodes" "$inputs" "$outputs" >gather.onnx
exits 0 "indices are within what they index" "$TFRUN" run gather.onnx --random-inputs 1 --json
claim "and some are large" awk '/"same"/ { s = 1 }
    s && /^ *[0-9]+,?$/ && $1 + 0 >= 100 { found = 1 } END { exit !found }' out
keep field 1 node Identity n1 attention_mask y; nodes=$kept
keep field 11 value_info attention_mask 7 n 4; inputs=$kept
keep field 12 value_info y 7 n 4; outputs=$kept
model "$nodes" "$inputs" "$outputs" >mask.onnx
exits 0 "a mask is made up" "$TFRUN" run mask.onnx --random-inputs 1
has "of ones" out ' 1, 1, 1, 1$'

# Files.
one Relu 1 n 3 >rows.onnx
printf 'a,b,c\n-1,2,3\n4,-5,6\n' >x.csv
exits 0 "an input from a .csv file" "$TFRUN" run rows.onnx -i x.csv
has "has a row a line, without the titles" out 'float32\[2,3\]  *0, 2, 3, 4, 0, 6$'
printf '1 2 3\n4 5' >x.txt
exits 5 "numbers that make no such shape" "$TFRUN" run rows.onnx -i x.txt
has "are counted" err 'x.txt has 5 numbers in 2 lines, which make no float32\[?,3\] of input "x"'
printf '1,2,3\n4,5\n' >x.csv
exits 5 "a row that is shorter" "$TFRUN" run rows.onnx -i x.csv
has "is named" err 'x.csv: line 2 has 2 numbers, those before 3$'
printf '1,2,3\n4,5,six\n' >x.csv
exits 5 "what is no number" "$TFRUN" run rows.onnx -i x.csv
has "is shown" err 'x.csv: line 2: "six" is no number$'
one Identity 8 n >strings.onnx
printf 'two words\n\nlast' >x.txt
exits 0 "strings from a .txt file" "$TFRUN" run strings.onnx -i x.txt
has "are its lines" out 'string\[3\]  *"two words", "", "last"$'
one Identity 7 3 >integers.onnx
float32_npy 3 "$floats" >x.npy
exits 5 "another element type" "$TFRUN" run integers.onnx -i x.npy
has "is an error that names the option" err \
    '^tfrun: x.npy has float32, and input "x" is int64; give --cast-inputs to convert it$'
exits 0 "with the option" "$TFRUN" run integers.onnx -i x.npy --cast-inputs
has "it is converted" out 'int64\[3\]  *-1, 0, 2$'

# Archives, which the shell cannot make.
keep field 1 node Add n1 "x z" y; nodes=$kept
keep field 11 value_info x 1 3; inputs=$kept
keep field 11 value_info z 1 3; inputs=$inputs$kept
keep field 12 value_info y 1 3; outputs=$kept
model "$nodes" "$inputs" "$outputs" >sum.onnx
if command -v python3 >/dev/null 2>&1; then
    python3 -c 'import zipfile
x = open("x.npy", "rb").read()
with zipfile.ZipFile("both.npz", "w") as z: z.writestr("x.npy", x), z.writestr("z.npy", x)
with zipfile.ZipFile("z.npz", "w", zipfile.ZIP_DEFLATED) as z: z.writestr("z.npy", x)'
    exits 0 "an archive has values of all inputs" "$TFRUN" run sum.onnx -i both.npz
    has "by their names" out 'float32\[3\]  *-2, 0, 4$'
    exits 0 "an archive has some of them" "$TFRUN" run sum.onnx -i x=x.npy -i z.npz
    has "and the others come from elsewhere" out 'float32\[3\]  *-2, 0, 4$'
    exits 5 "an input that an archive lacks" "$TFRUN" run sum.onnx -i z.npz
    has "has no value" err 'no value for "x" (float32\[3\]); give --input'
    exits 3 "an array that is asked for by name" "$TFRUN" run sum.onnx -i x=z.npz -i z=x.npy
    has "is answered with those there are" err 'z.npz: it has no member "x.npy", but "z.npy"'
else
    skip "there is no python3 to make an archive"
fi

# What is said.
exits 0 "a run" "$TFRUN" run named.onnx --random-inputs 1
claim "says nothing beside its result" test ! -s err
exits 0 "a run with -v" "$TFRUN" -v run named.onnx --random-inputs 1
has "tells of plugins" err '^tfrun: loader: loaded plugin naive'
exits 0 "--threads 0 is all, whatever the environment says" \
    env TFRUN_THREADS=1 "$TFRUN" devices --threads 0 --json
grep '"threads"' out >all
exits 0 "as without either" "$TFRUN" devices --json
grep '"threads"' out >usual
claim "the devices have as many" cmp all usual

# Images: 2 x 1, red and grey.
printf 'P6 2 1 255\n\377\000\000\100\100\100' >two.ppm
one Relu 1 1 3 h w >first.onnx
exits 0 "an image is an input" "$TFRUN" run first.onnx -i two.ppm
has "its channels come first, open dims are its own" out \
    '^y  *float32\[1,3,1,2\]  *1, 0.2509804, 0, 0.2509804, 0, 0.2509804$'
exits 0 "it is normalized" "$TFRUN" run first.onnx -i two.ppm --image-mean 1,0,0 --image-std 0.5
has "by mean and standard deviation" out '0, 0, 0, 0.5019608, 0, 0.5019608$'
one Relu 1 1 2 3 3 >last.onnx
exits 0 "channels may come last" "$TFRUN" run last.onnx -i two.ppm
has "and the image is resized" out \
    '^y  *float32\[1,2,3,3\]  *1, 0, 0, 0.6254902, 0.1254902, 0.1254902, \.\.\.$'
one Relu 1 3 h w >plain.onnx
exits 0 "a batch is not needed" "$TFRUN" run plain.onnx -i two.ppm
one Relu 1 1 3 1 3 >either.onnx
exits 0 "--layout decides where dims say nothing" \
    "$TFRUN" run either.onnx -i two.ppm --layout nhwc
has "as it says" out '^y  *float32\[1,3,1,3\]'
one Relu 1 1 1 h w >grey.onnx
exits 0 "one channel is grey" "$TFRUN" run grey.onnx -i two.ppm
has "of all colours" out '^y  *float32\[1,1,1,2\]  *0.299, 0.2509804$'
one Identity 2 1 h w 3 >bytes.onnx
exits 0 "bytes stay bytes" "$TFRUN" run bytes.onnx -i two.ppm
has "as they are" out '^y  *uint8\[1,1,2,3\]  *255, 0, 0, 64, 64, 64$'
one Relu 1 3 4 >flat.onnx
exits 5 "a matrix takes no image" "$TFRUN" run flat.onnx -i two.ppm
has "and it is said what does" err 'input "x" is float32\[3,4\]; an image goes into \[1,C,H,W\] or'
exits 5 "a mean of two channels" "$TFRUN" run first.onnx -i two.ppm --image-mean 1,2
has "is answered with how to write it" err \
    '--image-mean 1,2 is neither one number nor three, write it like 0.485,0.456,0.406$'
exits 5 "a deviation of 0" "$TFRUN" run first.onnx -i two.ppm --image-std 0
head -c 12 two.ppm >cut.ppm
exits 5 "a damaged image" "$TFRUN" run first.onnx -i cut.ppm
has "is named" err '^tfrun: cut.ppm: the PNM image ends in row 0 of 1$'
finish
