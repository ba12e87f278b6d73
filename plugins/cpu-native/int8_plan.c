/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8_plan.c: what a product of 8-bit integers is computed with and how it is cut into units; and
 * the processor.
 */
#include <string.h>
#include <unistd.h>

#include "int8_layout.h"
#include "int8_lists.h"
#include "level.h"

#if NATIVE_VNNI
#include <cpuid.h>
#endif

/* ---- the processor ---- */

#if NATIVE_VNNI
static bool is_allowed(const char *features, const char *name)
{
    const size_t n = strlen(name);
    const char *p = features;

    for (; (p = strstr(p, name)) != NULL; p += n)
        if ((p == features || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0))
            return true;
    return false;
}

/* The level says that the system saves the registers. */
static const native_int8_way *find_vnni(native_level level, const char *features)
{
    unsigned a, b, c, d;

    if (level >= NATIVE_LEVEL_AVX512 && is_allowed(features, "avx512_vnni") &&
        __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> 11 & 1))
        return &native_int8_way_avx512_vnni;
    if (level >= NATIVE_LEVEL_AVX2 && is_allowed(features, "avx_vnni") &&
        __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1))
        return &native_int8_way_avx_vnni;
    return NULL;
}
#else
static const native_int8_way *find_vnni(native_level level, const char *features)
{
    (void)level;
    (void)features;
    return NULL;
}
#endif

void native_int8_find_cpu(native_int8_cpu *cpu, const char *features)
{
    const native_level level = native_find_level(features);
    const native_int8_way *vnni = find_vnni(level, features);
    long l2 = 0;

#ifdef _SC_LEVEL2_CACHE_SIZE
    l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    cpu->l2_bytes = l2 > 0 ? l2 : 512 << 10;
    cpu->constant = cpu->variable = cpu->depthwise = &native_int8_way_portable;
    cpu->winograd = cpu->narrow = NULL;
    cpu->many = NULL;
#if defined(__x86_64__)
    if (level >= NATIVE_LEVEL_AVX2) {
        cpu->constant = &native_int8_way_avx2_lists;
        cpu->variable = cpu->depthwise = &native_int8_way_avx2;
        cpu->many = &native_int8_way_avx2_halves;
        cpu->winograd = cpu->narrow = vnni ? NULL : &native_int8_way_avx2;
    }
#endif
    if (vnni)
        cpu->constant = cpu->variable = vnni;
}

const char *native_int8_way_name(const native_int8_way *way)
{
    return way->name;
}

int64_t native_int8_panel_columns(const native_int8_cpu *cpu)
{
    return cpu->constant->nr;
}

/* ---- the plan ---- */

/* For so many columns of so many terms it is little to look at all of A. */
static const native_int8_way *other_way(const native_int8_cpu *cpu, const native_int8_shape *s)
{
    return cpu->many && s->n >= 256 && s->k >= 96 ? cpu->many : cpu->variable;
}

/* Windows of one pixel that follow each other are rows. */
static void drop_window(native_int8_shape *s)
{
    const native_int8_window *w = &s->window;
    int64_t pixels = 1;
    int d;

    for (d = 0; d < w->rank; d++) {
        if (w->kernel[d] != 1 || w->stride[d] != 1 || w->pad[d] != 0 || w->in[d] != w->out[d])
            return;
        pixels *= w->out[d];
    }
    if (w->rank == 0 || (s->m > pixels && w->image_step != pixels * w->pixel_step))
        return;
    s->lda = w->pixel_step;
    s->window.rank = 0;
}

/* Windows of lists have 16 terms, which are read even where a row has less. */
static bool can_be_in_place(const native_int8_product *p)
{
    const native_int8_shape *s = &p->shape;
    const bool whole =
        p->way->lists ? s->k >= NATIVE_LIST_WINDOW : s->k % native_int8_group(p->way) == 0;

    return whole && !p->way->wide && s->window.rank == 0 && !s->a_signed;
}

/*
 * Rows in blocks whose packed form takes a quarter of the second cache, and enough units. Blocks
 * are of about one size and as many for each thread, for those who give each the same number of
 * units.
 */
static void split(native_int8_product *p, const native_int8_cpu *cpu, int64_t threads)
{
    const int64_t mr = p->way->mr, m = p->shape.m, wanted = threads > 1 ? threads * 4 : 1;
    const int64_t row = p->in_place ? p->shape.k : native_int8_row_bytes(p);
    const int64_t least_columns = p->in_place ? 1 : 4; /* panels for which rows are packed */
    int64_t block = cpu->l2_bytes / 4 / row / mr * mr, even;

    block = block < 2 * mr ? 2 * mr : block > 240 ? 240 : block;
    if (int8_ceil_div(m, block) < wanted) {
        const int64_t least = 12 * mr < block ? 12 * mr : block;
        even = int8_ceil_div(int8_ceil_div(m, wanted), mr) * mr;
        block = even < least ? least : even < block ? even : block;
    }
    p->row_units = m > block ? int8_ceil_div(m - block / 4, block) : 1;
    even = int8_ceil_div(p->row_units, threads) * threads;
    if (p->row_units > 1 && even * 4 * mr <= m)
        p->row_units = even;
    p->row_block = int8_smaller(int8_ceil_div(m, p->row_units) + mr - 1, m);
    p->column_units = 1;
    if (p->row_units < wanted) {
        const int64_t most = p->n_panels / least_columns,
                      want = int8_ceil_div(wanted, p->row_units);
        p->column_units = want < most ? want : most > 1 ? most : 1;
    }
    p->n_units = p->row_units * p->column_units;
}

void native_int8_plan(native_int8_product *p, const native_int8_cpu *cpu,
                      const native_int8_shape *shape, const native_int8_matrix *constant_b,
                      int threads)
{
    int64_t unit;

    memset(p, 0, sizeof *p);
    p->shape = *shape;
    drop_window(&p->shape);
    p->way = constant_b ? cpu->constant : cpu->variable;
    if (p->way->lists &&
        !native_int8_suits_lists(constant_b, shape->b_signed, shape->k, shape->n,
                                 other_way(cpu, shape) == cpu->many, can_be_in_place(p)))
        p->way = other_way(cpu, shape);
    unit = p->way->halve ? 16 : native_int8_group(p->way);
    p->k_padded = int8_ceil_div(shape->k, unit) * unit;
    p->n_panels = int8_ceil_div(shape->n, p->way->nr);
    p->panel_bytes = int8_aligned(p->k_padded * p->way->nr);
    if (p->way->lists)
        p->panel_bytes = int8_aligned((int64_t)native_int8_lists_bytes(shape->k));
    p->packed_bytes = (size_t)(int8_sums_bytes(p) + p->n_panels * p->panel_bytes);
    p->in_place = can_be_in_place(p);
    split(p, cpu, threads);
    p->scratch_bytes = (size_t)native_int8_scratch_bytes(p);
}

void native_int8_plan_less(native_int8_product *p, int64_t n)
{
    p->shape.n = n;
    p->n_panels = int8_ceil_div(n, p->way->nr);
    p->packed_bytes = (size_t)(int8_sums_bytes(p) + p->n_panels * p->panel_bytes);
}
