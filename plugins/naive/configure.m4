# SPDX-License-Identifier: Apache-2.0
# The naive backend is the specification in code and always built. One op, RegexFullMatch, takes a
# library, which is opened when it is needed; so only the header is asked for.
AC_ARG_WITH([pcre2],
    [AS_HELP_STRING([--with-pcre2=auto|yes|no],
        [regular expressions by PCRE2 (auto: if PCRE2 10.30 or newer is found)])],
    [], [with_pcre2=auto])
NAIVE_PCRE2_CPPFLAGS=
tfr_pcre2=no
tfr_pcre2_why="switched off by --without-pcre2"
AS_CASE([$with_pcre2],
    [no], [],
    [yes|auto], [PKG_CHECK_MODULES([PCRE2], [libpcre2-8 >= 10.30], [
        tfr_pcre2=yes
        tfr_pcre2_why="PCRE2 `$PKG_CONFIG --modversion libpcre2-8`"
        NAIVE_PCRE2_CPPFLAGS="-DNAIVE_PCRE2 $PCRE2_CFLAGS"
    ], [
        tfr_pcre2_why="PCRE2 10.30 or newer is missing; on Debian: apt install libpcre2-dev"
        AS_IF([test "x$with_pcre2" = xyes],
            [AC_MSG_ERROR([--with-pcre2: $tfr_pcre2_why])])
    ])],
    [AC_MSG_ERROR([--with-pcre2 takes auto, yes or no, not $with_pcre2])])
AC_SUBST([NAIVE_PCRE2_CPPFLAGS])
TFR_ROW([plugin naive], [yes], [reference kernels in plain C])
TFR_ROW([op RegexFullMatch], [$tfr_pcre2], [$tfr_pcre2_why])
