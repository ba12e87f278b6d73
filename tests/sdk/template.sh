# SPDX-License-Identifier: Apache-2.0
# A stranger copies the installed template, renames it with one sed, builds it from the installed
# headers alone, sees its row and runs its op.
. "$TFR_SRCDIR/tests/lib.sh"

root=$tmp/root
make_quiet() { MAKEFLAGS='' make -s --no-print-directory "$@"; }
if ! make_quiet -C "$TFR_BUILDDIR" DESTDIR="$root" install-tfrunincludeHEADERS \
    install-dist_templateDATA install-pkgconfigDATA >"$tmp/install" 2>&1; then
    cat "$tmp/install"
    fail "the headers and the template install alone"
    finish
fi
where() { make_quiet -C "$TFR_BUILDDIR" "print-$1"; }
include=$root$(where includedir)
PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$root$(where libdir)/pkgconfig
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH

# Nobody else may write where a plugin lies, whatever the umask is.
plugins=$tmp/acme2
cp -r "$root$(where templatedir)" "$plugins"
chmod go-w "$tmp" "$plugins"
cd "$plugins" || exit 99
claim "the template has its source, Makefile and README" test -f backend.c -a -f Makefile -a -f README.md
claim "the backend is under 180 lines" test "$(wc -l <backend.c)" -lt 180
claim "its Makefile is ten lines" test "$(wc -l <Makefile)" -le 10
claim "the README has less than 10 steps" \
    test "$(grep -c '^[0-9][0-9]*\. ' README.md)" -lt 10
sed -i s/template/acme2/g backend.c Makefile
claim "one sed renames all of it" sh -c '! grep -qi template backend.c Makefile'

# A sanitizer must be the same in host and plugin, and leaves symbols open until the program links.
so=$plugins/tfrun-acme2.so
if [ -n "$TFR_SANITIZE" ]; then
    set -- "CC=$TFR_CC" "CFLAGS=-O1 -g $TFR_SANITIZE" LDFLAGS=
else
    set -- "CC=$TFR_CC"
fi
exits 0 "it builds with pkg-config" make_quiet "$@"
claim "the compiler said nothing" test ! -s "$tmp/err"
make_quiet clean
claim "make clean removes it" test ! -e "$so"
exits 0 "it builds with a folder of headers and no pkg-config" \
    env MAKEFLAGS= PKG_CONFIG_PATH=/nowhere make -s "$@" TFRUN_INCLUDE="$include"
chmod go-w "$so" 2>/dev/null

for cc in gcc clang; do
    if command -v "$cc" >/dev/null; then
        exits 0 "it is strict C99 to $cc" "$cc" -std=c99 -Wall -Wextra -Wpedantic -Wshadow \
            -Wstrict-prototypes -Wmissing-prototypes -Werror -I"$include" -fsyntax-only backend.c
    else
        skip "strict C99 with $cc, which is not installed"
    fi
done

# A sanitizer adds names of its own.
claim "it exports tfrun_plugin_v0 alone" test tfrun_plugin_v0 = \
    "$(nm -D --defined-only "$so" | awk '$2 != "A" { print $3 }' | grep -v -e '^_' -e san)"
claim "it takes nothing of tfrun" sh -c '! nm -D --undefined-only "$1" | grep -q tfr' - "$so"
readelf -W -S "$so" >"$tmp/sections" 2>&1
has "its facts lie in an ELF note" "$tmp/sections" ' \.note\.tfrun  *NOTE '
if [ -z "$TFR_SANITIZE" ]; then # which aligns the note in its own way, and readelf gives up
    readelf -n "$so" >"$tmp/notes" 2>&1
    has "under the owner tfrun" "$tmp/notes" '^ *tfrun  *0x'
fi

# On the path of folders, and by its name.
list=$TFR_BUILDDIR/examples/list_devices
exits 0 "the devices are listed with the plugin named" "$list" "$so"
has "its device has a row" "$tmp/out" '^device NPU:0: .*, 2 ops$'
has "its backend has a row" "$tmp/out" '^  backend acme2:0, priority 100$'
has "its state is usable" "$tmp/out" '^plugin acme2: usable$'
has "the processor is still there" "$tmp/out" '^device CPU:0: '
exits 0 "the devices are listed with the plugin not there" "$list"
claim "its row needs its file" sh -c '! grep -q -e NPU -e acme2 "$1"' - "$tmp/out"
TFRUN_PLUGIN_PATH=$plugins:$TFRUN_PLUGIN_PATH
export TFRUN_PLUGIN_PATH
exits 0 "the devices are listed with the plugin's folder on the path" "$list"
has "its device has the same row" "$tmp/out" '^device NPU:0: .*, 2 ops$'

