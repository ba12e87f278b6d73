# SPDX-License-Identifier: Apache-2.0
# tfrun run, explain, matmul and ops, on models of a few bytes.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
# naive is everywhere and the same everywhere.
mkdir "$tmp/plugins" "$tmp/out_dir"
cp "$TFR_BUILDDIR/.libs/tfrun-naive.so" "$tmp/plugins"
TFRUN_PLUGIN_PATH=$tmp/plugins
cd "$tmp" || exit 99

model_of Relu 3 >relu.onnx
model_of Relu "n 3" >open.onnx
float32_npy 3 "$floats" >x.npy
float32_pb 3 "$floats" >x.pb
float32_npy 3 "$floats_relu" >relu.npy

exits 0 "a model runs from .npy to .npy" \
    "$TFRUN" run relu.onnx --input x=x.npy --output y=out_dir/y.npy
has "it prints type, values and file" out '^y  *float32\[3\]  *0, 0, 2  *out_dir/y.npy$'
claim "the file has the values" cmp relu.npy out_dir/y.npy
claim "nothing else is in the folder" test "$(ls -A out_dir)" = y.npy
ln -s out_dir/linked.npy link.npy
exits 0 "an output goes through a link" "$TFRUN" run relu.onnx -i x.npy -o y=link.npy
claim "to what it leads to" cmp relu.npy out_dir/linked.npy
claim "and the link stays" test -L link.npy
exits 0 "an output goes into a device" "$TFRUN" -q run relu.onnx -i x.npy -o y=/dev/stderr
claim "as npy" cmp relu.npy err
if [ -c /dev/full ]; then
    ln -s /dev/full full.npy
    echo old >z.npy
    keep field 1 node Relu n1 x y; nodes=$kept
    keep field 1 node Relu n2 x z; nodes=$nodes$kept
    keep field 11 value_info x 1 3; inputs=$kept
    keep field 12 value_info y 1 3; outputs=$kept
    keep field 12 value_info z 1 3; outputs=$outputs$kept
    model "$nodes" "$inputs" "$outputs" >two.onnx
    exits 7 "an output that finds no room is an error" \
        "$TFRUN" run two.onnx -i x.npy -o y=full.npy -o z=z.npy
    has "with its name" err 'full.npy cannot be written: No space left on device'
    claim "the device stays" test -c /dev/full
    claim "the link, too" test -L full.npy
    claim "and the other output is as it was" test "$(cat z.npy)" = old
    claim "nothing else is in the folder" test -z "$(ls -A | grep '^\.tfrun')"
    rm z.npy
else
    skip "there is no /dev/full"
fi
exits 0 "a model runs from .pb to .pb" "$TFRUN" run relu.onnx -i x.pb -o y.pb
exits 0 "what was written can be read" "$TFRUN" run relu.onnx -i y.pb -o z.npy
claim "and is the same" cmp relu.npy z.npy
exits 0 "-q keeps standard error empty" "$TFRUN" -q run relu.onnx -i x.npy
claim "it is empty" test ! -s err

model_of Neg 3 >neg.onnx
exits 0 "an output is an input of the next run" \
    "$TFRUN" run neg.onnx -i x.npy -o y=z.npy --runs 2 --loop-state y=x
claim "so two runs that turn signs give what went in" cmp x.npy z.npy
if [ -e "$TFR_BUILDDIR/.libs/tfrun-native.so" ]; then
    mkdir native && cp "$TFR_BUILDDIR/.libs/tfrun-native.so" native
    keep field 1 node Relu n1 x r; nodes=$kept
    keep text 1 axis; attr=$kept
    keep number 3 2; attr=$attr$kept
    keep number 20 2; attr=$attr$kept
    keep text 5 "$attr"; attr=$kept
    keep node Concat n2 "past r" present
    keep text 1 "$kept$attr"; nodes=$nodes$kept
    keep field 11 value_info x 1 1 2 1 3; inputs=$kept
    keep field 11 value_info past 1 1 2 n 3; inputs=$inputs$kept
    keep field 12 value_info present 1 1 2 m 3; outputs=$kept
    model "$nodes" "$inputs" "$outputs" >cache.onnx
    exits 0 "what grows is passed on" "$TFRUN" run cache.onnx --random-inputs 1 --shape past=1,2,3,3 \
        --runs 10 --loop-state present=past -o present=copied.npy --json
    has "by a backend that copies it" out '"appended": 0,'
    exits 0 "another backend writes behind it" env TFRUN_PLUGIN_PATH="$tmp/native:$tmp/plugins" \
        "$TFRUN" run cache.onnx --random-inputs 1 --shape past=1,2,3,3 \
        --runs 10 --loop-state present=past -o present=appended.npy --json
    has "from the second run on" out '"appended": 9,'
    # Of 4 rows, and of 8 when these were full; a row has 24 bytes.
    has "copying it only for more room" out '"copied_bytes": 288'
    claim "and makes the same" cmp copied.npy appended.npy
