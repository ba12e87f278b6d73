# SPDX-License-Identifier: Apache-2.0
# Calls of ops as data, what runs them on any backend, and the checks of `tfrun certify`. A family of
# ops is one file of cases/; op_families, of families.mk, are those that scripts/list-sources finds.
include certify/cases/families.mk

noinst_LTLIBRARIES += libtfrun-certify.la
libtfrun_certify_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PUBLIC_INCLUDES)
libtfrun_certify_la_SOURCES = \
	$(op_families) \
	certify/blobs.c \
	certify/blobs.h \
	certify/cases/case.h \
	certify/cases/families.def \
	certify/certify.h \
	certify/check_copy.c \
	certify/check_facts.c \
	certify/check_failure.c \
	certify/check_life.c \
	certify/check_memory.c \
	certify/check_ops.c \
	certify/check_program.c \
	certify/check_queue.c \
	certify/check_room.c \
	certify/checks.c \
	certify/compare.c \
	certify/direct.c \
	certify/direct.h \
	certify/direct_call.c \
	certify/direct_judge.c \
	certify/engine.c \
	certify/engine.h \
	certify/fill.c \
	certify/fill.h \
	certify/hostile.c \
	certify/hostile.h \
	certify/hostile_table.c \
	certify/make.c \
	certify/make.h \
	certify/memory_limit.c \
	certify/memory_limit.h \
	certify/pattern.c \
	certify/pattern.h \
	certify/queues.c \
	certify/queues.h \
	certify/signature.c \
	certify/subject.c \
	certify/subject.h \
	certify/tables.c \
	certify/tables.h \
	$(NULL)

# What `tfrun certify` loads; the tests have libtfrun-certify.la inside.
tfrunexec_LTLIBRARIES += certify/tfrun-certify.la
certify_tfrun_certify_la_CPPFLAGS = $(libtfrun_certify_la_CPPFLAGS)
certify_tfrun_certify_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-export-symbols-regex '^tfrun_certify$$'
certify_tfrun_certify_la_LIBADD = libtfrun-certify.la libtfrun.la -lpthread -lm
certify_tfrun_certify_la_SOURCES = certify/module.c
