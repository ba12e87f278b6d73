# SPDX-License-Identifier: Apache-2.0
# What a listing says of the CUDA backend, with and without a driver. None of it needs a GPU.
. "$TFR_SRCDIR/tests/lib.sh"

plugin=$TFR_BUILDDIR/plugins/cuda/.libs/tfrun-cuda.so
if [ ! -e "$plugin" ]; then
    skip "the CUDA backend was switched off"
    finish
fi

readelf -d "$plugin" >"$tmp/dynamic"
claim "it links nothing of CUDA" \
    sh -c '! grep -E "NEEDED.*(cuda|cublas|cudnn|nccl)" "$1"' - "$tmp/dynamic"

# The search is the dynamic linker's, which knows a driver that is installed.
if /sbin/ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
    skip "a listing without a driver, for there is one"
else
    exits 0 "a listing without a driver is no failure" \
        env -u LD_LIBRARY_PATH "$TFRUN" --list-devices --plugin "$plugin"
    has "the processor is listed" "$tmp/out" '^CPU:0 '
    has "it says which library is missing" "$tmp/out" \
        '^cuda  *missing_library  *1 library is missing: libcuda\.so\.1 (needed by tfrun-cuda\.so)'
    has "and the next step" "$tmp/out" 'install the packages that have the libraries'
fi
finish
