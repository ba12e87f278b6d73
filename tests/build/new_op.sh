# SPDX-License-Identifier: Apache-2.0
# A new op is a row of ops.def, a file of naive and a file of cases, and nothing else: in a copy of
# the tree a made-up one is built, claimed, run, and agrees with itself on all kinds of operands.
. "$TFR_SRCDIR/tests/lib.sh"
command -v autoreconf >/dev/null || skip_all "there is no autoreconf"

tree=$tmp/tree
mkdir "$tree"
(cd "$TFR_SRCDIR" && tar -cf - --exclude='./build*' --exclude=./.git --exclude=./autom4te.cache \
    --exclude='*.o' --exclude='*.lo' --exclude=.libs --exclude=.deps .) | tar -xf - -C "$tree"

sed -i 's/^OP("tfrun", Reorder,/OP("tfrun", MadeUp, 1, 1, KERNEL, 0, same,\n   ELEMENTWISE, COST(OUTPUT, 2),\n   "X:T", "Y:T",\n   "", "T=f32|f64")\n&/' \
    "$tree/core/op/ops.def"
cat >"$tree/plugins/naive/made_up.c" <<'END'
/* MadeUp: y = 2 x + 1. */
#include "naive.h"

static int32_t run_made_up(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_operand *x = tfr_call_input(&k->call, 0), *y = tfr_call_output(&k->call, 0);
    const void *px = naive_in(k, launch, 0);
    void *py = naive_out(k, launch, 0);
    naive_iter it;

    (void)err;
    naive_iter_init(&it, y->rank, y->dims);
    naive_iter_add(&it, x);
    naive_iter_add(&it, y);
    for (; it.left > 0; naive_iter_next(&it))
        naive_set(y->dtype, py, it.at[1], 2 * naive_get(x->dtype, px, it.at[0]) + 1);
    return TFR_OK;
}

const naive_op naive_made_up_ops[] = {
    {"tfrun", "MadeUp", 1, NULL, run_made_up, NULL, NAIVE_STRIDED, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
END
cat >"$tree/certify/cases/made_up.c" <<'END'
#include "case.h"

const ops_case ops_made_up_cases[] = {
    {"MadeUp", .domain = "tfrun", .vars = "R=0..5 d=0..7",
     .in = {{"f32|f64", "d^R", NULL, "nizh", NULL}}, .tolerance = OPS_ROUND},
    {0},
};
END

make_tree() {
    (cd "$tree" && autoreconf -fi && mkdir build && cd build &&
        ../configure --without-onednn --without-cuda --disable-dependency-tracking \
            CC="$TFR_CC" CFLAGS='-O0 -g0' &&
        make -j2 libtfrun.la tfrun-naive.la tfrun-probe tests/ops/ops) >"$tmp/make.log" 2>&1 || {
        tail -20 "$tmp/make.log"
        return 1
    }
}
claim "a tree with three more texts builds" make_tree
ops() {
    TFRUN_PLUGIN_PATH=$tree/build/.libs TFRUN_PROBE=$tree/build/tfrun-probe \
        "$tree/build/tests/ops/ops" --case MadeUp "$@" naive:0
}
exits 0 "its op takes plain, strided, badly aligned and constant operands" ops value,hostile
has "calls of it were made" "$tmp/out" '[1-9][0-9]* passed, 0 failed'
finish
