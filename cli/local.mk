# SPDX-License-Identifier: Apache-2.0
# The tfrun command: one file a subcommand.
bin_PROGRAMS += tfrun
tfrun_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES) $(JANSSON_CFLAGS)
tfrun_SOURCES = \
	cli/placeholder.c \
	$(NULL)
tfrun_LDADD = libtfrun-nn.la libtfrun.la $(JANSSON_LIBS)
