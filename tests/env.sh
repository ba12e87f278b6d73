# SPDX-License-Identifier: Apache-2.0
# The environment of every test: the build tree's programs and plugins, and nothing of the user's.
# Sourced with TFR_SRCDIR, TFR_BUILDDIR, TFR_CC and TFR_SANITIZE set.
for tfr_var in $(env | sed -n 's/^\(TFRUN_[A-Z_]*\)=.*/\1/p'); do
    unset "$tfr_var"
done
unset tfr_var CUDA_VISIBLE_DEVICES
LC_ALL=C
NO_COLOR=1
TFRUN=$TFR_BUILDDIR/tfrun
# What an earlier run has measured must not decide where nodes of a test run.
TFRUN_TUNING=off TFRUN_STORE=off
export TFRUN_TUNING TFRUN_STORE
TFRUN_PLUGIN_PATH=$TFR_BUILDDIR/.libs
# No plugin of a tfrun that is installed under this build's prefix comes into a test.
TFRUN_PLUGIN_DIR=$TFR_BUILDDIR/tests/no-plugins
export TFRUN_PLUGIN_DIR
TFRUN_PROBE=$TFR_BUILDDIR/tfrun-probe
XDG_CACHE_HOME=$TFR_BUILDDIR/tests/xdg/cache
XDG_CONFIG_HOME=$TFR_BUILDDIR/tests/xdg/config
# The leak checker of gcc 12 reads thread-local blocks of plugins wrongly and crashes; it need not.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}intercept_tls_get_addr=0
export ASAN_OPTIONS
export TFR_SRCDIR TFR_BUILDDIR TFR_CC TFR_SANITIZE LC_ALL NO_COLOR
export TFRUN TFRUN_PLUGIN_PATH TFRUN_PROBE XDG_CACHE_HOME XDG_CONFIG_HOME
