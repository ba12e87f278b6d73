#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds this tree, tests the CUDA backend on a GPU, and measures it. Made for machines that have a GPU,
# nvcc, a C compiler and make, and little else: run it in an unpacked release (`make dist`), which
# has configure. tests/gpu/run.sh --help tells the options; the last line of the tests is
# "N passed, N failed, N skipped".
set -u

usage() {
    cat <<'END'
usage: tests/gpu/run.sh [OPTION]...

Builds what is needed of the tree, tests the CUDA backend on a GPU, and measures it.

  --build=DIR          build there; default is build-gpu
  --built=DIR          take the build that lies there, as it is
  --out=DIR            write logs and figures there; default is gpu-results
  --with-cuda=PREFIX   CUDA's folder, with bin/nvcc; default is where PATH has it
  --with-cuda-arch=LIST
                       compute capabilities, as configure takes them; default is those
                       of the GPUs that are there, as nvidia-smi says
  --with-jansson=DIR   a folder, however deep, with jansson.h and libjansson, for
                       example an unpacked package
  --library-path=DIR   a folder with libcublasLt, libcudnn, libcusolver or libnccl;
                       may be given again. Those of Python's packages are found without it
  --device=NAME        test this one; default is cuda:0
  --plugin=FILE        the backend; default is that of the build
  --only=LIST          of listing, cases, training, capture, limits, faults, certify
                       and sanitizer; default is all
  --seeds=N            calls of each op case; default is 12
  --time-limit=S       seconds for all tests; default is 480
  --certify-limit=S    seconds of these for certify; default is 150. What has no time is told
  --no-bench           measure nothing
  --python=PROGRAM     for PyTorch's figures; default is python3
  --help               this text

Exit status: 0 all tests passed, 1 some failed, 2 it could not be built or the
options are wrong, 3 built, and there is no GPU.
END
}
die() {
    echo "run.sh: $*" >&2
    exit 2
}
say() { echo "==> $*"; }

# timed NAME COMMAND...: says how long it takes, and keeps it in $out/times.txt. One may be in another.
timed() { timed_since "$(date +%s)" "$@"; }
timed_since() {
    command_of "$@"
    result=$?
    echo "$2: $(($(date +%s) - $1)) s" | tee -a "$out/times.txt"
    return $result
}
command_of() { # BEGIN NAME COMMAND...
    shift 2
    "$@"
}

# ---- options ----
src=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
build= built= out=gpu-results cuda= arch= jansson= libraries= device=cuda:0 plugin=
only=listing,cases,certify,training,capture,limits,faults,sanitizer
seeds=12 limit=480 certify_limit=150 bench=yes python=python3
for option; do
    value=${option#*=}
    case $option in
    --build=?*) build=$value ;;
    --built=?*) built=$value ;;
    --out=?*) out=$value ;;
    --with-cuda=?*) cuda=$value ;;
    --with-cuda-arch=?*) arch=$value ;;
    --with-jansson=?*) jansson=$value ;;
    --library-path=?*) libraries=$libraries:$value ;;
    --device=?*) device=$value ;;
    --plugin=?*) plugin=$value ;;
    --only=?*) only=$value ;;
    --seeds=?*) seeds=$value ;;
    --time-limit=?*) limit=$value ;;
    --certify-limit=?*) certify_limit=$value ;;
    --no-bench) bench=no ;;
    --python=?*) python=$value ;;
    --help)
        usage
        exit 0
        ;;
    *) die "unknown option $option, or it lacks its value; see tests/gpu/run.sh --help" ;;
    esac
done
for number in "$seeds" "$limit" "$certify_limit"; do
    case $number in *[!0-9]*) die "\"$number\" is no number" ;; esac
done
for name in $(echo "$only" | tr ',' ' '); do
    case $name in
    listing | cases | certify | training | capture | limits | faults | sanitizer) ;;
    *) die "--only: there are no tests called $name" ;;
    esac
done
for folder in "$cuda" "$jansson" "$built" $(echo "$libraries" | tr ':' ' '); do
    [ -z "$folder" ] || [ -d "$folder" ] || die "$folder is no folder"
done
mkdir -p "$out" || die "cannot make the folder $out for results"
out=$(cd "$out" && pwd)
[ -z "$built" ] || build=$(cd "$built" && pwd)
build=${build:-$src/build-gpu}
: >"$out/times.txt"

# ---- building ----
# A library that is not where compilers look: FILE's folder below --with-NAME.
folder_of() { find "$1" -name "$2" 2>/dev/null | sort | sed -n '1s,/[^/]*$,,p'; }

find_jansson() {
    if [ "$jansson" ]; then
        include=$(folder_of "$jansson" jansson.h)
        lib=$(folder_of "$jansson" libjansson.so)
        [ "$include" ] && [ -e "$lib/libjansson.so" ] ||
            die "$jansson has no jansson.h or no libjansson.so; unpack libjansson-dev and libjansson4 there"
        # No file and no -l:NAME: libtool puts the one too early, make takes the other for a rule.
        JANSSON_CFLAGS=-I$include JANSSON_LIBS="-L$lib -Wl,-rpath,$lib -ljansson"
        export JANSSON_CFLAGS JANSSON_LIBS
    elif ! ${PKG_CONFIG:-pkg-config} --exists jansson 2>/dev/null; then
        echo '#include <jansson.h>' | ${CC:-cc} -E - >/dev/null 2>&1 || die \
            "jansson is missing: install libjansson-dev, or unpack its packages into a folder and give it by --with-jansson=FOLDER"
        JANSSON_CFLAGS=' ' JANSSON_LIBS=-ljansson
        export JANSSON_CFLAGS JANSSON_LIBS
    fi
}

