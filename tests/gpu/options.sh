# SPDX-License-Identifier: Apache-2.0
# What run.sh, which tests on a GPU, does without one: its options, what it says of tools that are
# missing, and its exit status where there is no GPU. It builds nothing here.
. "$TFR_SRCDIR/tests/lib.sh"

run=$TFR_SRCDIR/tests/gpu/run.sh
cd "$tmp" || exit 99
exits 0 "it tells its options" "$run" --help
exits 2 "an option that it does not know ends it" "$run" --built
has "with its name" err 'unknown option --built,'
exits 2 "so do tests that it does not have" "$run" --only=cases,speed
has "with their name" err 'no tests called speed'
exits 2 "a number that is none" "$run" --seeds=many
has "is told" err '"many" is no number'
exits 2 "a folder that is not there" "$run" --with-jansson=absent
has "is told, too" err 'absent is no folder'

# A checkout without configure, on a machine without Autotools.
mkdir -p tree/tests/gpu bin
cp "$run" tree/tests/gpu/
for tool in sh cat mkdir find sort sed tr dirname rm; do
    ln -s "$(command -v $tool)" bin/
done
exits 2 "without a compiler it ends" env PATH="$tmp/bin" tree/tests/gpu/run.sh
has "and names it" err 'no C compiler; install gcc'
for tool in cc make nvcc; do
    printf '#!/bin/sh\n' >bin/$tool
    chmod +x bin/$tool
done
exits 2 "without configure and Autotools it ends" env PATH="$tmp/bin" CC=cc tree/tests/gpu/run.sh
has "and says what is missing" err 'no configure, and Autotools'
exits 2 "a compiler may have arguments" env PATH="$tmp/bin" CC='cc -m64' tree/tests/gpu/run.sh
has "and is found" err 'no configure, and Autotools'
has "and the next step" err 'Run `make dist`'

# A configure that keeps what it was asked for, and fails.
for tool in date tee tail uname nproc; do
    ln -s "$(command -v $tool)" bin/
done
printf '#!/bin/sh\necho "$@" >configured\nexit 1\n' >tree/configure
chmod +x tree/configure
configured() { # CAPABILITIES OPTION...
    printf '#!/bin/sh\nprintf "%s"\n' "$1" >bin/nvidia-smi
    chmod +x bin/nvidia-smi
    shift
    exits 2 "a configure that fails ends it" env PATH="$tmp/bin" CC=cc tree/tests/gpu/run.sh \
        --out=results "$@"
}
configured '9.0\\n8.6\\n9.0\\n'
has "it was asked for kernels of the GPUs that are there" tree/build-gpu/configured \
    'with-cuda-arch=86,90a'
has "its seconds are kept" results/times.txt '^configure: [0-9]* s$'
configured '9.0\\n' --with-cuda-arch=75
has "or of what was given" tree/build-gpu/configured 'with-cuda-arch=75'
configured '9.0\\n12.0\\n'
claim "a newer GPU takes all, with PTX" sh -c '! grep with-cuda-arch "$1"' - tree/build-gpu/configured

plugin=$TFR_BUILDDIR/plugins/cuda/.libs/tfrun-cuda.so
if [ ! -e "$plugin" ]; then
    skip "what it does with a build: the CUDA backend was switched off"
    finish
fi
unset LD_LIBRARY_PATH
built() { "$run" --built="$TFR_BUILDDIR" --out="$tmp/results" --no-bench --only=listing "$@"; }
stand_in=$TFR_BUILDDIR/tests/cuda
if /sbin/ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
    skip "a machine without a driver, for this one has one"
else
    exits 3 "a machine without a driver" built
    has "is told by the listing" out 'libcuda\.so\.1'
    has "and in a sentence" out 'there is no GPU, as the table says'
fi
if [ -e "$stand_in/libcuda.so.1" ]; then
    LD_LIBRARY_PATH=$stand_in
    TFRUN_FAKE_CUDA=nodevice
    export LD_LIBRARY_PATH TFRUN_FAKE_CUDA
    exits 3 "a driver without a GPU is none, either" built
    TFRUN_FAKE_CUDA=devices=1
    exits 0 "with a GPU it tests" built
    has "and counts" out '^[1-9][0-9]* passed, 0 failed, 0 skipped'
    has "into a file, too" results/summary.txt '^[1-9][0-9]* passed, 0 failed'
    has "and says what the machine is" results/machine.txt '^tfrun 0'
    exits 1 "tests that have no time fail" built --time-limit=0
    exits 0 "certify ends when its time is up" built --only=certify --certify-limit=1
    has "and what had none is skipped, by name" out \
        '^skipped: certify has no time for these, .*: [A-Z][A-Za-z]*,.*[,]Relu[,]'
    has "which is no failure" out '^0 passed, 0 failed, 1 skipped'
else
    skip "a machine with a GPU: the stand-in of the driver is not built"
fi
finish
