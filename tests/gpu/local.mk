# SPDX-License-Identifier: Apache-2.0
# Tests of the CUDA backend on a GPU: run.sh is started by hand, on a machine that has one.
shell_tests += tests/gpu/options.sh
EXTRA_DIST += \
	tests/gpu/bench.sh \
	tests/gpu/checks.sh \
	tests/gpu/jax_peer.py \
	tests/gpu/run.sh \
	tests/gpu/torch_peer.py \
	tests/gpu/train.sh \
	$(NULL)
