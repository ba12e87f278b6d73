# SPDX-License-Identifier: Apache-2.0
# `tfrun train`: what it shows and writes, that it stops and goes on, and what it refuses.
. "$TFR_SRCDIR/tests/lib.sh"
cd "$tmp" || exit 99
check=$TFR_BUILDDIR/tests/cli/train_check
"$check" net net.onnx || exit 99
data='synthetic?train=100&test=40'
last=step-00000021.safetensors # of three epochs of 100 samples by 16
train() { "$TFRUN" train --model net.onnx --data "$data" --batch-size 16 --epochs 3 "$@"; }

# ---- the network of the guides ----
exits 0 "the CNN trains" "$TFRUN" train mnist-cnn --data 'synthetic?train=48&test=16' --epochs 1 \
    --batch-size 16 -o cnn.onnx
has "with a line for the epoch" out \
    '^epoch 1/1: loss [0-9.]*, accuracy [0-9.]*; validation loss [0-9.]*, validation accuracy [0-9.]*; '
has "and where the model is" out '^model       cnn.onnx$'
claim "and nothing else is said" test ! -s err
exits 0 "its weights can be PyTorch's" "$TFRUN" train mnist-cnn --data 'synthetic?train=16&test=4' \
    --limit-steps 1 --batch-size 8 --defaults torch --optimizer sgd --momentum .9
has "a limit ends with a validation" out '^validation  loss [0-9.]*, accuracy [0-9.]*$'

# ---- any model ----
exits 0 "an ONNX model trains" train --checkpoint-dir whole --log-dir log --plot curves.svg \
    -o trained.onnx --log-every 5
has "for three epochs" out '^epoch 3/3: '
has "of 21 steps" out '^trained     21 steps, 21 of them in '
has "and tells the checkpoint" out "^checkpoint  whole/$last\$"
claim "the first checkpoint, three epochs', less than kept" test "$(ls whole | wc -l)" -ge 3
has "curves.csv has its columns" log/curves.csv \
    '^step,loss/train,loss/validation,accuracy/train,accuracy/validation$'
claim "with a row each five steps, at ends of epochs, and for validations" \
    test "$(cut -d, -f1 log/curves.csv | tr '\n' ' ')" = "step 5 7 7 10 14 14 15 20 21 21 "
claim "there is a file for TensorBoard" sh -c 'ls log/events.out.tfevents.*.*.*'
has "the plot has lines" curves.svg '<polyline'
exits 0 "training lowers the loss" sh -c '
    first=$(sed -n "s/^5,\([0-9.]*\),.*/\1/p" log/curves.csv)
    last=$(sed -n "s/^20,\([0-9.]*\),.*/\1/p" log/curves.csv)
    awk "BEGIN { exit !($last < $first) }"'
exits 0 "no epochs are a test" "$TFRUN" train --model trained.onnx --data "$data" --epochs 0
has "of the trained model" out '^validation  loss [0-9.]*, accuracy [0-9.]*$'
exits 0 "numbers of the optimizer are taken" train --epochs 1 --optimizer adamw \
    --learning-rate .01 --beta-1 .8 --beta-2 .99 --epsilon 1e-6 --weight-decay .01 \
    --clip-norm 1 --clip-value .5 --no-shuffle --loss softmax_cross_entropy --math-mode strict

exits 0 "losses are weighed and scaled" train --epochs 1 --class-weights 1,1,2,1,1,1,1,.5,1,1 \
    --loss-scale 1024 --checkpoint-dir weighed
exits 5 "which a training goes on with" train --epochs 2 --class-weights 1,1,2,1,1,1,1,1,1,1 \
    --loss-scale 1024 --checkpoint-dir weighed --resume=exact
has "or says what differs" err '"class weights 1,1,2,1,1,1,1,.5,1,1" then, "class weights 1,1,2,1,1,1,1,1,1,1" now$'
exits 0 "values are computed again" train --epochs 1 --recompute segments --checkpoint-dir again
exits 0 "or not" train --epochs 1 --programs off --checkpoint-dir kept
claim "with the same weights" sh -c '
    for d in again kept; do tail -c 200 "$d/step-00000007.safetensors" >"$d.end"; done
    cmp again.end kept.end'
