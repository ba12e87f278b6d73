# SPDX-License-Identifier: Apache-2.0
# Images and the libraries of data, for libtfrun-nn and for the plugin image.
noinst_LTLIBRARIES += libtfrun-images.la
libtfrun_images_la_CPPFLAGS = $(AM_CPPFLAGS) $(TFR_PLUGIN_INCLUDES)
libtfrun_images_la_SOURCES = \
	images/bmp.c \
	images/codec.c \
	images/codec.h \
	images/jpeg.c \
	images/jpeg2000.c \
	images/library.c \
	images/library.h \
	images/png.c \
	images/pnm.c \
	images/tiff.c \
	images/webp.c \
	$(NULL)
