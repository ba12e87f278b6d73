# SPDX-License-Identifier: Apache-2.0
# The CUDA backend. Its host half is plain C that opens CUDA's libraries at run time, so it is built
# and tested everywhere; kernels need nvcc (docs/decisions/0036-cuda-host-half.md).
AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=auto|yes|no|PREFIX],
        [CUDA backend for NVIDIA GPUs (auto: if nvcc is found and works)])],
    [], [with_cuda=auto])
AC_ARG_WITH([cuda-arch],
    [AS_HELP_STRING([--with-cuda-arch=LIST],
        [compute capabilities that kernels are compiled for; ptx in front: as PTX, which newer GPUs
         compile for themselves (75,80,86,90a,ptx90)])],
    [], [with_cuda_arch=75,80,86,90a,ptx90])
AC_ARG_VAR([NVCC], [CUDA's compiler])
CUDA_ARCH_FLAGS=
CUDA_VERSION=none
CUDA_WERROR=
TFR_CUDA_FOLDER=
tfr_cuda_kernels=no
tfr_cuda_why="switched off by --without-cuda"
AS_IF([test "x$with_cuda" != xno], [
    AS_CASE([$with_cuda],
        [yes|auto], [tfr_cuda_path=$PATH:/usr/local/cuda/bin],
        [tfr_cuda_path=$with_cuda/bin])
    AS_IF([test "x$NVCC" = x], [AC_PATH_PROG([NVCC], [nvcc], [], [$tfr_cuda_path])])
    for tfr_arch in `AS_ECHO(["$with_cuda_arch"]) | tr ',' ' '`; do
        tfr_number=`AS_ECHO(["$tfr_arch"]) | sed 's/^ptx//'`
        AS_CASE([$tfr_arch], [ptx*], [tfr_code=compute_$tfr_number], [tfr_code=sm_$tfr_number])
        CUDA_ARCH_FLAGS="$CUDA_ARCH_FLAGS -gencode arch=compute_$tfr_number,code=$tfr_code"
    done
    tfr_cuda_why="nvcc is missing; install NVIDIA's CUDA toolkit, 12 or 13"
    AS_IF([test "x$NVCC" != x], [
        AC_MSG_CHECKING([whether $NVCC compiles for $with_cuda_arch])
        AS_ECHO(['extern "C" __global__ void k(int *p) { *p = __CUDACC_VER_MAJOR__; }']) \
            >conftest.cu
        CUDA_VERSION=`$NVCC --version 2>/dev/null |
            sed -n 's/^.*release \(@<:@0-9@:>@*\.@<:@0-9@:>@*\),.*$/\1/p'`
        # Size of the file is time of the first launch: 734 KB of plain code are 93 KB so.
        for tfr_flag in --compress-mode=size ''; do
            AS_IF([test "x$tfr_cuda_kernels" = xno &&
                   $NVCC -fatbin $tfr_flag $CUDA_ARCH_FLAGS -o conftest.fatbin conftest.cu \
                       >&AS_MESSAGE_LOG_FD 2>&1],
                [tfr_cuda_kernels=yes CUDA_ARCH_FLAGS="$tfr_flag$CUDA_ARCH_FLAGS"])
        done
        rm -f conftest.cu conftest.fatbin
        AC_MSG_RESULT([$tfr_cuda_kernels])
        AS_IF([test "x$tfr_cuda_kernels" = xno],
            [tfr_cuda_why="$NVCC cannot compile for $with_cuda_arch, see config.log"])
    ])
    AS_IF([test "x$tfr_cuda_kernels" = xno && test "x$with_cuda" != xauto],
        [AC_MSG_ERROR([--with-cuda=$with_cuda: $tfr_cuda_why])])
    tfr_cuda_why="built for tests alone: $tfr_cuda_why"
])
AS_IF([test "x$tfr_cuda_kernels" = xyes], [
    tfr_cuda_why="kernels for $with_cuda_arch by nvcc $CUDA_VERSION"
    # Where tfrun-dev finds it.
    TFR_CUDA_FOLDER=':$build/plugins/cuda/.libs'
    AS_IF([test "x$enable_werror" = xyes], [CUDA_WERROR="-Werror all-warnings"])
])
AC_SUBST([CUDA_ARCH_FLAGS])
AC_SUBST([CUDA_VERSION])
AC_SUBST([CUDA_WERROR])
AC_SUBST([TFR_CUDA_FOLDER])
AM_CONDITIONAL([TFR_CUDA], [test "x$with_cuda" != xno])
AM_CONDITIONAL([TFR_CUDA_KERNELS], [test "x$tfr_cuda_kernels" = xyes])
TFR_ROW([plugin cuda], [$tfr_cuda_kernels], [$tfr_cuda_why])
