# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += docs/tfrun.1
EXTRA_DIST += \
	docs/architecture.md \
	docs/cpu-backends.md \
	docs/decisions/0001-one-makefile.md \
	docs/decisions/0002-tests-see-the-inside.md \
	docs/decisions/0003-count-what-ran.md \
	docs/decisions/0004-sections.md \
	docs/decisions/0005-one-list-of-statuses.md \
	docs/decisions/0006-listing-loads-nothing.md \
	docs/decisions/0007-programs-are-steps.md \
	docs/decisions/0008-prices-and-plans.md \
	docs/decisions/0009-winograd.md \
	docs/decisions/0010-one-pool.md \
	docs/decisions/0011-libraries-on-demand.md \
	docs/decisions/0012-weights-where-they-lie.md \
	docs/decisions/0013-regex.md \
	docs/decisions/0014-files-that-change.md \
	docs/decisions/0015-one-inference.md \
	docs/decisions/0016-native-and-found-lists.md \
	docs/decisions/0017-runs-that-do-not-end.md \
	docs/decisions/0018-spaces-have-roles.md \
	docs/decisions/0019-copies-between-devices.md \
	docs/decisions/0020-variables-where-they-are-used.md \
	docs/decisions/0021-captures.md \
	docs/decisions/0022-ops-of-plugins.md \
	docs/decisions/0023-memory-domains.md \
	docs/decisions/0024-building-determinism-and-groups.md \
	docs/decisions/0025-certify-calls-slots-itself.md \
	docs/decisions/0026-size-of-libtfrun.md \
	docs/decisions/0027-data-in-memory.md \
	docs/decisions/0028-the-loop-of-a-training.md \
	docs/decisions/0029-updates-that-are-left-out.md \
	docs/decisions/0030-loops-are-differentiated-by-computing-again.md \
	docs/decisions/0031-stages-of-training-programs.md \
	docs/decisions/0032-shards-of-a-training.md \
	docs/decisions/0034-batch-statistics-in-a-step.md \
	docs/decisions/0035-strided-reads.md \
	docs/decisions/0036-cuda-host-half.md \
	docs/decisions/0038-cuda-stand-ins.md \
	docs/decisions/0037-cuda-kernels-on-the-cpu.md \
	docs/differences.md \
	docs/notations.md \
	docs/ops.md \
	docs/plugin-guide.md \
	docs/training-peers.md \
	$(NULL)
