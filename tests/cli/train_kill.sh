# SPDX-License-Identifier: Apache-2.0
# kill -9 at random moments: what is resumed ends with the bits of a training that was not killed.
# TFRUN_TEST_KILLS says how many times, 6 without it; TFRUN_TEST_SEED when.
. "$TFR_SRCDIR/tests/lib.sh"
cd "$tmp" || exit 99
kills=${TFRUN_TEST_KILLS:-6}
seed=${TFRUN_TEST_SEED:-1}
"$TFR_BUILDDIR/tests/cli/train_check" net net.onnx || exit 99
last=step-00000130.safetensors
train() {
    exec "$TFRUN" -q train --model net.onnx --data 'synthetic?train=208&test=32' --batch-size 16 \
        --epochs 10 --checkpoint-every 3 "$@"
}
# Milliseconds, and that long whatever the clock of the shell.
now() { echo $(($(date +%s%N) / 1000000)); }

began=$(now)
# In a process of its own, which the command takes over, so that it is what a signal meets.
apart() { (train "$@"); }
exits 0 "a training that nobody kills" apart --checkpoint-dir whole
took=$(($(now) - began))
n_killed=0 n_ended=0
while [ "$n_killed" -lt "$kills" ]; do
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    train --checkpoint-dir killed --resume=exact >out 2>err &
    pid=$!
    ms=$((seed / 8 % (took + 1)))
    sleep "$(printf %d.%03d $((ms / 1000)) $((ms % 1000)))"
    if kill -9 $pid 2>kill.err; then
        wait $pid 2>wait.err
        n_killed=$((n_killed + 1))
    else
        wait $pid || fail "a resumed training failed: $(cat err)"
    fi
    # One that is over is compared, and the next kills meet a new one.
    if [ -e "killed/$last" ] && apart --checkpoint-dir killed --resume=exact >out 2>err; then
        n_ended=$((n_ended + 1))
        cmp "whole/$last" "killed/$last" || fail "after $n_killed kills the bits differ"
        rm -rf killed
    fi
done
exits 0 "after $kills kills the last one goes on to its end" apart --checkpoint-dir killed \
    --resume=exact
claim "with the same bits" cmp "whole/$last" "killed/$last"
echo "$n_killed kills, $((n_ended + 1)) trainings that were killed and came to their end"
finish
