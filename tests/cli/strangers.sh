# SPDX-License-Identifier: Apache-2.0
# Plugins that crash, end or hold up the command: it says which one, and in what.
. "$TFR_SRCDIR/tests/lib.sh"
. "$TFR_SRCDIR/tests/cli/model.sh"
cd "$tmp" || exit 99
ulimit -c 0
model_of Relu 3 >relu.onnx
float32_npy 3 "$floats" >x.npy

# The model on one of tests/fake; the name in the plugin has dashes.
run_on() {
    fake=$1
    shift
    "$TFRUN" --plugin "$TFR_BUILDDIR/tests/fake/$fake.so" run relu.onnx -i x.npy \
        -b "$(echo "$fake" | tr _ -)" "$@"
}

# Crashes. 128 + SIGSEGV is 139, + SIGABRT 134.
if [ -n "$TFR_SANITIZE" ]; then
    skip "a sanitizer tells of crashes in its own way"
else
    exits 139 "a crash in launch is the end" run_on launch_segv
    has "with plugin, signal, address, slot and node" err \
        '^tfrun: plugin launch-segv crashed with SIGSEGV at address 0x[0-9a-f]* in launch of node "n1" (Relu); '
    has "and what to do" err '; go on without it by TFRUN_DISABLE=launch-segv, '
    exits 139 "a crash on a thread of the pool is the end" run_on loop_segv
    has "with the call that the loop is of" err \
        '^tfrun: plugin loop-segv crashed with SIGSEGV at address 0x[0-9a-f]* in launch of node "n1" (Relu); '
    exits 139 "a crash on a plugin's own thread is the end" run_on thread_segv
    has "with what the plugin was asked for" err \
        '^tfrun: crashed with SIGSEGV at address 0x[0-9a-f]* on a thread .* plugin thread-segv was in launch of node "n1"'
    exits 134 "abort in prepare is the end" run_on prepare_abort
    has "with plugin, slot and node" err \
        '^tfrun: plugin prepare-abort crashed with SIGABRT in prepare of node "n1" (Relu); '
    claim "which is said once" test "$(grep -c crashed err)" = 1
    # Weights in a file that is cut while they are read: 128 + SIGBUS is 135. Small files are copied.
    keep field 13 sh -c '. "$0"; text 1 location; text 2 w.bin' "$TFR_SRCDIR/tests/cli/model.sh"
    keep sh -c '. "$0"; number 1 524288; number 2 1; text 8 w; printf %s "$1"; number 14 1' \
        "$TFR_SRCDIR/tests/cli/model.sh" "$kept"
    keep text 5 "$kept"
    weights=$kept
    keep field 1 node Relu n1 w y
    nodes=$kept
    keep field 12 value_info y 1 524288
    model "$nodes" "$weights" "$kept" >cut.onnx
    head -c 2097152 /dev/zero >w.bin
    exits 135 "a file of weights that becomes shorter in a run is the end" \
        "$TFRUN" --plugin "$TFR_BUILDDIR/tests/fake/launch_truncates.so" run cut.onnx \
        -b launch-truncates
    has "with its name, and no plugin is blamed" err \
        'w.bin became shorter while it was in use (SIGBUS); start again'
    # It comes while the command waits for a probe, which is a script that says when.
    printf '#!/bin/sh\n: >%s/asked\nwhile kill -0 $PPID; do sleep 0.1; done\n' "$tmp" >probe
    chmod +x probe
    TFRUN_PROBE=$tmp/probe TFRUN_PROBE_TIMEOUT_MS=60000 "$TFRUN" --list-devices >out 2>err &
    while [ ! -e asked ] && kill -0 $! 2>/dev/null; do sleep 0.1; done
    kill -SEGV $!
    wait $!
    claim "a signal from outside keeps its status" test $? = 139
    has "and no plugin is blamed" err '^tfrun: crashed with SIGSEGV while it was in no plugin; '
fi

# Ends.
exits 3 "exit(0) in launch is a failure" run_on launch_exit
has "with plugin, slot and node" err \
    '^tfrun: plugin launch-exit ended the process with exit in launch of node "n1" (Relu), '
claim "and no result" test ! -s out
exits 3 "quick_exit(0) in prepare is a failure" run_on prepare_quick_exit
has "with the plugin" err '^tfrun: plugin prepare-quick-exit ended the process with quick_exit in '
exits 3 "_exit(0) in prepare is a failure" run_on prepare_exit
has "with the plugin" err '^tfrun: plugin prepare-exit ended the process with _exit in prepare of '
exits 0 "a child of a plugin may end as it likes" run_on prepare_forks
claim "nothing is said of it" sh -c '! grep ended err'

# Waits.
exits 0 "a slow plugin is waited for" env TFRUN_NOTICE_AFTER_MS=100 \
    "$TFRUN" --plugin "$TFR_BUILDDIR/tests/fake/prepare_slow.so" run relu.onnx -i x.npy \
    -b prepare-slow
has "which is said" err \
    '^tfrun: waiting for plugin prepare-slow: prepare of node "n1" (Relu), 0\.[0-9]* s so far$'
claim "less and less often" test "$(grep -c waiting err)" -le 4
exits 0 "with --log error" env TFRUN_NOTICE_AFTER_MS=100 "$TFRUN" --plugin \
    "$TFR_BUILDDIR/tests/fake/prepare_slow.so" run relu.onnx -i x.npy -b prepare-slow \
    --log-level error
claim "nothing is said" test ! -s err
exits 0 "a usual run" run_on prepare_slow
claim "is not worth a line" sh -c '! grep waiting err'

# The floating-point mode.
exits 0 "a plugin that changes the rounding mode" run_on launch_rounds --log-level debug
has "is named" err '^tfrun: launch-rounds: warning: changed the rounding mode in launch of node "n1"'
finish
