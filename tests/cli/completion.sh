# SPDX-License-Identifier: Apache-2.0
# The completion script is what the option tables make, and completes what it should.
. "$TFR_SRCDIR/tests/lib.sh"

script=$TFR_SRCDIR/completion/tfrun.bash
"$TFRUN" __complete >"$tmp/tfrun.bash"
claim "completion/tfrun.bash is up to date (make it by: tfrun __complete >completion/tfrun.bash)" \
    diff "$script" "$tmp/tfrun.bash"
command -v bash >/dev/null 2>&1 || {
    skip "bash is not installed"
    finish
}
claim "bash reads it" bash -n "$script"

cat >"$tmp/complete" <<'EOF2'
# Usage: bash complete SCRIPT WORD...: completes the last word.
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_tfrun
printf '%s\n' "${COMPREPLY[@]}"
EOF2
# completes TEXT EXPECTED WORD...
completes() {
    text=$1 expected=$2
    shift 2
    got=$(bash "$tmp/complete" "$script" "$TFRUN" "$@" | tr '\n' ' ')
    claim "$text" test "$got" = "$expected "
}
completes "commands" "explain" exp
completes "options of a command" "--random-inputs --runs" run m.onnx --r
completes "shared options" "--plugin --plugin-path --plugin-option" devices --plugin
completes "options that are commands" "--list-devices" --list
completes "values of a choice" "allow" run --fallback a
completes "a choice after =" "error" run --fallback=e
completes "commands after help" "env" help en
completes "ops" "Conv ConvInteger ConvTranspose ConvGradFilter ConvGradInput" ops Conv
completes "backends" "naive" run --backend nai
completes "devices" "CPU:0" run --device CPU
finish
