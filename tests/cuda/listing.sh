# SPDX-License-Identifier: Apache-2.0
# What a listing says of the CUDA backend, with and without a driver. None of it needs a GPU.
. "$TFR_SRCDIR/tests/lib.sh"

# With the backend's folder where it was built, and only then.
exits 0 "tfrun-dev lists the devices" "$TFR_BUILDDIR/tfrun-dev" --list-devices
claim "and warns of no folder" sh -c '! grep "plugin folder" "$1"' - "$tmp/err"

plugin=$TFR_BUILDDIR/plugins/cuda/.libs/tfrun-cuda.so
if [ ! -e "$plugin" ]; then
    skip "the CUDA backend was switched off"
    finish
fi

readelf -d "$plugin" >"$tmp/dynamic"
claim "it links nothing of CUDA" \
    sh -c '! grep -E "NEEDED.*(cuda|cublas|cudnn|nccl)" "$1"' - "$tmp/dynamic"

units=$TFR_BUILDDIR/plugins/cuda/kernels/units.def
if [ -e "$units" ]; then
    # The first four bytes of a fat binary.
    n=$(od -An -v -tx4 "$plugin" | grep -o ba55ed50 | wc -l)
    claim "it has a fat binary of each file of kernels" test "$n" -ge "$(wc -l <"$units")"
    claim "its row in configure's table says so" \
        grep -q '^  plugin cuda *yes  *kernels for .* by nvcc' "$TFR_BUILDDIR/config.table"
else
    claim "its row in configure's table says what is missing" \
        grep -q '^  plugin cuda *no  *built for tests alone: ' "$TFR_BUILDDIR/config.table"
fi

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
    if [ -e "$TFR_BUILDDIR/tests/cuda/libcublasLt.so.13" ]; then
        mkdir "$tmp/libraries"
        cp "$TFR_BUILDDIR/tests/cuda/libcublasLt.so.13" "$tmp/libraries"
        exits 0 "CUDA's libraries without a driver are no failure either" \
            env LD_LIBRARY_PATH="$tmp/libraries" "$TFRUN" --list-devices --plugin "$plugin" \
            --log-level info
        has "it says which one it could open" "$tmp/err" \
            "tfrun-cuda\.so can open $tmp/libraries/libcublasLt\.so\.13\$"
        has "and misses the driver all the same" "$tmp/out" \
            '^cuda  *missing_library  *1 library is missing: libcuda\.so\.1 '
        if /sbin/ldconfig -p 2>/dev/null | grep -q 'libcublasLt\.so\.13'; then
            skip "libraries of CUDA 12 alone: there are those of CUDA 13"
        else
            mv "$tmp/libraries/libcublasLt.so.13" "$tmp/libraries/libcublasLt.so.12"
            exits 0 "those of CUDA 12 will do" \
                env LD_LIBRARY_PATH="$tmp/libraries" "$TFRUN" --list-devices --plugin "$plugin" \
                --refresh --log-level info
            has "and are named" "$tmp/err" \
                "tfrun-cuda\.so can open $tmp/libraries/libcublasLt\.so\.12\$"
        fi
    fi
fi

# A driver that is there, and what it says.
stand_in=$TFR_BUILDDIR/tests/cuda
if [ ! -e "$stand_in/libcuda.so.1" ]; then
    skip "listings with a driver: its stand-in is not built"
    finish
fi
LD_LIBRARY_PATH=$stand_in${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
listing() { # SWITCHES [OPTION]...
    TFRUN_FAKE_CUDA=$1 XDG_CACHE_HOME=$tmp/cache
    export TFRUN_FAKE_CUDA XDG_CACHE_HOME
    shift
    rm -rf "$tmp/cache"
    exits 0 "a listing with${TFRUN_FAKE_CUDA:+ $TFRUN_FAKE_CUDA}${*:+ $*}" \
        "$TFRUN" --list-devices --plugin "$plugin" "$@"
}
listing "" --json
has "the GPU is known by its UUID" "$tmp/out" '"identity": "uuid:[0-9a-f-]*"'
has "its capability is told" "$tmp/out" '"compute_capability": "9\.0"'
has "and its place on the bus" "$tmp/out" '"pci": "0000:[0-9a-f:.]*"'
has "and its clock" "$tmp/out" '"clock_hz": 1980000000'
has "what is free, nobody knows without a context" "$tmp/out" '"memory_free": null'
listing "devices=2" --json
has "two GPUs reach each other" "$tmp/out" '"peers": "NY"'
listing "devices=2 peers=0" --json
claim "or do not" sh -c '! grep -q "\"peers\": \"[^\"]*Y" "$1"' - "$tmp/out"
listing "log=$tmp/calls"
claim "a listing makes no context and takes no memory" \
    sh -c '! grep -E "^cu(Ctx|DevicePrimaryCtx|Mem|Stream|Library)" "$1"' - "$tmp/calls"
listing "" --plugin-option cuda.logical-devices=2
has "a GPU may be several devices" "$tmp/out" '^GPU:1 '
listing "devices=2" --visible-devices GPU:1
claim "devices can be hidden" test "$(grep -c '^GPU:' "$tmp/out")" = 1

listing "nodevice"
has "no GPU is no failure" "$tmp/out" '^cuda  *no_device  *the NVIDIA driver finds no GPU: .*100); '
CUDA_VISIBLE_DEVICES=7
export CUDA_VISIBLE_DEVICES
listing "nodevice"
has "it says what may hide it" "$tmp/out" 'no GPU, with CUDA_VISIBLE_DEVICES="7"'
unset CUDA_VISIBLE_DEVICES
listing "version=11080"
has "an old driver is told with what it knows" "$tmp/out" \
    '^cuda  *incompatible_driver .*knows CUDA up to 11\.8, and 12\.0 is needed; install driver 525'
listing "absent=cuMemAlloc_v2"
has "a function that is missing is named, with who needs it" "$tmp/out" \
    'has no cuMemAlloc_v2 of CUDA 3\.2, needed by memory; install NVIDIA driver 525'
listing "absent=cuFuncLoad"
has "one that is not needed may be missing" "$tmp/out" '^GPU:0 '
listing "fail=cuInit:1:803"
has "two drivers at once are told" "$tmp/out" 'of different drivers: restart the machine'
listing "prohibited"
has "a GPU that may not be used is told with the next step" "$tmp/out" 'set it with nvidia-smi -i'
listing "capability=75"
has "Turing is new enough" "$tmp/out" '^GPU:0 '
finish
