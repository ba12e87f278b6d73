# SPDX-License-Identifier: Apache-2.0
# What a plugin author needs: the contract, and a template to copy.
sdk_headers = \
	sdk/include/tfrun/fail.h \
	sdk/include/tfrun/host_device.h \
	sdk/include/tfrun/op_digests.h \
	sdk/include/tfrun/plugin.h \
	sdk/include/tfrun/plugin_call.h \
	sdk/include/tfrun/plugin_capture.h \
	sdk/include/tfrun/plugin_comm.h \
	sdk/include/tfrun/plugin_device.h \
	sdk/include/tfrun/plugin_host.h \
	sdk/include/tfrun/plugin_kernel.h \
	sdk/include/tfrun/plugin_memory.h \
	sdk/include/tfrun/plugin_native.h \
	sdk/include/tfrun/plugin_normal.h \
	sdk/include/tfrun/plugin_note.h \
	sdk/include/tfrun/plugin_ops.h \
	sdk/include/tfrun/plugin_profile.h \
	sdk/include/tfrun/plugin_program.h \
	sdk/include/tfrun/plugin_queue.h \
	sdk/include/tfrun/plugin_random.h \
	sdk/include/tfrun/plugin_types.h \
	$(NULL)
tfruninclude_HEADERS += $(sdk_headers)

dist_template_DATA = \
	sdk/template/Makefile \
	sdk/template/README.md \
	sdk/template/backend.c \
	$(NULL)