run_op=$TFR_BUILDDIR/examples/run_op
exits 0 "its op runs" "$run_op" NPU:0 Relu float32 -1 0 2.5 nan -inf
claim "the result is right" test "$(echo $(cat "$tmp/out"))" = "0 0 2.5 nan 0"
claim "it ran on the NPU, nobody had to step in" test ! -s "$tmp/err"
exits 0 "by its own name, too" "$run_op" acme2:0 Relu float32 -3 3
claim "on the NPU" test ! -s "$tmp/err"
exits 0 "what it does not take runs elsewhere" "$run_op" NPU:0 Relu float64 -1 2.5
claim "with the right result" test "$(echo $(cat "$tmp/out"))" = "0 2.5"
has "and its no, with the number, is shown" "$tmp/err" 'acme2:0 says dtype: type 11 is not float32 (1)'
exits 1 "without another backend there is no elsewhere" \
    env TFRUN_DISABLE=naive,native,onednn "$run_op" NPU:0 Relu float64 -1 2.5
exits 0 "and its own op runs" env TFRUN_DISABLE=naive,native,onednn "$run_op" NPU:0 Relu float32 -1 2.5
exits 1 "without it there is no NPU" env TFRUN_DISABLE=acme2 "$run_op" NPU:0 Relu float32 -1 2.5
has "and the error says so" "$tmp/err" 'NPU:0'

if "$TFRUN" --help 2>&1 | grep -q -e '--list-devices'; then
    exits 0 "tfrun lists it" "$TFRUN" --plugin "$so" --list-devices
    has "with its device and backend" "$tmp/out" '^NPU:0 .*acme2 0\.1\.0 (100)'
    relu=/usr/share/libonnx-testdata/data/node/test_relu
    if [ -d "$relu" ]; then
        exits 0 "ONNX's own test of Relu passes on it" "$TFRUN" --plugin "$so" verify \
            --device NPU:0 --fallback=error "$relu"
        has "as one test" "$tmp/out" '^1 passed, 0 failed, 0 skipped$'
    else
        skip "ONNX's own test of Relu: libonnx-testdata is not installed"
    fi
else
    skip "tfrun --list-devices: this tfrun does not have it"
fi

# The op of its own, from models of its domain: the kernel, the decomposition, the gradient.
. "$TFR_SRCDIR/tests/sdk/square_model.sh"
square_model org.acme2 1 "$tmp/f32.onnx"
square_model org.acme2 11 "$tmp/f64.onnx"
exits 0 "tfrun ops lists its own op" "$TFRUN" ops Square
has "with the plugin's name" "$tmp/out" '^Square  *org.acme2, by acme2 .*decomposition; acme2: f32'
exits 0 "a model with it is described" "$TFRUN" inspect "$tmp/f32.onnx"
exits 0 "and runs" "$TFRUN" run "$tmp/f32.onnx" --random-inputs=1 --log-device-placement
has "with the kernel of the plugin" "$tmp/err" 'Square_0 (Square): NPU:0 acme2:0'
square=$(sed -n 's/^Y  *float32\[3\]  //p' "$tmp/out")
gradient=$(sed -n 's/^dX  *float32\[3\]  //p' "$tmp/out")
# |dX| = 2 sqrt(Y)
claim "values and gradients are right" awk -v y="$square" -v d="$gradient" 'BEGIN {
    split(y, a, ", "); split(d, b, ", ")
    for (i = 1; i <= 3; i++) { e = b[i] * b[i] - 4 * a[i]; bad += e > 1e-5 || e < -1e-5 || !a[i] }
    exit bad != 0 }'
exits 0 "where its device is hidden, it runs" "$TFRUN" run "$tmp/f32.onnx" --random-inputs=1 \
    --visible-devices CPU:0 --log-device-placement
has "by the decomposition, which the log says" "$tmp/err" \
    'Square_0/Mul_0 (Mul): CPU:0 .*, because it is of the decomposition of Square of domain org.acme2'
claim "with the same values" test "$square" = "$(sed -n 's/^Y  *float32\[3\]  //p' "$tmp/out")"
exits 0 "so does a type without a kernel" "$TFRUN" run "$tmp/f64.onnx" --random-inputs=1 \
    --device NPU:0
has "with a warning" "$tmp/err" 'nodes run elsewhere .*the decomposition of Square'
exits 4 "which --fallback error forbids" "$TFRUN" run "$tmp/f64.onnx" --random-inputs=1 \
    --device NPU:0 --fallback error
has "in words" "$tmp/err" 'its decomposition could, which fallback "error" forbids'
exits 5 "without the plugin the op is not known" env TFRUN_PLUGIN_PATH="$TFR_BUILDDIR/.libs" \
    "$TFRUN" run "$tmp/f32.onnx" --random-inputs=1
has "and the error names plugins" "$tmp/err" 'op "Square" of domain "org.acme2" .*of the plugins'
finish
