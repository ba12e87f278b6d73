# SPDX-License-Identifier: Apache-2.0
# What a plugin author needs: the contract, and a template to copy.
tfruninclude_HEADERS += \
	sdk/include/tfrun/fail.h \
	sdk/include/tfrun/plugin.h \
	$(NULL)

dist_template_DATA = \
	sdk/template/Makefile \
	sdk/template/README.md \
	sdk/template/backend.c \
	$(NULL)
