# SPDX-License-Identifier: Apache-2.0
# Examples use what a user has: public headers and the two libraries. tests/build/examples.sh and
# tests/sdk/template.sh run them.
check_PROGRAMS += \
	examples/list_devices \
	examples/run_model \
	examples/run_op \
	examples/train_mnist \
	$(NULL)

examples_list_devices_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
examples_list_devices_LDADD = libtfrun.la
examples_list_devices_SOURCES = examples/list_devices.c

examples_run_model_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
examples_run_model_LDADD = libtfrun-nn.la libtfrun.la
examples_run_model_SOURCES = examples/run_model.c

examples_run_op_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
examples_run_op_LDADD = libtfrun.la
examples_run_op_SOURCES = examples/run_op.c

examples_train_mnist_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
examples_train_mnist_LDADD = libtfrun-nn.la libtfrun.la
examples_train_mnist_SOURCES = examples/train_mnist.c
