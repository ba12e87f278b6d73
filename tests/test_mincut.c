/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of core/plan/mincut.c against all labelings of small graphs. */
#include "tfr_test.h"

#include <string.h>

#include "base/alloc.h"
#include "plan/mincut.h"

enum { MOST_NODES = 9, MOST_EDGES = 16 };

typedef struct problem {
    tfr__labeling l;
    int64_t prices[MOST_NODES * TFR__LABELS];
    tfr__labeling_edge edges[MOST_EDGES];
    uint8_t labels[MOST_NODES];
} problem;

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* Detours are made no cheaper than the direct way. */
static void make_metric(int64_t d[TFR__LABELS][TFR__LABELS], uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t a = 0; a < n; a++)
            for (uint32_t b = 0; b < n; b++)
                if (d[a][k] + d[k][b] < d[a][b])
                    d[a][b] = d[a][k] + d[k][b];
}

static void make(problem *p, uint32_t n_labels, uint64_t seed)
{
    uint64_t state = seed * 77 + 5;
    memset(p, 0, sizeof *p);
    p->l.n_labels = n_labels;
    p->l.n_nodes = 1 + draw(&state, n_labels == 2 ? MOST_NODES : 6);
    p->l.n_edges = p->l.n_nodes > 1 ? draw(&state, MOST_EDGES) : 0;
    p->l.prices = p->prices;
    p->l.edges = p->edges;
    p->l.labels = p->labels;
    for (uint32_t i = 0; i < p->l.n_nodes; i++) {
        p->labels[i] = (uint8_t)draw(&state, n_labels);
        for (uint32_t k = 0; k < n_labels; k++)
            p->prices[i * n_labels + k] = k != p->labels[i] && draw(&state, 5) == 0
                                              ? TFR__IMPOSSIBLE
                                              : (int64_t)draw(&state, 1000);
    }
    for (uint32_t e = 0; e < p->l.n_edges; e++) {
        p->edges[e].from = draw(&state, p->l.n_nodes - 1);
        p->edges[e].to = p->edges[e].from + 1 + draw(&state, p->l.n_nodes - 1 - p->edges[e].from);
        p->edges[e].bytes = draw(&state, 4) * 1024;
    }
    for (uint32_t a = 0; a < n_labels; a++)
        for (uint32_t b = 0; b < n_labels; b++) {
            p->l.fixed[a][b] = a == b ? 0 : draw(&state, 200);
            p->l.per_kib[a][b] = a == b ? 0 : draw(&state, 200);
        }
    make_metric(p->l.fixed, n_labels);
    make_metric(p->l.per_kib, n_labels);
}

static int64_t cheapest(const problem *p)
{
    uint8_t labels[MOST_NODES] = {0};
    int64_t best = INT64_MAX;
    uint32_t i = 0;
    while (i < p->l.n_nodes) {
        int64_t price = tfr__labeling_price(&p->l, labels);
        best = price < best ? price : best;
        for (i = 0; i < p->l.n_nodes && ++labels[i] == p->l.n_labels; i++)
            labels[i] = 0;
    }
    return best;
}

TEST(two_labels_are_exact)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        problem p;
        make(&p, 2, seed);
        REQUIRE(tfr__labeling_solve(&p.l));
        REQUIRE_INT(cheapest(&p), tfr__labeling_price(&p.l, p.labels));
    }
}

TEST(more_labels_are_never_dearer_and_nearly_always_exact)
{
    uint32_t exact = 0, n = 1500;
    for (uint64_t seed = 0; seed < n; seed++) {
        problem p;
        make(&p, 3 + seed % 2, seed);
        int64_t before = tfr__labeling_price(&p.l, p.labels), best = cheapest(&p);
        REQUIRE(tfr__labeling_solve(&p.l));
        int64_t after = tfr__labeling_price(&p.l, p.labels);
        REQUIRE(after <= before);
        REQUIRE(after < TFR__IMPOSSIBLE);
        exact += after == best;
    }
    printf("%u of %u exact... ", exact, n);
    CHECK(exact >= n * 98 / 100);
}

TEST(a_cheap_node_between_two_dear_neighbours_stays_with_them)
{
    static const int64_t prices[] = {100000, 100, 10, 20, 100000, 100};
    static const tfr__labeling_edge edges[] = {{0, 1, 65536}, {1, 2, 65536}};
    uint8_t labels[] = {0, 0, 0};
    tfr__labeling l = {.n_nodes = 3,
                       .n_edges = 2,
                       .n_labels = 2,
                       .prices = prices,
                       .edges = edges,
                       .fixed = {{0, 5}, {5, 0}},
                       .per_kib = {{0, 1}, {1, 0}},
                       .labels = labels};
    REQUIRE(tfr__labeling_solve(&l));
    CHECK_MEM("\1\1\1", labels, 3);
}

/* The walks of a path do not recurse, and levels are few. */
TEST(thousands_of_nodes_take_no_time)
{
    enum { N = 4000 };
    static int64_t prices[3 * N];
    static tfr__labeling_edge edges[2 * N];
    static uint8_t labels[N];
    uint64_t state = 3;
    tfr__labeling l = {.n_nodes = N,
                       .n_edges = 2 * N - 4,
                       .n_labels = 3,
                       .prices = prices,
                       .edges = edges,
                       .fixed = {{0, 50, 50}, {50, 0, 50}, {50, 50, 0}},
                       .labels = labels};
    for (uint32_t i = 0; i < 3 * N; i++)
        prices[i] = draw(&state, 100);
    for (uint32_t i = 0; i + 2 < N; i++) {
        edges[2 * i] = (tfr__labeling_edge){i, i + 1, 0};
        edges[2 * i + 1] = (tfr__labeling_edge){i, i + 2, 0};
    }
    int64_t before = tfr__labeling_price(&l, labels);
    REQUIRE(tfr__labeling_solve(&l));
    CHECK(tfr__labeling_price(&l, labels) < before);
}

TEST(without_memory_nothing_changes)
{
    for (uint64_t n = 1; n < 6; n++) {
        uint64_t live = tfr__alloc_live();
        uint8_t before[MOST_NODES];
        problem p;
        make(&p, 3, n);
        memcpy(before, p.labels, sizeof before);
        tfr__alloc_fail_at(n);
        CHECK(!tfr__labeling_solve(&p.l));
        tfr__alloc_fail_at(0);
        CHECK_MEM(before, p.labels, sizeof before);
        CHECK_UINT(live, tfr__alloc_live());
    }
}

static const test_case cases[] = {
    CASE(two_labels_are_exact),
    CASE(more_labels_are_never_dearer_and_nearly_always_exact),
    CASE(a_cheap_node_between_two_dear_neighbours_stays_with_them),
    CASE(thousands_of_nodes_take_no_time),
    CASE(without_memory_nothing_changes),
};
TEST_MAIN(cases)
