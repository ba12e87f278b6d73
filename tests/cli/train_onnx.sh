# SPDX-License-Identifier: Apache-2.0
# A trained model that was exported is as good in `tfrun run` as in the training. With
# TFRUN_TEST_PYTHON, a Python that has onnxruntime and numpy, also in ONNX Runtime.
. "$TFR_SRCDIR/tests/lib.sh"
cd "$tmp" || exit 99
check=$TFR_BUILDDIR/tests/cli/train_check
data='synthetic?train=400&test=200'
"$check" net net.onnx || exit 99
"$check" samples "$data" x.npy y.npy || exit 99

exits 0 "a model is trained" "$TFRUN" train --model net.onnx --data "$data" --epochs 4 -o out.onnx \
    --learning-rate .01
told=$(sed -n 's/^epoch 4.*validation accuracy \([0-9.]*\);.*/\1/p' out)
claim "it is better than guesses" awk "BEGIN { exit !(${told:-0} > .25) }"
exits 0 "it runs" "$TFRUN" run out.onnx -i x.npy -o scores.npy
claim "with the accuracy that the training told" \
    test "$("$check" accuracy scores.npy y.npy)" = "$told"
if [ -n "${TFRUN_TEST_PYTHON:-}" ]; then
    exits 0 "ONNX Runtime runs it" "$TFRUN_TEST_PYTHON" -c '
import numpy, onnxruntime
session = onnxruntime.InferenceSession("out.onnx", providers=["CPUExecutionProvider"])
scores = session.run(None, {session.get_inputs()[0].name: numpy.load("x.npy")})[0]
print("%.4f" % (scores.argmax(1) == numpy.load("y.npy")).mean())'
    claim "with the same accuracy" test "$(cat out)" = "$told"
else
    skip "TFRUN_TEST_PYTHON names no Python with onnxruntime"
fi
finish