exits 2 "a way that there is not" train --recompute all
exits 0 "as far as a limit of memory asks for" train --epochs 1 --limit-steps 1 --memory-limit 8
exits 6 "or the training ends before its first step" "$TFRUN" train mnist-cnn --memory-limit 1 \
    --data 'synthetic?train=64&test=16' --limit-steps 1
has "with what a step takes" err \
    'a step of 64 samples takes [0-9]* bytes for its values, .* the limit is 1048576'
exits 0 "a scale may move" train --epochs 1 --loss-scale dynamic:64 --limit-steps 1
exits 5 "a scale is a number" train --loss-scale 12x
has "which is told" err '[-]-loss-scale takes none, dynamic, dynamic:S or a number above 0, not "12x"$'
exits 5 "weights are numbers" train --class-weights 1,,2
has "which is told" err '[-]-class-weights takes numbers with commas between them, not "1,,2"$'
exits 5 "there are as many as classes" train --class-weights 1,2
has "which is told" err '2 weights of classes for scores of 10 classes$'

# ---- JSON ----
exits 0 "events are objects" train --epochs 1 --json --checkpoint-dir json --log-every 3
claim "one a line" sh -c '! grep -v "^{\"schema\":\"tfrun.train/1\",\"event\":\"[a-z]*\",.*}$" out'
claim "in their order" test "$(sed 's/.*"event":"\([a-z]*\)".*/\1/' out | tr '\n' ' ')" = \
    "start checkpoint step step step epoch checkpoint end "
has "a step has its metrics" out '"event":"step","epoch":0,"step":3,"done":48,"recent":{"samples":48,"loss":'
has "the end says so" out '"event":"end","end":"done","epochs":1,"step":7,'

# ---- going on ----
exits 0 "a part of a training" train --checkpoint-dir parts --limit-steps 9 --log-dir partlog
exits 5 "is not begun anew over its checkpoints" train --checkpoint-dir parts
has "which are told" err 'parts: there are checkpoints of a training, the newest after 9 steps'
exits 0 "it goes on" train --checkpoint-dir parts --resume=exact --log-dir partlog --log-every 5
has "where it was" err '^tfrun: going on after 9 steps, in epoch 2 of 3$'
claim "and ends with the same bits" cmp "whole/$last" "parts/$last"
claim "and steps of curves that go on" \
    test "$(cut -d, -f1 partlog/curves.csv | sort -n | tr '\n' ' ')" = \
    "step 7 7 10 14 14 15 20 21 21 "
exits 0 "what has ended goes on with nothing" train --checkpoint-dir parts --resume
has "and says so" err 'the training is over already, after 21 steps'
exits 0 "to resume from no checkpoint is to begin" train --checkpoint-dir none --resume --limit-steps 2
has "and says so" err 'none has no checkpoint; the training begins anew'
exits 5 "other options are not the same training" train --checkpoint-dir none --resume=exact \
    --learning-rate .5
has "which says what differs" err '"learning rate default" then, "learning rate 0.5" now$'
exits 0 "but may go on" train --checkpoint-dir none --resume --learning-rate .5 --threads 1
has "with a warning" err 'tfrun: warning: from here on the bits may differ'
exits 0 "shards are cut from batches" train --epochs 1 --shards 3 --threads 1 --device naive:0 \
    --checkpoint-dir shards --limit-steps 3
exits 0 "and go on with other threads" train --epochs 1 --shards 3 --device naive:0 \
    --checkpoint-dir shards --resume=exact
exits 5 "but not as another number of shards" train --epochs 2 --shards 4 --device naive:0 \
    --checkpoint-dir shards --resume=exact
has "which is told" err '"shards 3" then, "shards 4" now$'
exits 2 "no shards" train --shards 0
printf 'no more' >"parts/step-00000099.safetensors"
exits 0 "a checkpoint that is torn is left out" train --checkpoint-dir parts --resume --epochs 4
has "with a warning" err 'warning: parts/step-00000099.safetensors: '

