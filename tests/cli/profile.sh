# SPDX-License-Identifier: Apache-2.0
# tfrun profile, on models of a few bytes.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
# naive is everywhere and the same everywhere.
mkdir "$tmp/plugins"
cp "$TFR_BUILDDIR/.libs/tfrun-naive.so" "$tmp/plugins"
TFRUN_PLUGIN_PATH=$tmp/plugins
cd "$tmp" || exit 99

keep field 1 node MatMul product x\ x a; nodes=$kept
keep field 1 node Relu n1 a b; nodes=$nodes$kept
keep field 1 node Relu n2 b y; nodes=$nodes$kept
keep field 11 value_info x 1 8 8; inputs=$kept
keep field 12 value_info y 1 8 8; outputs=$kept
model "$nodes" "$inputs" "$outputs" >small.onnx

exits 0 "a model is profiled, with inputs made up" "$TFRUN" profile small.onnx --runs 4
has "the table has its titles" out '^OP  *CALLS  *TOTAL  *MEAN  *SHARE  *GFLOP/S  *GB/S  *ROOF  *BACKEND$'
has "a row adds up an op" out '^Relu  *8  .* % .* naive:0$'
has "another one" out '^MatMul  *4  .* % .*[0-9] %  *naive:0$'
has "then the sums" out '^4 runs: .*, mean .*; planned once in '
has "the rest" out '^outside of kernels: .* %$'
has "and the roofs" out '^roofs of [0-9]* thread.*: [0-9]* GFLOP/s (.*), L1 .* GB/s, L2 .*, L3 .*, memory '
exits 0 "by node" "$TFRUN" profile small.onnx --runs 4 --by node
has "each has a row" out '^n2 (Relu)  *4 '
exits 0 "by backend" "$TFRUN" profile small.onnx --runs 4 --by backend
has "there is one" out '^naive:0  *12 '
exits 2 "by something else is wrong usage" "$TFRUN" profile small.onnx --by moon

exits 0 "profile prints JSON" "$TFRUN" profile small.onnx --runs 4 --json
has "with its schema" out '"schema": "tfrun.profile/1"'
has "the rows' calls" out '"calls": 8'
# 4 runs of 2 * 8 * 8 * 8.
has "their flops" out '"flops": 4096.0'
has "and the roofs" out '"flops_per_second": '

exits 0 "profile leaves a trace" "$TFRUN" profile small.onnx --runs 3 --trace t.json
if [ -x "$TFR_BUILDDIR/tests/cli/trace_check" ]; then
    exits 0 "that is valid" "$TFR_BUILDDIR/tests/cli/trace_check" t.json
    has "of the runs that count" out '^run 3$'
fi

# Programs run on the threads of the host, and each record is a part of its lane's time.
if [ -e "$TFR_BUILDDIR/.libs/tfrun-native.so" ]; then
    cp "$TFR_BUILDDIR/.libs/tfrun-native.so" "$tmp/plugins"
    exits 0 "a program is profiled" "$TFRUN" profile small.onnx --runs 4 --json
    has "with its nodes" out '"calls": 8,'
    has "and what is between them" out '"kind": "program"'
    # The seconds of all runs come after their number, and may have no point: 9e-5.
    claim "rows add up to what is neither outside of kernels nor waiting" awk '
        { text = text $0 "\n" }
        /"seconds": "/ { bad = 1 } # infinite, or no number
        /"seconds": [0-9]/ { rows += $2 }
        /"outside":|"wait":/ { rest += $2 }
        /"runs":/ { whole = $2 }
        END {
            if (!bad && rows > 0 && rows + rest > whole - rows / 1000 &&
                rows + rest < whole + rows / 1000)
                exit 0
            printf "%.9f s in rows, %.9f besides, %.9f in all\n%s", rows, rest, whole, text
            exit 1
        }' out
else
    skip "there is no native backend"
fi

keep field 1 node NonZero n1 x i; nodes=$kept
keep field 1 node Shape n2 i s; nodes=$nodes$kept
keep field 1 node ConstantOfShape n3 s y; nodes=$nodes$kept
keep field 11 value_info x 1 3; inputs=$kept
keep field 12 value_info y 1 1 n; outputs=$kept
model "$nodes" "$inputs" "$outputs" >sections.onnx
exits 0 "a model of two plans is profiled" "$TFRUN" profile sections.onnx --runs 2
has "and both are told" out '^2 runs: .*; planned once in .*, 2 plans$'

exits 5 "a file that is no model is an error" "$TFRUN" profile t.json

fakeacc=$TFR_BUILDDIR/tests/fakeacc/.libs/fakeacc.so
if [ -e "$fakeacc" ]; then
    exits 0 "a device with a queue is profiled" \
        "$TFRUN" profile small.onnx --runs 2 --plugin "$fakeacc" --device NPU:0
    has "its kernels" out '^Relu  *4 .* fakeacc:0$'
    has "its copies" out '^copy  *4 '
    has "without a roof" out '^MatMul .* -  *fakeacc:0$'
    has "and the host's waiting" out '^waiting for queues: '
else
    skip "the fake accelerator is not built"
fi
finish
