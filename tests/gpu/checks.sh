# SPDX-License-Identifier: Apache-2.0
# The tests of run.sh, which has set $src $build $out $device $plugin $only $seeds $limit,
# $certify_limit and TFRUN.
# Each is a command with a log of its own in $out; all together end within $limit seconds.
# shellcheck disable=SC2154 # run.sh has set them
n_pass=0 n_fail=0 n_skip=0
deadline=$(($(date +%s) + limit)) may_be_cut=

wanted() { case ,$only, in *,$1,*) return 0 ;; esac; return 1; }
pass() { n_pass=$((n_pass + ${2:-1})); echo "passed: $1"; }
fail() { n_fail=$((n_fail + ${2:-1})); echo "FAILED: $1"; }
skip() { n_skip=$((n_skip + ${2:-1})); echo "skipped: $1"; }

# limited COMMAND...: with what is left of the time; 124 = it took longer.
limited() {
    left=$((deadline - $(date +%s)))
    [ "$left" -gt 0 ] || return 124
    timeout -k 5 "$left" "$@"
}

# runs LOG STATUS TEXT COMMAND...: ends with this status; what it says is in $out/LOG.
runs() {
    log=$out/$1.log want=$2 text=$3
    shift 3
    limited "$@" >"$log" 2>&1 </dev/null
    got=$?
    if [ "$got" = "$want" ]; then
        pass "$text"
    elif [ "$got" = 124 ]; then
        fail "$text: the time is up, see $log"
    else
        fail "$text: exit $got, not $want, see $log"
        tail -n 3 "$log" | sed 's/^/    /'
    fi
}

# counts LOG TEXT COMMAND...: one that counts for itself: its last line is "N passed, N failed, N ...".
counts() {
    log=$out/$1.log text=$2
    shift 2
    limited "$@" >"$log" 2>&1 </dev/null
    got=$?
    last=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ ' "$log" | tail -n 1)
    if [ -z "$last" ] && [ "$got" = 124 ] && [ "$may_be_cut" ]; then
        return
    elif [ -z "$last" ]; then
        fail "$text: exit $got and no counts, see $log"
        return
    fi
    echo "$text: $last"
    # shellcheck disable=SC2086 # words
    set -- $last
    n_pass=$((n_pass + $1))
    n_skip=$((n_skip + $5))
    [ "$3" = 0 ] || grep -E 'FAILED|: failed' "$log" | head -n 5 | cut -c1-200 | sed 's/^/    /'
    [ "$got" = 0 ] || [ "$3" != 0 ] || set -- "$1" "$2" 1
    n_fail=$((n_fail + $3))
}

says() { # TEXT LOG PATTERN
    if grep -q -e "$3" "$out/$2.log"; then pass "$1"; else fail "$1, see $out/$2.log"; fi
}

loss_in() { sed -n 's/.*"event":"end".*"train":{[^}]*"loss":\([0-9.eE+-]*\).*/\1/p' "$out/$1.log"; }

check_training() {
    runs train_gpu 0 "the CNN trains, all of it on $device" \
        "$here/train.sh" --device "$device" --fallback error
    runs train_naive 0 "and on the reference" "$here/train.sh" --device naive:0
    a=$(loss_in train_gpu) b=$(loss_in train_naive)
    if awk "BEGIN { a = \"$a\" + 0; b = \"$b\" + 0; d = a - b; if (d < 0) d = -d; exit !(b > 0 && d < 1e-3 * b) }"; then
        pass "the loss after them is the reference's: $a, $b"
    else
        fail "the loss after them is $a, the reference's $b"
    fi
    runs train_again 0 "deterministic, it trains again" \
        "$here/train.sh" --device "$device" --fallback error --deterministic
}

check_capture() {
    model=$out/mnist.onnx
    [ -f "$model" ] || "$TFRUN" train mnist-cnn --data 'synthetic?train=64&test=16' --epochs 0 -q \
        -o "$model" >"$out/export.log" 2>&1
    runs explain 0 "a model is planned" "$TFRUN" explain "$model" --plugin "$plugin" \
        --device "$device"
    says "its launches are captured" explain '^captures  *[1-9]'
    for on in on off; do
        runs "capture_$on" 0 "it runs 5 times with --capture=$on" "$TFRUN" run "$model" \
            --plugin "$plugin" --device "$device" --capture=$on --random-inputs=1 --runs=5 \
            -o "$out/capture_$on.npy"
    done
    if cmp -s "$out/capture_on.npy" "$out/capture_off.npy"; then
        pass "a replay gives the same bits"
    else
        fail "a replay gives other bits"
    fi
}

check_limits() {
    runs limit_bytes 6 "a training that does not fit a limit says so" "$here/train.sh" \
        --device "$device" --plugin-option cuda.memory_limit=1000000
    says "with the numbers and the next step" limit_bytes 'of the limit, 1000000, are in use; raise'
    runs limit_fits 0 "one that fits trains" "$here/train.sh" --device "$device" --fallback error \
        --plugin-option cuda.memory_limit=1000000000
    runs limit_fraction 0 "half of the GPU is enough" "$here/train.sh" --device "$device" \
        --fallback error --plugin-option cuda.memory-fraction=0.5
    runs logical 0 "two logical GPUs are listed" "$TFRUN" --list-devices --plugin "$plugin" \
        --plugin-option cuda.logical-devices=2
    says "as two devices" logical '^GPU:1 '
}

