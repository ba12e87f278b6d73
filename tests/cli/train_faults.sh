# SPDX-License-Identifier: Apache-2.0
# Faults at each system call that writes a checkpoint, made by tests/io_fails.c: the process is
# killed there, or the call fails. What is resumed then ends with the bits of a training that met
# none, and nothing is left behind but checkpoints.
. "$TFR_SRCDIR/tests/lib.sh"
[ -z "$TFR_SANITIZE" ] || skip_all "sanitizers want to be loaded first"
preload=$TFR_BUILDDIR/tests/io_fails.so
[ -e "$preload" ] || skip_all "there is no io_fails.so"
cd "$tmp" || exit 99
here=$(pwd -P)
"$TFR_BUILDDIR/tests/cli/train_check" net net.onnx || exit 99
last=step-00000006.safetensors
# Seven checkpoints, of which two stay, so that each kind of call is met.
train() {
    "$TFRUN" -q train --model net.onnx --data 'synthetic?train=32&test=16' --batch-size 16 \
        --epochs 3 --checkpoint-every 1 --keep 1 "$@"
}
# faulty FAULT FOLDER WORD...: with LD_PRELOAD for tfrun alone, not for the script that starts it
faulty() {
    fault=$1 folder=$2
    shift 2
    (
        export LD_PRELOAD="$preload" TFRUN_TEST_IO_FOLDER="$here/$folder" TFRUN_TEST_IO="$fault"
        train --checkpoint-dir "$folder" "$@"
    )
}
# The sound ones are there, and no half of one.
only_checkpoints() { [ -z "$(find "$1" -mindepth 1 ! -name 'step-*.safetensors')" ]; }

# ---- none ----
export TFRUN_TEST_IO_COUNT="$tmp/count"
exits 0 "a training without faults" faulty 0 whole
unset TFRUN_TEST_IO_COUNT
n=$(cat count)
echo "$n calls write in the folder"
claim "its calls are counted" [ "$n" -gt 40 ]
claim "and checkpoints are all that it leaves" only_checkpoints whole

# ---- at each call ----
resume() {
    train --checkpoint-dir "$1" --resume=exact >out 2>err || return
    cmp "whole/$last" "$1/$last" && only_checkpoints "$1" && ! grep -q warning err
}
bad=
for at in $(seq 1 "$n"); do
    rm -rf killed
    faulty "$at:kill" killed >out 2>err && bad="$bad $at (was not killed)"
    resume killed || bad="$bad $at"
done 2>kills
claim "whichever call is the last one, the resumed training has the same bits: $bad" [ -z "$bad" ]

# No space, an error of the disk, a file system that became read-only: in turns.
bad= told=
for at in $(seq 1 "$n"); do
    set -- 28 5 30
    shift $((at % 3))
    rm -rf failed
    got=0
    faulty "$at:$1" failed >out 2>err || got=$?
    case $got in
    0 | 7) ;; # a checkpoint on the way is a warning, the first and the last are errors
    *) bad="$bad $at (exit $got)" ;;
    esac
    [ $got = 0 ] || grep -q '^tfrun: failed' err || told="$told $at"
    resume failed || bad="$bad $at"
done
claim "whichever call fails, the resumed training has the same bits: $bad" [ -z "$bad" ]
claim "and errors name the place: $told" [ -z "$told" ]

# ---- a folder that cannot be written ----
exits 7 "a folder on a file system that is read-only" faulty 1-:30 none
has "is told" err '^tfrun: none.*Read-only file system'
exits 0 "a part of a training" train --checkpoint-dir parts --limit-steps 3
exits 7 "one that became so" faulty 1-:30 parts --resume=exact
has "is told" err '^tfrun: parts.*Read-only file system'
has "with a warning before, for the training went on" err 'warning: no checkpoint was written: parts'
claim "what was there stays and is gone on from" resume parts
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod 555 closed
    exits 7 "a folder without permission" train --checkpoint-dir closed
    has "is told" err '^tfrun: closed.*Permission denied'
else
    skip "root may write in any folder"
fi

# ---- what a killed writer left ----
mkdir left && : >left/.tfrun-0123456789abcdef && : >left/.tfrun-mine && : >left/.tfrun-0123456789abcdeg
: >left/.tfrun-00000000000000aa
exec 9<left/.tfrun-00000000000000aa
if flock -n 9; then
    exits 0 "a training in a folder with files of others" train --checkpoint-dir left --limit-steps 1
    claim "removes what nobody writes any more" [ ! -e left/.tfrun-0123456789abcdef ]
    claim "but not what somebody does" [ -e left/.tfrun-00000000000000aa ]
    claim "nor what has another name" [ -e left/.tfrun-mine ] && [ -e left/.tfrun-0123456789abcdeg ]
else
    skip "this file system has no locks"
fi
exec 9<&-
finish
