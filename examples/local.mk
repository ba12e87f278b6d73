# SPDX-License-Identifier: Apache-2.0
# Examples use what a user has: public headers and the two libraries. tests/build/examples.sh runs
# them.
check_PROGRAMS += examples/run_model
examples_run_model_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
examples_run_model_LDADD = libtfrun-nn.la libtfrun.la
examples_run_model_SOURCES = examples/run_model.c
