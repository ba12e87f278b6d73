# SPDX-License-Identifier: Apache-2.0
# The figures of run.sh, after its tests: files in $out, and the numbers that matter on the screen.
# shellcheck disable=SC2154 # run.sh has set them

# measure FILE SECONDS TEXT COMMAND...: standard output is the figures.
measure() {
    file=$out/$1 seconds=$2
    say "$3"
    shift 3
    if timeout -k 5 "$seconds" "$@" >"$file" 2>"$file.err" </dev/null; then
        cat "$file"
    else
        echo "no figures (exit $?): $(tail -n 1 "$file.err")"
    fi
}

run_benches() {
    for mode in strict tf32 bf16; do
        measure "matmul_$mode.txt" 120 "products of float32, math mode $mode" \
            "$TFRUN" bench matmul --plugin "$plugin" --device "$device" --peers none \
            --math-mode $mode --size "${TFR_GPU_SIZES:-500,1024,2048,4096,8192}"
    done
    for mode in strict tf32 bf16; do
        measure "train_$mode.txt" 120 "a step of the guides' CNN, batches from the host, $mode" \
            "$TFRUN" bench train --plugin "$plugin" --device "$device" --peers none \
            --math-mode $mode
        measure "epochs_$mode.txt" 120 "epochs of it, samples on the device, $mode" \
            "$TFRUN" train mnist-cnn --data 'synthetic?train=60000&test=1000' --epochs 4 \
            --plugin "$plugin" --device "$device" --fallback error --math-mode $mode
        tail -n 5 "$out/epochs_$mode.txt.err"
    done
    # A small model: what is left of its time is launches.
    model=$out/mnist.onnx
    [ -f "$model" ] || "$TFRUN" train mnist-cnn --data 'synthetic?train=64&test=16' --epochs 0 -q \
        -o "$model" >"$out/export.log" 2>&1
    for on in on off; do
        measure "launches_$on.txt" 60 "11 launches a run, --capture=$on" "$TFRUN" run "$model" \
            --plugin "$plugin" --device "$device" --capture=$on --random-inputs=1 \
            --runs="${TFR_GPU_RUNS:-500}" --quiet
    done
    if "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
        measure torch.txt 240 "the same by PyTorch, with CUDA graphs" \
            "$python" "$here/torch_peer.py"
    else
        say "no PyTorch that sees a GPU: no peers"
    fi
    "$python" -c 'import jax; jax.devices("gpu")' 2>/dev/null &&
        measure jax.txt 240 "epochs by JAX, one scan each" "$python" "$here/jax_peer.py"
}