else
    skip "there is no native backend"
fi
exits 2 "--loop-state without --runs" "$TFRUN" run neg.onnx -i x.npy --loop-state y=x
has "is pointed to it" err 'give --runs, too'
exits 5 "an unknown input of --loop-state" \
    "$TFRUN" run neg.onnx -i x.npy --runs 2 --loop-state y=w
has "is answered" err 'the model has no input "w"'
exits 5 "an unknown output of it" "$TFRUN" run neg.onnx -i x.npy --runs 2 --loop-state w=x
has "is answered, too" err 'the model has no output "w"'
exits 5 "an input with two values" \
    "$TFRUN" run neg.onnx -i x.npy --runs 2 --loop-state y=x --loop-state y=x
has "is none" err 'gives input "x" two values'

exits 0 "run prints JSON" "$TFRUN" run relu.onnx -i x.npy -q --json
sed -e '/"seconds"/,/}/d' -e '/_seconds"/d' -e '/"text"/d' out >masked
claim "with values, nodes and counts" diff "$TFR_SRCDIR/tests/cli/run_json.expected" masked

exits 0 "--log-device-placement says where nodes run" \
    "$TFRUN" run relu.onnx -i x.npy --log-device-placement
has "each node" err '^tfrun: placement: n1 (Relu): CPU:0 naive:0'

# The largest values.
printf 'cat\nunder dog\nbird\n' >labels.txt
exits 0 "the largest values are shown" "$TFRUN" run relu.onnx -i x.npy --top 2 --labels labels.txt
has "the largest one with its label" out '^y  *0  *2  *2  *bird$'
has "of equal ones the first" out '^y  *0  *0  *0  *cat$'
claim "and no more than asked for" sh -c '! grep -q dog out'
exits 0 "more than there are" "$TFRUN" run relu.onnx -i x.npy --top 9 --json
claim "are all, in JSON, too" test "$(grep -c '"index"' out)" = 3
exits 2 "labels without --top" "$TFRUN" run relu.onnx -i x.npy --labels labels.txt
exits 7 "labels that are not there" "$TFRUN" run relu.onnx -i x.npy --top 1 --labels none.txt

# Inputs made up.
exits 5 "a missing input is an error" "$TFRUN" run relu.onnx
has "with name, type and what to do" err \
    '^tfrun: relu.onnx: no value for "x" (float32\[3\]); give --input NAME=FILE, or --random-inputs SEED$'
exits 0 "random inputs are made up" "$TFRUN" run relu.onnx --random-inputs 7 -o a.npy
"$TFRUN" -q run relu.onnx --random-inputs 7 -o b.npy >/dev/null
claim "the same seed makes the same values" cmp a.npy b.npy
"$TFRUN" -q run relu.onnx --random-inputs 8 -o b.npy >/dev/null
claim "another seed makes others" sh -c '! cmp -s a.npy b.npy'
exits 0 "0 is a seed, too" "$TFRUN" run relu.onnx --random-inputs 0
exits 0 "an open dim is 1" "$TFRUN" run open.onnx --random-inputs 1
has "unless it is given" out 'float32\[1,3\]'
exits 0 "--shape gives it" "$TFRUN" run open.onnx --random-inputs 1 --shape x=5,3
has "and it is taken" out 'float32\[5,3\]'
exits 5 "a shape that the model forbids is an error" \
    "$TFRUN" run open.onnx --random-inputs 1 --shape x=5,4
has "with both shapes" err 'input "x" has shape \[5,4\], the graph wants float32\[?,3\]'
exits 5 "a shape for a given input is an error" "$TFRUN" run relu.onnx -i x.npy --shape x=3
exits 5 "a shape that is none is an error" "$TFRUN" run relu.onnx --random-inputs 1 --shape x=3,,4
exits 0 "--runs prints times" "$TFRUN" run relu.onnx -i x.npy --runs 3
has "the median" out '^3 runs: median '

