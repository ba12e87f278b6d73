# SPDX-License-Identifier: Apache-2.0
# tfrun certify: plugins that break a rule of the contract are caught, by the name of the rule.
. "$TFR_SRCDIR/tests/lib.sh"
cd "$tmp" || exit 99
ulimit -c 0
if [ -n "$TFR_SANITIZE" ]; then # hostile shapes ask for more than there is
    ASAN_OPTIONS=$ASAN_OPTIONS:allocator_may_return_null=1:max_allocation_size_mb=1024
    TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}allocator_may_return_null=1
    export ASAN_OPTIONS TSAN_OPTIONS
fi

# The rule's name is the check's, and the text says what was seen.
wrong() { # FAKE TEXT PATTERN
    exits 1 "$2" "$TFRUN" certify "$TFR_BUILDDIR/tests/fake/$1.so"
    has "by name" out "$3"
    has "while its facts are right" out '^note: passed: '
}
exits 0 "a right plugin of the same making passes" "$TFRUN" certify "$TFR_BUILDDIR/tests/fake/good.so"
has "what it does not have is unsupported" out '^queues: unsupported: the plugin has no queues$'
has "its memory among it" out '^Relu memory: passed: [1-9][0-9]* launches$'
wrong ignores_strides "strides that are not read fail" \
    '^Relu strided: failed: Relu:[0-9]*, views: output 0: '
wrong launch_drifts "values that differ from run to run, without a word, fail" \
    '^Relu repeated: failed: Relu:[0-9]*, a second run: output 0: '
wrong not_in_place "a lie about in place fails" \
    '^Relu in place: failed: Relu:[0-9]*, .*: output 0 in the memory of input 0: '
if [ -z "$TFR_SANITIZE" ]; then # which find these in their own way
    wrong overruns_workspace "a workspace that is overrun fails" \
        '^Relu memory: failed: Relu:[0-9]*, .*workspace: byte 1 behind its 64 bytes was written$'
    wrong keeps_workspace "a workspace that is written when its launch is done fails" \
        '^Relu memory: failed: .*after the launch, its workspace: byte 0 of its 64 was written$'
    wrong launch_forgets "memory that is not given back fails" \
        '^leaks: failed: [0-9]* bytes of malloc more after '
else
    skip "sanitizers end the process where memory is overrun or lost"
fi
wrong writes_input "an input that is written fails" \
    '^Relu memory: failed: .*: input 0: byte [0-9]* of its [0-9]* was written$'
wrong skips_output "an output that is not written fails" \
    '^Relu memory: failed: .*output 0 was not written, and no error told$'

# The fake accelerator, with one switch each.
accelerator=$TFR_BUILDDIR/tests/fakeacc/.libs/fakeacc.so
switched() { # STATUS TEXT OPS OPTIONS...
    switched_status=$1 switched_text=$2 switched_ops=$3
    shift 3
    for option in "$@"; do
        set -- "$@" --plugin-option "fakeacc.$option"
        shift
    done
    exits "$switched_status" "$switched_text" "$TFRUN" certify "$accelerator" --ops "$switched_ops" \
        "$@"
}
if [ -e "$accelerator" ]; then
    switched 0 "the fake accelerator passes" Add,MatMul,Compress
    has "with outputs in place" out '^Add in place: passed: [1-9][0-9]* launches$'
    has "with dims that a launch tells" out '^Compress dynamic dims: passed: [1-9]'
    switched 0 "with buffers of the driver and packed constants, too" Add,MatMul,Compress \
        handles=1 consume=1 transfer=1
    switched 0 "with pinned memory and what the host computes, too" Add,Mul,Relu,Compress \
        pinned=1 host_scalars=1 host_results=1
    for way in '1 4 3' '2 -1 3' '3 1 2'; do
        # shellcheck disable=SC2086 # a list of words
        set -- $way
        switched 1 "wrong dims fail, way $1" Compress "wrong_dims=$1"
        has "by name, way $1" out '^Compress dynamic dims: failed: .*: dims of output 0: dim 0 '
    done
    switched 0 "two devices with queues pass" Relu devices=2
    for check in copies queues enqueuing failure abort loss 'out of memory' 'memory limit' 'two devices'; do
        has "$check among it" out "^$check: passed: "
    done
    switched 0 "what a plugin does not have is no fault" Relu abort=0 links=0 devices=2 names_launch=0
    has "an abort that refuses" out '^abort: unsupported: abort: the option abort is 0$'
    has "devices without a way between them" out '^two devices: unsupported: its devices exchange '
    switched 0 "nor is little memory, in small pieces" Relu,MatMul max_alloc=8192 pool=1
    has "which is said" out '^MatMul values: passed: .* the others are refused: '
    switched 0 "nor are programs" Relu,Add programs=1
    has "whose nodes are tried as kernels" out '^Relu memory: passed: '
    has "and more than one node as programs" out '^programs: passed: [2-9] calls, [2-9] programs, '
    has "which two threads compile at once" out '^threads: passed: '
    has "a program keeps its variables" out '^variables: passed: '
    switched 0 "programs compiled from what they saved pass" Relu,Add programs=1 saves=1
    has "with damaged blobs" out '^programs: passed: [2-9] calls, [2-9] programs, [1-9][0-9]* more '
    switched 1 "a blob that is believed fails" Relu,Add programs=1 saves=2
    has "by name" out '^programs: failed: .*, compiled from a damaged blob: output 0'
    if [ -z "$TFR_SANITIZE" ]; then # which find this in their own way
        switched 1 "a blob that is longer than its room fails" Relu,Add programs=1 saves=3
        has "by name" out '^programs: failed: .*: save wrote behind the [0-9]* bytes it had$'
    fi
    switched 0 "nor is an error that launch itself tells" Relu sticky=1 early_waits=1 delay_us=0
    switched 1 "launches that wait for the device fail" Relu launch_waits=1
    has "by name" out '^enqueuing: failed: launch waits for the device: '
    switched 1 "errors that no fence carries fail" Relu loses_errors=1
    has "by name" out '^failure: failed: an error is lost: no call told of it, and output 0 was not '
    has "those of a queue that was given up, too" out '^abort: failed: an error is lost: '
    if [ -z "$TFR_SANITIZE" ]; then # this is a race
        switched 1 "waits that are ignored fail" Relu ignores_waits=1
        # told by the fence, or by what was copied if the other queue had ended by then
        has "by name" out '^queues: failed: wait: .* the \(fence of another one\|other queue had made\)$'
    fi
else
    skip "the fake accelerator is not built"
fi
finish
