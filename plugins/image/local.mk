# SPDX-License-Identifier: Apache-2.0
# tfrun-image.so: ImageDecoder. The libraries of the formats are opened when an image needs them, so
# that it builds everywhere.
plugin_LTLIBRARIES += tfrun-image.la
tfrun_image_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES) -I$(top_srcdir)
tfrun_image_la_LDFLAGS = $(AM_LDFLAGS) $(TFR_MODULE_FLAGS)
tfrun_image_la_LIBADD = libtfrun-images.la
tfrun_image_la_SOURCES = plugins/image/image.c
