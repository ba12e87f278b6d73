# SPDX-License-Identifier: Apache-2.0
# A C++ compiler is wanted for one thing: the kernels of the CUDA backend as the CPU runs them, in
# tests. It takes what configure or the environment names, as it is.
AC_ARG_VAR([CXX], [C++ compiler, for tests of CUDA's kernels])
AC_CHECK_PROGS([TFR_CXX], [g++ c++ clang++])
AS_IF([test "x$CXX" != x], [TFR_CXX=$CXX])
TFR_CUDA_CPU=no
AS_IF([test "x$TFR_CXX" != x], [
    AC_MSG_CHECKING([whether $TFR_CXX compiles C++17])
    AS_ECHO(['template <auto K> int f() { if constexpr (K > 0) return K; return 0; }
int main() { return f<0>(); }']) >conftest.cc
    AS_IF([$TFR_CXX -std=c++17 $TFR_SANITIZE -o conftest.out conftest.cc >&AS_MESSAGE_LOG_FD 2>&1],
        [TFR_CUDA_CPU=yes])
    rm -f conftest.cc conftest.out
    AC_MSG_RESULT([$TFR_CUDA_CPU])
])
AC_SUBST([TFR_CXX])
AM_CONDITIONAL([TFR_CUDA_CPU], [test "x$TFR_CUDA_CPU" = xyes])
