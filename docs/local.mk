# SPDX-License-Identifier: Apache-2.0
EXTRA_DIST += \
	docs/decisions/0001-one-makefile.md \
	docs/decisions/0002-tests-see-the-inside.md \
	docs/decisions/0003-count-what-ran.md \
	$(NULL)
