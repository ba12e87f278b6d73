# SPDX-License-Identifier: Apache-2.0
# What "make install" puts into DESTDIR is complete: the program runs, and a stranger can build
# against the headers and the pkg-config files.
. "$TFR_SRCDIR/tests/lib.sh"

root=$tmp/root
if ! MAKEFLAGS='' make -C "$TFR_BUILDDIR" install DESTDIR="$root" >"$tmp/install" 2>&1; then
    tail -n 20 "$tmp/install"
    fail "make install works with DESTDIR"
    finish
fi
pass "make install works with DESTDIR"

# where DIRECTORY-VARIABLE: as the Makefile has it.
where() { MAKEFLAGS='' make -s --no-print-directory -C "$TFR_BUILDDIR" "print-$1"; }
bindir=$root$(where bindir) libdir=$root$(where libdir)
plugindir=$root$(where plugindir) includedir=$root$(where includedir)

claim "the program is there" test -x "$bindir/tfrun"
claim "the probe is there" test -x "$root$(where tfrunexecdir)/tfrun-probe"
claim "the checks of plugins are there" test -f "$root$(where tfrunexecdir)/tfrun-certify.so"
claim "the naive backend is there" test -f "$plugindir/tfrun-naive.so"
if grep -q '^  plugin cuda *yes ' "$TFR_BUILDDIR/config.table"; then
    claim "the CUDA backend is there, where its kernels were compiled" \
        test -f "$plugindir/tfrun-cuda.so"
fi
claim "no libtool archive is left among the plugins" \
    sh -c '! ls "$1" | grep -q "\.la$"' - "$plugindir"
for header in "$TFR_SRCDIR"/include/tfrun/*.h "$TFR_SRCDIR"/sdk/include/tfrun/*.h; do
    [ -f "$includedir/tfrun/${header##*/}" ] || fail "${header##*/} is installed"
done

PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
cat >"$tmp/user.c" <<'EOF'
#include <stdio.h>
#include <tfrun/tfrun.h>

int main(void)
{
    return puts(tfr_version()) < 0;
}
EOF
# shellcheck disable=SC2046,SC2086 # lists of words
exits 0 "a program builds with pkg-config alone" \
    $TFR_CC $TFR_SANITIZE "$tmp/user.c" -o "$tmp/user" $(pkg-config --cflags --libs tfrun tfrun-nn)
LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exits 0 "the program runs" "$tmp/user"
has "it has the version of the pkg-config file" "$tmp/out" "^$(pkg-config --modversion tfrun)\$"
TFRUN_PLUGIN_PATH=$plugindir exits 0 "the installed tfrun runs" "$bindir/tfrun" --version
if [ -f "$plugindir/tfrun-cuda.so" ]; then
    TFRUN_PLUGIN_PATH=$plugindir TFRUN_PROBE=$root$(where tfrunexecdir)/tfrun-probe \
        exits 0 "it lists its devices" "$bindir/tfrun" --list-devices
    has "with a GPU, or why there is none" "$tmp/out" '^GPU:0 \|^cuda  *[a-z_]*  *[^ ]'
fi
finish
