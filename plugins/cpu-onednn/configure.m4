# SPDX-License-Identifier: Apache-2.0
# The oneDNN backend. oneDNN has no pkg-config file everywhere, so header and library are asked.
# The module does not link the library but opens it when it needs it: ONEDNN_LIBS says where it is.
AC_ARG_WITH([onednn],
    [AS_HELP_STRING([--with-onednn=auto|yes|no|PREFIX],
        [oneDNN backend for the CPU (auto: if oneDNN 2.6 or newer is found)])],
    [], [with_onednn=auto])
ONEDNN_CPPFLAGS=
ONEDNN_LIBS=
tfr_onednn=no
tfr_onednn_why="switched off by --without-onednn"
AS_IF([test "x$with_onednn" != xno], [
    AS_CASE([$with_onednn],
        [yes|auto], [],
        [ONEDNN_CPPFLAGS="-I$with_onednn/include"
         ONEDNN_LIBS="-L$with_onednn/lib -Wl,-rpath,$with_onednn/lib"])
    tfr_save_CPPFLAGS=$CPPFLAGS
    tfr_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $ONEDNN_CPPFLAGS"
    LIBS="$ONEDNN_LIBS -ldnnl $LIBS"
    AC_MSG_CHECKING([for oneDNN 2.6 or newer])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <oneapi/dnnl/dnnl.h>
#if DNNL_VERSION_MAJOR < 2 || (DNNL_VERSION_MAJOR == 2 && DNNL_VERSION_MINOR < 6)
#error too old
#endif
]], [[return dnnl_version() == 0;]])], [
        tfr_onednn=yes
        # oneDNN 2 numbers its file by the major version, Debian's oneDNN 3 by the minor one, too.
        tfr_onednn_soname=`${OBJDUMP-objdump} -p conftest$ac_exeext 2>/dev/null |
            sed -n 's/^ *NEEDED *\(libdnnl@<:@^ @:>@*\)$/\1/p'`
    ])
    AC_MSG_RESULT([$tfr_onednn])
    AS_IF([test "x$tfr_onednn" = xyes], [
        AC_COMPUTE_INT([tfr_onednn_major], [DNNL_VERSION_MAJOR],
            [#include <oneapi/dnnl/dnnl_version.h>], [tfr_onednn_major=0])
        AC_COMPUTE_INT([tfr_onednn_minor], [DNNL_VERSION_MINOR],
            [#include <oneapi/dnnl/dnnl_version.h>], [tfr_onednn_minor=0])
        tfr_onednn_why="oneDNN $tfr_onednn_major.$tfr_onednn_minor"
        AS_IF([test "x$tfr_onednn_soname" = x], [tfr_onednn_soname=libdnnl.so.$tfr_onednn_major])
        ONEDNN_CPPFLAGS="$ONEDNN_CPPFLAGS -DONEDNN_SONAME='\"$tfr_onednn_soname\"'"
    ], [
        tfr_onednn_why="oneDNN 2.6 or newer is missing; on Debian: apt install libdnnl-dev"
        AS_IF([test "x$with_onednn" != xauto],
            [AC_MSG_ERROR([--with-onednn=$with_onednn: no usable oneDNN 2.6 or newer (header
oneapi/dnnl/dnnl.h and library dnnl); on Debian: apt install libdnnl-dev])])
    ])
    CPPFLAGS=$tfr_save_CPPFLAGS
    LIBS=$tfr_save_LIBS
])
AC_SUBST([ONEDNN_CPPFLAGS])
AC_SUBST([ONEDNN_LIBS])
AM_CONDITIONAL([TFR_ONEDNN], [test "x$tfr_onednn" = xyes])
TFR_ROW([plugin onednn], [$tfr_onednn], [$tfr_onednn_why])