# Explain.
exits 0 "explain plans without data" "$TFRUN" explain relu.onnx
claim "placement, steps, copies and arena" diff "$TFR_SRCDIR/tests/cli/explain.expected" out
exits 0 "explain prints JSON" "$TFRUN" explain relu.onnx --json
has "with its schema" out '"schema": "tfrun.explain/1"'
has "and the arena's ratio" out '"arena_ratio": '
keep field 1 node NonZero n1 x i; nodes=$kept
keep field 1 node Shape n2 i s; nodes=$nodes$kept
keep field 1 node ConstantOfShape n3 s y; nodes=$nodes$kept
keep field 11 value_info x 1 3; inputs=$kept
keep field 12 value_info y 1 1 n; outputs=$kept
model "$nodes" "$inputs" "$outputs" >sections.onnx
exits 0 "explain plans what stands behind a shape that only a run tells" \
    "$TFRUN" explain sections.onnx -i x.npy
has "with the number of each node's plan" out '^PLAN  NODE '
has "in the first one" out '^ *0  n1  *NonZero '
has "and in the next" out '^ *1  n3  *ConstantOfShape '
has "which it tells" out '^plan 1  *[12] nodes of graph "g" from "n[23]"$'
exits 0 "and in JSON" "$TFRUN" explain sections.onnx -i x.npy --json
has "too" out '"plan": 1,'
has "with their count" out '"used_plans": 2,'

# A device that knows one op: the rest falls back, with copies.
fakeacc=$TFR_BUILDDIR/tests/fakeacc/.libs/fakeacc.so
if [ -e "$fakeacc" ]; then
    keep field 1 node Relu n1 x a; nodes=$kept
    keep field 1 node Celu n2 a b; nodes=$nodes$kept
    keep field 1 node Relu n3 b y; nodes=$nodes$kept
    keep field 11 value_info x 1 3; inputs=$kept
    keep field 12 value_info y 1 3; outputs=$kept
    model "$nodes" "$inputs" "$outputs" >mixed.onnx
    mkdir -p config/tfrun && echo 'fakeacc.programs = 1' >config/tfrun/tfrun.conf
    exits 0 "explain knows programs" env XDG_CONFIG_HOME="$PWD/config" \
        "$TFRUN" explain mixed.onnx --plugin "$fakeacc" --device NPU:0
    has "whose nodes have its number" out '^n1  *Relu  *NPU:0  *fakeacc:0  *~100 us  *1 (12 B)  *0  *-'
    has "and which tell what they are" out '^program 1  *1 nodes from "n3" on fakeacc:0: 1 kernels'
    exits 0 "--programs=off forbids them" env XDG_CONFIG_HOME="$PWD/config" \
        "$TFRUN" explain mixed.onnx --plugin "$fakeacc" --device NPU:0 --programs=off --json
    has "all of them" out '"programs": 0,'
    exits 0 "a model runs on two devices" \
        "$TFRUN" run mixed.onnx -i x.npy --plugin "$fakeacc" --device NPU:0 --log-device-placement
    has "a node there" err 'placement: n1 (Relu): NPU:0 fakeacc:0'
    has "a node that fell back, with the reason" err \
        'placement: n2 (Celu): CPU:0 naive:0, because fakeacc:0 says unknown_op'
    exits 0 "explain says what that costs" \
        "$TFRUN" explain mixed.onnx -i x.npy --plugin "$fakeacc" --device NPU:0
    has "copies" out '^steps .* [1-9][0-9]* copies'
    has "and bytes" out '^copied per run  *[1-9][0-9]* B$'
    has "and the fallback" out 'Celu on naive:0 instead of '
    exits 4 "--fallback=error stops with the same reason" \
        "$TFRUN" run mixed.onnx -i x.npy --plugin "$fakeacc" --device NPU:0 --fallback=error
    has "node, op and reason" err 'node "n2" (Celu) cannot run on .*unknown_op'
    exits 0 "--deterministic has the same bits each time" \
        "$TFRUN" run mixed.onnx -i x.npy --plugin "$fakeacc" --device NPU:0 --deterministic \
        --plugin-option fakeacc.unsteady=1 --log-device-placement
    has "without a kernel that does not promise it" err \
        'placement: n1 (Relu): CPU:0 .*, because fakeacc:0 says nondeterministic'
else
    skip "the fake accelerator is not built"
fi