# ---- signals ----
# stops SIGNAL WORD...: trains for ever, and gets the signal after the first step.
stops() {
    signal=$1
    shift
    rm -f running
    (exec "$TFRUN" train --model net.onnx --data "$data" --batch-size 16 --epochs 100000 --json \
        --log-every 1 "$@" >running 2>running.err) &
    pid=$!
    until grep -q '"event":"step"' running 2>grep.err || ! kill -0 $pid; do sleep .05; done
    kill -"$signal" $pid
    wait $pid
}
exits 75 "TERM stops with a checkpoint" stops TERM --checkpoint-dir stopped
has "and says how to go on" running.err \
    '^  .*tfrun train --model net.onnx --data .synthetic?train=100&test=40. .* --resume$'
has "the events end with it" running '"event":"end","end":"stopped"'
stopped=$(ls stopped | tail -n 1 | sed 's/step-0*\([0-9]*\).*/\1/')
exits 0 "it goes on from there" train --epochs 100000 --checkpoint-dir stopped --resume=exact \
    --limit-steps $((stopped + 1))
has "from that step" err "^tfrun: going on after $stopped steps"
exits 1 "without a folder" stops TERM -o stopped.onnx
has "the weights go to the model" running.err 'but the weights are in stopped.onnx$'
claim "which is there" test -s stopped.onnx

# ---- a device with half of the ops ----
fakeacc=$TFR_BUILDDIR/tests/fakeacc/.libs/fakeacc.so
loss() { sed -n 's/^epoch 1.*validation loss \([0-9.]*\),.*/\1/p' "$1"; }
if [ -e "$fakeacc" ]; then
    exits 0 "the CPU trains" train --device CPU:0 --epochs 1
    mv out cpu
    exits 0 "so does an accelerator" train --device NPU:0 --plugin "$fakeacc" --epochs 1
    claim "to the same loss" awk "BEGIN { d = $(loss cpu) - $(loss out); exit !(d * d < 1e-6) }"
    has "what runs elsewhere and its copies are told" err \
        'placement: warning: [0-9]* nodes run elsewhere than on fakeacc:0 ([0-9]* copies, [0-9]* bytes a run)'
    exits 4 "or refused" train --device NPU:0 --plugin "$fakeacc" --epochs 1 --fallback=error
else
    skip "there is no fakeacc.so"
fi

# ---- places that cannot be written ----
: >file
exits 7 "a folder of checkpoints that is a file" train --checkpoint-dir file
has "is told" err '^tfrun: file'
exits 7 "a model that has no place" train -o none.d/x.onnx
has "is told before the training" err '^tfrun: none.d/x.onnx cannot be written: No such file'
exits 7 "a folder of curves that is a file" train --log-dir file
has "is told" err '^tfrun: file'

# ---- wrong words ----
exits 2 "no network" "$TFRUN" train --data synthetic
has "is told" err 'what to train is missing: mnist-cnn, or --model=FILE; see `tfrun train --help`$'
exits 2 "an unknown network" "$TFRUN" train resnet --data synthetic
has "is told" err 'there is no network "resnet"; there is mnist-cnn'
exits 2 "two networks" "$TFRUN" train mnist-cnn --model net.onnx --data synthetic
exits 2 "no data" "$TFRUN" train mnist-cnn
has "are told" err '[-]-data is missing'
exits 2 "resuming from nowhere" train --resume
exits 2 "a way to resume that there is not" train --resume=almost --checkpoint-dir x
has "is answered with those there are" err '[-]-resume takes no value or one of exact, not "almost"'
exits 5 "an unknown optimizer" train --optimizer adma
has "is answered with those there are" err '"adma".* adam'
exits 5 "an unknown loss" train --loss hinge
exits 5 "nothing but frozen weights" train --freeze '*'
exits 3 "data that are not there" train --data idx:nowhere
has "are told" err 'nowhere'
exits 7 "a model that is not there" "$TFRUN" train --model none.onnx --data "$data"
exits 3 "a device that is not there" train --device GPU:7
mkdir wide
"$check" samples "$data" x.npy y.npy || exit 99
exits 5 "a model of other inputs" "$TFRUN" train --model "$TFR_SRCDIR/README.md" --data "$data"
finish
