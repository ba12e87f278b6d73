#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Some steps of the guides' CNN on digits that are made up, with more options: for checks.sh.
exec "$TFRUN" train mnist-cnn --data 'synthetic?train=1024&test=64' --epochs 1 --batch-size 64 \
    --limit-steps "${TFR_GPU_STEPS:-12}" --json --plugin "$plugin" "$@"