# Math modes: a backend without them is strict, and that is said.
exits 5 "an unknown math mode" "$TFRUN" run relu.onnx -i x.npy --math-mode=fast
has "with those there are" err 'no math mode "fast"; there is: strict f32x6 f32x3 tf32 bf16$'
exits 0 "strict is a math mode" "$TFRUN" -q run relu.onnx -i x.npy --math-mode=strict
claim "of which nothing is said" test ! -s err
exits 0 "a math mode that nobody has" "$TFRUN" run relu.onnx -i x.npy --math-mode=f32x6
has "is told" err 'math-mode: warning: no node is computed in the math mode that was asked for'
exits 0 "explain tells it, too" "$TFRUN" explain relu.onnx -q --math-mode=bf16
has "in a line" out '^math mode  *bf16: 0 of 1 nodes are computed in it, the others strictly$'

# Devices and backends.
exits 0 "a device by TensorFlow's name" "$TFRUN" run relu.onnx -i x.npy --device /device:CPU:0
exits 3 "an unknown device" "$TFRUN" run relu.onnx -i x.npy --device GPU:7
has "is answered with those there are" err 'no device "GPU:7"; there are CPU:0 naive:0'
exits 0 "one backend alone" "$TFRUN" run relu.onnx -i x.npy --backend naive
exits 3 "an unknown backend" "$TFRUN" run relu.onnx -i x.npy --backend naiv
has "is answered with the nearest" err 'no backend "naiv", did you mean "naive"? backends are naive'

# matmul: the sum of X * transpose(X) for N = 1 is the square of the only element.
exits 0 "matmul runs" "$TFRUN" matmul naive:0 16
for line in sum shape device time; do has "it prints the $line" out "^$line  *[^ ]"; done
has "where it ran" out '^device  CPU:0, backend naive:0$'
exits 0 "matmul prints JSON" "$TFRUN" matmul CPU:0 1 --json
has "with its schema" out '"schema": "tfrun.matmul/1"'
exits 3 "matmul on no device" "$TFRUN" matmul none:0 16

# ops
exits 0 "ops lists the table" "$TFRUN" ops
has "an op with its backend" out '^Relu  *ai.onnx  *14  *naive: float i8 i16 i32 i64$'
has "an op of the core" out '^Reshape  *ai.onnx  *[0-9]*  *core'
exits 0 "ops of one backend" "$TFRUN" ops --backend naive
claim "no op of the core is among them" sh -c '! grep -q " core$" out'
exits 0 "ops explains one op" "$TFRUN" ops conv
has "inputs and outputs" out '^Conv .*X:T W:T B?:T '
exits 0 "ops names inputs whose values decide shapes" "$TFRUN" ops Resize --json
claim "in JSON" sh -c 'tr -d " \n" <out | grep -q "\"shape_inputs\":\[\"roi\",\"scales\",\"sizes\"\]"'
exits 2 "an unknown op" "$TFRUN" ops Covn
has "is answered with the nearest" err 'no op "Covn", did you mean "Conv"?'
exits 0 "ops prints JSON" "$TFRUN" ops Relu --json
has "with its schema" out '"schema": "tfrun.ops/1"'

# The reference beside a faster backend: a warning where it takes the time.
if [ -e "$TFR_BUILDDIR/.libs/tfrun-native.so" ]; then
    model_of Bernoulli "3000 400" 11 >slow.onnx # native has no draws of float64
    exits 0 "a model that waits for the reference" "$TFRUN" run slow.onnx --random 1
    claim "has no line where there is no faster backend" test ! -s err
    cp "$TFR_BUILDDIR/.libs/tfrun-native.so" plugins
    exits 0 "it runs beside a faster backend" "$TFRUN" run slow.onnx --random 1
    has "and one line says what it waits for" err \
        'naive took [0-9]* % of the time, .* a run, node "n1" (Bernoulli) .*tfrun explain slow.onnx'
    exits 0 "of several runs" "$TFRUN" run slow.onnx --random 1 --runs 3
    has "the last one is looked at" err 'naive took [0-9]* % of the time'
    exits 0 "-q" "$TFRUN" -q run slow.onnx --random 1
    claim "leaves it out" test ! -s err
    exits 0 "who asks for naive" "$TFRUN" run slow.onnx --random 1 --device naive
    claim "is not told" test ! -s err
    exits 0 "what the reference has no part in" "$TFRUN" run relu.onnx -i x.npy
    claim "has no such line" sh -c '! grep -q "of the time" err'
else
    skip "native is not built"
fi
finish