# Kernels for what is there alone: each further architecture costs nvcc 20 s of one processor. A newer
# GPU than configure's list names takes the whole list, with its PTX.
find_arch() {
    [ -z "$arch" ] || return 0
    for capability in $(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u); do
        case $capability in
        7.5 | 8.[0-9]) one=$(echo "$capability" | tr -d .) ;;
        9.0) one=90a ;;
        *)
            arch=
            return
            ;;
        esac
        arch=${arch:+$arch,}$one
    done
    [ "$arch" ] || [ -e /proc/driver/nvidia ] || [ -e /dev/dxg ] || {
        arch=90a
        say "no GPU is seen: kernels are compiled for $arch alone, to show that they can be"
    }
}

run_autoreconf() { (cd "$src" && autoreconf -fi) >"$out/autoreconf.log" 2>&1; }

run_configure() {
    # Without what is not tested here. CFLAGS: debugging information is a fifth of a compiler's time.
    (cd "$build" && "$src/configure" NVCC="$nvcc" CFLAGS="${CFLAGS--O2}" --with-cuda="${cuda:-yes}" \
        --without-onednn ${arch:+--with-cuda-arch="$arch"}) >"$out/configure.log" 2>&1
}

# Not "all", most of whose time goes into kernels for processors, which nothing here runs.
run_make() {
    make -C "$build" -j "$(nproc)" tfrun tfrun-probe tfrun-naive.la plugins/cuda/tfrun-cuda.la \
        certify/tfrun-certify.la tests/ops/ops >"$out/make.log" 2>&1
}

build_tree() {
    # CC may be a command with arguments, such as "ccache gcc".
    compiler=${CC:-cc}
    command -v "${compiler%% *}" >/dev/null 2>&1 ||
        die "there is no C compiler; install gcc, or set CC"
    command -v make >/dev/null 2>&1 || die "make is missing"
    nvcc=$(PATH=${cuda:+$cuda/bin:}$PATH:/usr/local/cuda/bin command -v nvcc) || die \
        "nvcc is missing, and kernels are compiled by it: install NVIDIA's CUDA toolkit, or give its folder by --with-cuda=FOLDER"
    if [ ! -x "$src/configure" ]; then
        command -v autoreconf >/dev/null 2>&1 || die \
            "this tree has no configure, and Autotools, which make it, are missing here.
Run \`make dist\` in a build on a machine that has them, unpack tfrun-VERSION.tar.gz here, and run
its tests/gpu/run.sh; or carry configure, aclocal.m4, Makefile.in and build-aux/ along"
        say "autoreconf"
        timed autoreconf run_autoreconf ||
            die "autoreconf failed, see $out/autoreconf.log"
    fi
    find_jansson
    mkdir -p "$build" || die "cannot make $build"
    if [ ! -f "$build/config.status" ]; then
        find_arch
        say "configure, in $build"
        timed configure run_configure || {
            tail -n 5 "$out/configure.log"
            die "configure failed, see $out/configure.log and $build/config.log"
        }
    fi
    say "make -j$(nproc)"
    timed make run_make || {
        grep -E 'error|Error' "$out/make.log" | head -n 10
        die "make failed, see $out/make.log"
    }
}

[ "$built" ] || build_tree
plugin=${plugin:-$build/plugins/cuda/.libs/tfrun-cuda.so}
[ -x "$build/tfrun" ] || die "there is no tfrun in $build"
[ -f "$plugin" ] || die "there is no $plugin; was it built --without-cuda?"

# ---- the environment of the tests ----
# CUDA's libraries of Python's packages, each in a folder of its own.
for folder in $("$python" -c 'import site
for folder in site.getsitepackages() + [site.getusersitepackages()]: print(folder)' 2>/dev/null); do
    for lib in "$folder"/nvidia/*/lib; do
        for file in "$lib"/libcublasLt.so.* "$lib"/libcudnn.so.* "$lib"/libcusolver.so.* \
            "$lib"/libnccl.so.*; do
            [ ! -e "$file" ] || case :$libraries: in *:$lib:*) ;; *) libraries=$libraries:$lib ;; esac
        done
    done
done
[ -z "$libraries" ] || LD_LIBRARY_PATH=${libraries#:}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
TFRUN=$build/tfrun TFRUN_PROBE=$build/tfrun-probe TFRUN_PLUGIN_PATH=$build/.libs
TFRUN_TUNING=off TFRUN_STORE=off XDG_CACHE_HOME=$out/cache LC_ALL=C NO_COLOR=1
export LD_LIBRARY_PATH TFRUN TFRUN_PROBE TFRUN_PLUGIN_PATH TFRUN_TUNING TFRUN_STORE XDG_CACHE_HOME LC_ALL
export NO_COLOR
{
    date -u
    uname -a
    (cd "$src" && git log -1 --format='commit %H' 2>/dev/null)
    nvidia-smi 2>&1
    nvcc --version 2>&1
    ${CC:-cc} --version 2>&1 | head -n 1
    echo "LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}"
    "$TFRUN" --version
} >"$out/machine.txt" 2>&1

list_devices() { "$TFRUN" --list-devices --refresh --plugin "$plugin" >"$out/devices.txt" 2>&1; }
timed "listing of devices" list_devices
if ! grep -q "[ ,]${device%%:*} [0-9]" "$out/devices.txt" || ! grep -q '^GPU:' "$out/devices.txt"; then
    cat "$out/devices.txt"
    say "there is no GPU, as the table says: built in $build, and nothing was run"
    exit 3
fi

# ---- tests and figures ----
here=$src/tests/gpu
. "$here/checks.sh"
timed tests run_checks
status=$?
if [ "$bench" = yes ]; then
    . "$here/bench.sh"
    timed benches run_benches
fi
say "results are in $out"
exit $status