check_faults() {
    runs fault_lost 3 "a GPU that is lost ends the training" "$here/train.sh" --device "$device" \
        --plugin-option cuda.lose_after=10
    says "with its name and the reason" fault_lost "$device is lost at node .*lose_after is 10"
    runs fault_queue 3 "a launch that fails ends it" "$here/train.sh" --device "$device" \
        --plugin-option cuda.fail_after=10
    says "with the node's name" fault_queue "node .* on $device: the option fail_after is 10"
    runs fault_after 0 "the GPU works afterwards" "$here/train.sh" --device "$device" \
        --fallback error
    runs hidden 0 "a listing without visible GPUs" env CUDA_VISIBLE_DEVICES=-1 \
        "$TFRUN" --list-devices --refresh --plugin "$plugin"
    if [ -n "${TFRUN_FAKE_CUDA+set}" ]; then
        skip "what hides GPUs is told: the driver is a stand-in"
    else
        says "says what hides them" hidden 'CUDA_VISIBLE_DEVICES'
    fi
}

check_sanitizer() {
    sanitizer=$(command -v compute-sanitizer) || {
        skip "compute-sanitizer: it is missing, CUDA's toolkit has it"
        return
    }
    for tool in memcheck racecheck initcheck; do
        for ops in $(groups_of_ops 8); do
            for op in $(echo "$ops" | tr , ' '); do echo "$op"; done |
                sanitize "$tool" >"$out/sanitizer_$tool.${ops%%,*}.log" 2>&1 &
        done
        wait
        cat "$out/sanitizer_$tool".*.log >"$out/sanitizer_$tool.log"
        n=$(grep -c '^rc 0 ' "$out/sanitizer_$tool.log")
        bad=$(sed -n 's/^rc [1-9][0-9]* //p' "$out/sanitizer_$tool.log" | tr '\n' ' ')
        [ "$n" = 0 ] || pass "op cases of $n ops under compute-sanitizer, $tool" "$n"
        [ -z "$bad" ] || fail "op cases under compute-sanitizer, $tool: $bad, see $out/sanitizer_$tool.log"
        grep -q '^rc' "$out/sanitizer_$tool.log" || skip "compute-sanitizer, $tool: there is no time left"
    done
}

# Names of ops from standard input, one process each: one that goes wrong hides no other.
sanitize() { # TOOL
    while read -r op; do
        text=$(limited "$sanitizer" --tool "$1" --error-exitcode 9 --target-processes all \
            "$build/tests/ops/ops" --seeds 4 --case "$op" value "$device" 2>&1 </dev/null)
        code=$?
        printf '%s\n' "$text"
        case $code:$text in
        124:* | 1:*"0 passed, 0 failed"*) ;; # no time, or no call of it is a kernel's
        *) echo "rc $code $op" ;;
        esac
    done
}

check_listing() {
    cp "$out/devices.txt" "$out/devices.log"
    says "the GPU is listed" devices '^GPU:0 '
    runs listing_json 0 "a listing as JSON" "$TFRUN" --list-devices --json --plugin "$plugin"
    says "has its compute capability" listing_json '"compute_capability": "[0-9.]*"'
    runs doctor 0 "doctor opens its libraries" "$TFRUN" doctor --plugin "$plugin"
    for library in cublaslt cudnn cusolver; do
        says "$library is there" doctor "^cuda  *$library  *loaded"
    done
}

check_cases() {
    # The op cases look for plugins in folders alone.
    TFRUN_PLUGIN_PATH=$(dirname "$plugin"):$TFRUN_PLUGIN_PATH
    counts cases "op cases on $device" "$build/tests/ops/ops" --seeds "$seeds" \
        --list "$src/tests/cuda/kernels.list" value "$device"
    # Each however small, in f32, f16 and bf16; as tests/cuda/engines.sh does over stand-ins.
    for op in MatMul Gemm Conv ConvGradInput ConvGradFilter Inverse Solve; do
        counts "library_$op" "$op by NVIDIA's library" "$build/tests/ops/ops" \
            --seeds "$seeds" --option cuda.library-from=0 --case "$op" value "$device"
    done
}

# The ops of the backend, a line for each group, family by family in each: what has no time is a part
# of every family, and not some families.
groups_of_ops() {
    sed -n 's/^X("[a-z.]*", "\([A-Za-z0-9]*\)",.*/\1/p' "$src/plugins/cuda/families.def" | awk -v n="$1" '
        !seen[$0]++ { row = k++ % n; text[row] = text[row] (text[row] ? "," : "") $0 }
        END { for (i = 0; i < n && i < k; i++) print text[i] }'
}

# All ops take longer than all other tests: a group after the other, for as long as there is time.
check_certify() {
    until=$(($(date +%s) + certify_limit)) left_out='' all_until=$deadline
    [ "$until" -lt "$deadline" ] || until=$deadline
    deadline=$until number=0
    for ops in $(groups_of_ops 16); do
        number=$((number + 1))
        if [ "$(date +%s)" -ge "$until" ]; then
            left_out=$left_out,$ops
            continue
        fi
        may_be_cut=yes
        counts "certify_$number" "certify, $ops" "$TFRUN" certify "$plugin" --ops "$ops"
        may_be_cut=
        [ "$got" != 124 ] || left_out=$left_out,$ops
    done
    deadline=$all_until
    [ -z "$left_out" ] || skip "certify has no time for these, --time-limit and --certify-limit give more: ${left_out#,}"
}

# 0 = none failed. Those that take long come last: when the time is up, the others have been made.
run_checks() {
    export plugin
    for kind in listing cases training capture limits faults certify sanitizer; do
        ! wanted $kind || timed "  $kind" check_$kind
    done
    echo "$n_pass passed, $n_fail failed, $n_skip skipped" | tee "$out/summary.txt"
    [ "$n_fail" = 0 ]
}
