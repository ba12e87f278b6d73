# SPDX-License-Identifier: Apache-2.0
# The n-th request for memory fails, alone or with all later ones, in tfrun, its worker processes,
# the C library, the dynamic linker and the libraries of plugins: the command ends with status 6 and
# a sentence, or does its work all the same; what it had no memory for and can do without, like a
# plugin's records in a profile, it names in a warning. A sample of n; TFR_TEST_ALL=1 takes each.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
[ -z "$TFR_SANITIZE" ] || skip_all "sanitizers have a malloc of their own"
preload=$TFR_BUILDDIR/tests/malloc_fails.so
command=$TFR_BUILDDIR/.libs/tfrun # not libtool's script
[ -x "$command" ] || skip_all "tfrun is linked statically"
LD_LIBRARY_PATH=$TFR_BUILDDIR/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
TFRUN_THREADS=1
export LD_LIBRARY_PATH TFRUN_THREADS
cd "$tmp" || exit 99
mkdir -p good/test_data_set_0
model_of Relu 3 >good/model.onnx
float32_pb 3 "$floats" >good/test_data_set_0/input_0.pb
float32_pb 3 "$floats_relu" >good/test_data_set_0/output_0.pb

# What may differ between two runs: numbers with a unit, and the spaces before them.
masked() { sed 's/ *[~0-9.e-]* \([num]\{0,1\}s\|[KMGT]iB\)\( \|$\)/ \2/g' "$1"; }

# starve WHICH WORD...: runs tfrun with those requests failing; false if it ends wrongly.
starve() {
    which=$1 got=0
    shift
    LD_PRELOAD=$preload TFRUN_TEST_MALLOC=$which timeout 60 "$command" "$@" \
        >out 2>err </dev/null || got=$?
    case $got in
    0)
        if [ "$compared" = lines ]; then
            [ "$(wc -l <out)" = "$(wc -l <undisturbed)" ] || grep -q 'warning: .*no memory' err
        else
            [ "$(masked out)" = "$(masked undisturbed)" ]
        fi
        ;;
    6) [ -s err ] ;;
    *) false ;;
    esac
}

# survives LIMIT COMPARED WORD...: requests 1 to LIMIT of the command, each alone and with all later
# ones. COMPARED is text, or lines, which counts them, where standard output depends on time: a way
# to compile a program that there is no memory for is left to another.
survives() {
    limit=$1 compared=$2 n_wrong=0 n_tried=0 n=1
    shift 2
    "$command" "$@" >undisturbed 2>err || fail "tfrun $* runs with memory"
    LD_PRELOAD=$preload TFRUN_TEST_MALLOC_COUNT=count "$command" "$@" >out 2>err
    n_all=$(cat count 2>/dev/null) && rm count
    if [ -z "$n_all" ]; then
        fail "the requests of tfrun $1 are counted"
        return
    fi
    [ "$n_all" -lt "$limit" ] || n_all=$limit
    # An odd step, so that the sample is no column of some regular pattern.
    step=$((n_all / 25 / 2 * 2 + 1))
    [ -z "$all" ] || step=1
    while [ "$n" -le "$n_all" ]; do
        for which in "$n" "$n-"; do
            n_tried=$((n_tried + 1))
            starve "$which" "$@" && continue
            n_wrong=$((n_wrong + 1))
            echo "  TFRUN_TEST_MALLOC=$which tfrun $*: exit $got: $(tail -n 1 err)"
        done
        n=$((n + step))
    done
    claim "tfrun $1 survives $n_tried of $n_all requests that fail" test "$n_wrong" = 0
}

all=$TFR_TEST_ALL
survives 5000 text run good/model.onnx --random-inputs 1
survives 5000 lines run good/model.onnx --random-inputs 1 --json
survives 5000 lines profile good/model.onnx
survives 5000 lines explain good/model.onnx
survives 5000 text verify good --jobs 1
survives 5000 text verify good --jobs 2
survives 1000 lines bench dispatch --size 1 --pairs 1 --peers none
survives 1000 lines bench matmul --size 8 --pairs 1 --peers none
survives 1000 lines bench model good/model.onnx --pairs 1 --peers none
survives 1000 lines bench startup --pairs 1 --peers none
survives 1000 lines bench memory --pairs 1 --peers none
survives 1000 lines __bench_child tfrun 8
survives 1000 lines matmul naive:0 8
survives 5000 text devices
survives 5000 text plugins
survives 5000 text ops
finish
