# SPDX-License-Identifier: Apache-2.0
# scripts/nvcc-cached compiles a kernel once for all builds that would get the same, and again for
# the others. A made-up nvcc counts what it compiles.
. "$TFR_SRCDIR/tests/lib.sh"

mkdir "$tmp/kernels" "$tmp/include" "$tmp/a" "$tmp/b"
cat >"$tmp/nvcc" <<'END'
#!/bin/sh
[ "$1" != --version ] || { cat "$FAKE/version"; exit; }
echo >>"$FAKE/compiled"
while [ $# -gt 2 ]; do
    case $1 in
    -o) fatbin=$2 ;;
    esac
    shift
done
echo "ptxas info: $(cat "$FAKE/says")"
cat "$2" >"$fatbin"
! grep -q error "$FAKE/says"
END
chmod +x "$tmp/nvcc"
FAKE=$tmp TFR_CUDA_CACHE=$tmp/cache
export FAKE TFR_CUDA_CACHE
echo 13 >"$tmp/version"
echo Used 8 registers >"$tmp/says"
echo kernel >"$tmp/kernels/k.cu"
echo header >"$tmp/kernels/k.h"
echo sdk >"$tmp/include/s.h"

# compiles TEXT NUMBER BUILD OPTION...: a build in that folder, after which nvcc has compiled NUMBER
# kernels in all.
compiles() {
    compiles_text=$1 compiles_number=$2 compiles_build=$tmp/$3
    shift 3
    rm -f "$compiles_build/k.fatbin" "$compiles_build/k.ptxas"
    exits 0 "$compiles_text" "$TFR_SRCDIR/scripts/nvcc-cached" "$compiles_build/k.fatbin" \
        "$compiles_build/k.ptxas" "$tmp/kernels/k.cu" -- "$tmp/nvcc" -I"$tmp/include" "$@"
    claim "... $compiles_number in all" test "$(wc -l <"$tmp/compiled")" = "$compiles_number"
    claim "... what it made is there" cmp -s "$tmp/kernels/k.cu" "$compiles_build/k.fatbin"
    has "... and what it said" "$compiles_build/k.ptxas" 'Used 8 registers'
}
compiles "a kernel is compiled" 1 a -arch=sm_90
compiles "a second build has it from the first one" 1 b -arch=sm_90
compiles "so has one with warnings as errors" 1 b -arch=sm_90 -Werror all-warnings
compiles "other options make another" 2 b -arch=sm_80
echo more >>"$tmp/kernels/k.cu"
compiles "so does a changed source" 3 a -arch=sm_90
echo more >>"$tmp/kernels/k.h"
compiles "and a changed header" 4 a -arch=sm_90
echo more >>"$tmp/include/s.h"
compiles "and one of another folder" 5 a -arch=sm_90
echo 14 >"$tmp/version"
compiles "and another nvcc" 6 a -arch=sm_90
compiles "what was before is still there" 6 b -arch=sm_90
TFR_CUDA_CACHE=
compiles "without a folder nothing is kept" 7 b -arch=sm_90
TFR_CUDA_CACHE=$tmp/cache

echo more >>"$tmp/kernels/k.cu"
echo "Used 8 registers, a warning" >"$tmp/says"
compiles "a kernel with a warning" 8 a -arch=sm_90
compiles "is compiled again" 9 b -arch=sm_90
echo "Used 8 registers, an error" >"$tmp/says"
for build in a b; do
    exits 1 "one with an error fails" "$TFR_SRCDIR/scripts/nvcc-cached" "$tmp/$build/k.fatbin" \
        "$tmp/$build/k.ptxas" "$tmp/kernels/k.cu" -- "$tmp/nvcc" -I"$tmp/include" -arch=sm_90
    has "with what nvcc says" "$tmp/err" 'an error'
    claim "and leaves no binary" test ! -e "$tmp/$build/k.fatbin"
done
finish
