# SPDX-License-Identifier: Apache-2.0
# All models of libonnx-testdata, if it is installed, once optimized and written: they pass the same
# tests as before, and onnx's own checker takes them, where Python has it.
. "$TFR_SRCDIR/tests/lib.sh"
data=/usr/share/libonnx-testdata/data
[ -d "$data/node" ] || skip_all "libonnx-testdata is not installed"
TFRUN_PLUGIN_PATH=$TFR_BUILDDIR/.libs
mkdir "$tmp/data"
ls -d "$data"/*/*/ | sed "s|^$data/||; s|/$||" >"$tmp/models"

for set in node simple pytorch-converted pytorch-operator; do
    claim "all models of $set are optimized" \
        "$TFR_BUILDDIR/tests/optimize_models" "$data/$set" "$tmp/data/$set"
done
claim "and pass ONNX's tests as before" \
    env TFR_ONNX_DATA="$tmp/data" sh "$TFR_SRCDIR/tests/onnx_backend.sh"

python=${PYTHON:-python3}
"$python" -c 'import onnx.checker' 2>/dev/null || {
    skip "$python has no module onnx, whose checker looks at written models"
    finish
}
# What the checker refuses of the original is the original's.
cat >"$tmp/check.py" <<'EOF2'
import sys

import onnx

def refuses(path):
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as error:
        return " ".join(str(error).split())
    return ""

bad = 0
before, after = sys.argv[1:]
for name in sys.stdin.read().split():
    why = refuses(f"{after}/{name}/model.onnx")
    if why and not refuses(f"{before}/{name}/model.onnx"):
        print(f"{name}: {why}")
        bad = 1
sys.exit(bad)
EOF2
claim "onnx's checker takes what is written" \
    "$python" "$tmp/check.py" "$data" "$tmp/data" <"$tmp/models"
finish
