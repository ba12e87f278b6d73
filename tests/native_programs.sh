# SPDX-License-Identifier: Apache-2.0
# What the native backend's programs compute on processors with less than this one has.
. "$TFR_SRCDIR/tests/lib.sh"
TFRUN_PLUGIN_PATH=$TFR_BUILDDIR/.libs
test=$TFR_BUILDDIR/tests/test_native_programs
[ -x "$test" ] || skip_all "the unit tests are not built"
for hidden in avx512f "avx512f avx2"; do
    TFRUN_HIDE_CPU_FEATURES=$hidden "$test" >"$tmp/out" 2>&1
    code=$?
    [ $code != 77 ] || skip_all "there is no native backend"
    if [ $code = 0 ]; then
        pass "programs are right without $hidden"
    else
        fail "programs without $hidden: $(cat "$tmp/out")"
    fi
    if TFRUN_HIDE_CPU_FEATURES=$hidden "$TFR_BUILDDIR/tests/test_native_convolutions" \
        >"$tmp/out" 2>&1; then
        pass "convolutions are right without $hidden"
    else
        fail "convolutions without $hidden: $(cat "$tmp/out")"
    fi
    if TFRUN_HIDE_CPU_FEATURES=$hidden "$TFR_BUILDDIR/tests/test_native_tokens" \
        >"$tmp/out" 2>&1; then
        pass "rows of channels are right without $hidden"
    else
        fail "rows of channels without $hidden: $(cat "$tmp/out")"
    fi
    if TFRUN_HIDE_CPU_FEATURES=$hidden "$TFR_BUILDDIR/tests/test_native_images" \
        >"$tmp/out" 2>&1; then
        pass "images with the channels last are right without $hidden"
    else
        fail "images with the channels last without $hidden: $(cat "$tmp/out")"
    fi
    if TFRUN_HIDE_CPU_FEATURES=$hidden "$TFR_BUILDDIR/tests/test_native_nbits" >"$tmp/out" 2>&1; then
        pass "weights of 4 and 8 bits are right without $hidden"
    else
        fail "weights of 4 and 8 bits without $hidden: $(cat "$tmp/out")"
    fi
    for of in attention half; do
        if TFRUN_HIDE_CPU_FEATURES=$hidden "$TFR_BUILDDIR/tests/test_native_$of" >"$tmp/out" 2>&1; then
            pass "programs of $of are right without $hidden"
        else
            fail "programs of $of without $hidden: $(cat "$tmp/out")"
        fi
    done
done
for hidden in avx512f "avx512f avx2"; do
    for of in quantized quantized_bytes; do
        models=$TFR_BUILDDIR/tests/test_native_$of
        [ -x "$models" ] || continue
        if TFRUN_HIDE_CPU_FEATURES=$hidden "$models" >"$tmp/out" 2>&1; then
            pass "$of models are right without $hidden"
        else
            fail "$of models without $hidden: $(cat "$tmp/out")"
        fi
    done
done
solve=$TFR_BUILDDIR/tests/test_native_solve
for hidden in avx512f "avx512f avx2"; do
    [ -x "$solve" ] || break
    if TFRUN_HIDE_CPU_FEATURES=$hidden "$solve" >"$tmp/out" 2>&1; then
        pass "matrices are solved for without $hidden"
    else
        fail "solving without $hidden: $(cat "$tmp/out")"
    fi
done
mkdir -p "$tmp/emulated/tfrun"
echo 'native.emulate-math-modes = 1' >"$tmp/emulated/tfrun/tfrun.conf"
for math in math_modes_compute_products_of_rows_and_constants \
    math_modes_compute_products_of_computed_sides; do
    if env XDG_CONFIG_HOME="$tmp/emulated" TFR_TEST_EMULATES=1 "$test" $math >"$tmp/out" 2>&1; then
        pass "emulated $math"
    else
        fail "emulated $math: $(cat "$tmp/out")"
    fi
done
bf16=$TFR_BUILDDIR/tests/test_native_bf16
if [ -x "$bf16" ]; then
    if env TFRUN_HIDE_CPU_FEATURES=amx_bf16 TFR_TEST_HIDDEN=1 "$bf16" >"$tmp/out" 2>&1; then
        pass "training in bf16 is strict without amx_bf16"
    else
        fail "training in bf16 without amx_bf16: $(cat "$tmp/out")"
    fi
fi
finish
