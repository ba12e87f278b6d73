/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_onednn_train.c: the training step as prepared lists of oneDNN primitives, in two forms:
 *
 *   "onednn"        one list for the batch, each primitive on all threads;
 *   "onednn-split"  a list for 8 samples on each thread, which takes its share of the batch in
 *                   such parts; gradients are summed over parts and threads.
 *
 * Around the lists: gather, loss, one pass of sum and Adam, and what backward wants of the new
 * weights. A batch with fewer samples than others has lists of its own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "cnn_list.h"
#include "cnn_math.h"
#include "peer.h"
#include "team.h"

enum { SPLIT_SAMPLES = 8, MOST_SIZES = 4, MOST_MEMBERS = 256, ACCURACY_SAMPLES = 250 };

typedef struct sized_list {
    int64_t n;
    cnn_list *list;
} sized_list;

typedef struct member {
    sized_list lists[MOST_SIZES];
    int n_lists;
    float *sums[BENCH_CNN_PARAMS];            /* over parts */
    const float *gradients[BENCH_CNN_PARAMS]; /* sums, or the only part's */
    void *stream;
    double loss;
    bool took_part;
    int bad;
} member;

typedef struct peer {
    const bench_training *training;
    dnnl_library library;
    cnn_net net;
    bench_cursor cursor;
    bench_team *team;
    member *members;
    uint32_t n_members, part; /* samples of a part */
    int omp_threads;
    float *m, *v;
    float *summed[BENCH_CNN_PARAMS], *moved[BENCH_CNN_PARAMS]; /* where layouts differ */
    cnn_mover movers[BENCH_CNN_PARAMS];
    int64_t n_updates, n_samples; /* n_samples since the last question for the loss */
    double loss;
    /* of the step that runs */
    const int64_t *order;
    uint32_t n;
    cnn_adam adam;
} peer;

static cnn_list *list_for(peer *p, member *m, int64_t n)
{
    for (int i = 0; i < m->n_lists; i++)
        if (m->lists[i].n == n)
            return m->lists[i].list;
    if (m->n_lists == MOST_SIZES || m->bad)
        return NULL;
    m->bad = cnn_list_create(&p->net, n, &m->lists[m->n_lists].list);
    if (m->bad)
        return NULL;
    m->lists[m->n_lists].n = n;
    return m->lists[m->n_lists++].list;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static size_t elements(const cnn_param *param)
{
    return param->gradient_bytes / sizeof(float);
}

/* Forward and backward of one part; its gradients become, or are added to, those of the member. */
static void do_part(peer *p, member *m, uint32_t from, uint32_t n, bool first, bool only)
{
    cnn_list *list = list_for(p, m, n);
    const float *scores;
    if (!list)
        return;
    cnn_gather(cnn_list_input(list), p->training->images, p->order + from, n);
    m->bad = cnn_list_forward(list, &scores);
    if (m->bad)
        return;
    cnn_loss(scores, p->training->labels, p->order + from, n, p->n, cnn_list_score_gradient(list),
             &m->loss);
    m->bad = cnn_list_backward(list);
    for (int i = 0; !m->bad && i < BENCH_CNN_PARAMS; i++) {
        const float *g = cnn_list_gradient(list, i);
        m->gradients[i] = only ? g : m->sums[i];
        if (!only && first)
            memcpy(m->sums[i], g, p->net.params[i].gradient_bytes);
        else if (!only)
            cnn_accumulate(m->sums[i], g, elements(&p->net.params[i]));
    }
    m->took_part = true;
}

/* Part `i` of `n` of the elements of one weight, in whole cache lines. */
static void update_same(peer *p, int param, const float *const *parts, uint32_t n_parts, uint32_t i)
{
    const cnn_param *w = &p->net.params[param];
    size_t n = elements(w), lines = (n + 15) / 16;
    size_t from = lines * i / p->n_members * 16, to = lines * (i + 1) / p->n_members * 16;
    size_t at = (size_t)(w->value - p->net.values);
    to = to < n ? to : n;
    if (to > from)
        cnn_update(&p->adam, w->value, p->m + at, p->v + at, parts, n_parts, from, to - from);
}

static int update_moved(peer *p, int param, const float *const *parts, uint32_t n_parts,
                        void *stream)
{
    const cnn_param *w = &p->net.params[param];
    size_t at = (size_t)(w->value - p->net.values);
    const float *moved = p->moved[param];
    int bad;
    memcpy(p->summed[param], parts[0], w->gradient_bytes);
    for (uint32_t i = 1; i < n_parts; i++)
        cnn_accumulate(p->summed[param], parts[i], elements(w));
    if ((bad = cnn_mover_run(&p->movers[param], &p->net, stream)))
        return bad;
    cnn_update(&p->adam, w->value, p->m + at, p->v + at, &moved, 1, 0, w->bytes / sizeof(float));
    return 0;
}

static void update(peer *p, member *m, uint32_t i)
{
    const float *parts[MOST_MEMBERS];
    for (int param = 0; param < BENCH_CNN_PARAMS; param++) {
        uint32_t n_parts = 0;
        for (uint32_t k = 0; k < p->n_members; k++)
            if (p->members[k].took_part)
                parts[n_parts++] = p->members[k].gradients[param];
        if (p->net.params[param].same)
            update_same(p, param, parts, n_parts, i);
        else if ((uint32_t)param / 2 % p->n_members == i)
            m->bad = m->bad ? m->bad : update_moved(p, param, parts, n_parts, m->stream);
    }
    if (p->n_members > 1)
        bench_team_meet(p->team);
    for (int layer = 0; layer < BENCH_CNN_LAYERS; layer++)
        if ((uint32_t)layer % p->n_members == i && !m->bad)
            m->bad = cnn_net_derive(&p->net, m->stream, layer);
}

/* What a member does in a step. */
static void work(void *user, uint32_t i)
{
    peer *p = user;
    member *m = &p->members[i];
    uint32_t n_parts = (p->n + p->part - 1) / p->part;
    bool any_bad = false;
    m->took_part = false;
    for (uint32_t part = i; part < n_parts; part += p->n_members) {
        uint32_t from = part * p->part, n = p->n - from < p->part ? p->n - from : p->part;
        do_part(p, m, from, n, part == i, part == i && part + p->n_members >= n_parts);
    }
    if (p->n_members > 1)
        bench_team_meet(p->team);
    for (uint32_t k = 0; k < p->n_members; k++)
        any_bad = any_bad || p->members[k].bad;
    if (!any_bad)
        update(p, m, i);
    else if (p->n_members > 1)
        bench_team_meet(p->team);
}

static tfr_status result_of(peer *p, tfr_err *err)
{
    for (uint32_t i = 0; i < p->n_members; i++)
        if (p->members[i].bad)
            return tfr_fail(err, TFR_EUNSUPPORTED, "oneDNN fails with status %d",
                            p->members[i].bad);
    return TFR_OK;
}

/* Another contender in this process may have set another number for this thread. */
static void set_threads(const peer *p)
{
    if (p->library.omp_set_num_threads)
        p->library.omp_set_num_threads(p->omp_threads);
}

static tfr_status step(void *user, tfr_err *err)
{
    peer *p = user;
    set_threads(p);
    p->order = bench_cursor_next(&p->cursor, &p->n);
    p->adam = cnn_adam_at(++p->n_updates);
    bench_team_run(p->team, work, p);
    for (uint32_t i = 0; i < p->n_members; i++) {
        p->loss += p->members[i].loss;
        p->members[i].loss = 0;
    }
    p->n_samples += p->n;
    return result_of(p, err);
}

/* ---- what it has learned --------------------------------------------------------------------- */

static tfr_status mean_loss(void *user, double *out, tfr_err *err)
{
    peer *p = user;
    (void)err;
    *out = p->loss / (double)p->n_samples;
    p->loss = 0;
    p->n_samples = 0;
    return TFR_OK;
}

static tfr_status accuracy(void *user, double *out, tfr_err *err)
{
    peer *p = user;
    const bench_training *t = p->training;
    cnn_list *list = NULL;
    int64_t right = 0;
    int bad;
    set_threads(p);
    bad = cnn_list_create(&p->net, 1, &list);
    for (int64_t i = t->n_train; !bad && i < t->n_train + t->n_test; i++) {
        const float *scores;
        int best = 0;
        cnn_gather(cnn_list_input(list), t->images, &i, 1);
        bad = cnn_list_forward(list, &scores);
        for (int c = 1; !bad && c < BENCH_CLASSES; c++)
            best = scores[c] > scores[best] ? c : best;
        right += best == t->labels[i];
    }
    cnn_list_destroy(list);
    *out = (double)right / (double)t->n_test;
    return bad ? tfr_fail(err, TFR_EUNSUPPORTED, "oneDNN fails with status %d", bad) : TFR_OK;
}

/* After the first update m is the gradient times 1 - beta_1. */
static tfr_status moments(void *user, float *const *out, tfr_err *err)
{
    peer *p = user;
    int bad = 0;
    for (int i = 0; !bad && i < BENCH_CNN_PARAMS; i++) {
        const cnn_param *w = &p->net.params[i];
        const void *md = cnn_plain_md(&p->library, i);
        cnn_mover mover = {0};
        bad = !md ? -1
                  : cnn_mover_init(&mover, &p->net, w->md, p->m + (w->value - p->net.values), md,
                                   out[i]);
        if (!bad)
            bad = cnn_mover_run(&mover, &p->net, p->members[0].stream);
        cnn_mover_finish(&mover, &p->net);
        bench_dnnl_md_free(&p->library, md);
    }
    return bad ? tfr_fail(err, TFR_EUNSUPPORTED, "oneDNN fails with status %d", bad) : TFR_OK;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* In its own thread: the number of OpenMP threads belongs to the thread, and so does scratch memory
 * of primitives. */
static void begin_member(void *user, uint32_t i)
{
    peer *p = user;
    member *m = &p->members[i];
    set_threads(p);
    m->bad = p->library.stream_create(&m->stream, p->net.engine, DNNL_IN_ORDER);
    for (int k = 0; !m->bad && k < BENCH_CNN_PARAMS; k++)
        if (posix_memalign((void **)&m->sums[k], 64, p->net.params[k].gradient_bytes))
            m->bad = -1;
    if (!m->bad)
        (void)list_for(p, m, p->part);
}

static void destroy(void *user)
{
    peer *p = user;
    bench_team_destroy(p->team);
    for (uint32_t i = 0; p->members && i < p->n_members; i++) {
        member *m = &p->members[i];
        for (int k = 0; k < m->n_lists; k++)
            cnn_list_destroy(m->lists[k].list);
        for (int k = 0; k < BENCH_CNN_PARAMS; k++)
            free(m->sums[k]);
        if (m->stream)
            p->library.stream_destroy(m->stream);
    }
    for (int i = 0; i < BENCH_CNN_PARAMS; i++) {
        cnn_mover_finish(&p->movers[i], &p->net);
        free(p->summed[i]);
        free(p->moved[i]);
    }
    cnn_net_finish(&p->net);
    if (p->net.engine)
        p->library.engine_destroy(p->net.engine);
    bench_cursor_finish(&p->cursor);
    free(p->members);
    free(p->m);
    free(p->v);
    free(p);
}

static int make_movers(peer *p)
{
    int bad = 0;
    for (int i = 0; !bad && i < BENCH_CNN_PARAMS; i++) {
        const cnn_param *w = &p->net.params[i];
        if (w->same)
            continue;
        p->summed[i] = calloc(1, w->gradient_bytes);
        p->moved[i] = calloc(1, w->bytes);
        bad = p->summed[i] && p->moved[i] ? cnn_mover_init(&p->movers[i], &p->net, w->gradient_md,
                                                           p->summed[i], w->md, p->moved[i])
                                          : -1;
    }
    return bad;
}

static int prepare(peer *p)
{
    int bad;
    set_threads(p);
    if (bench_cursor_init(&p->cursor, p->training, NULL))
        return -1;
    if ((bad = p->library.engine_create(&p->net.engine, DNNL_CPU, 0)) ||
        (bad = cnn_net_init(&p->net, p->part)))
        return bad;
    p->m = calloc(p->net.n_values, sizeof *p->m);
    p->v = calloc(p->net.n_values, sizeof *p->v);
    p->members = calloc(p->n_members, sizeof *p->members);
    p->team = p->m && p->v && p->members ? bench_team_create(p->n_members) : NULL;
    if (!p->team)
        return -1;
    bench_team_run(p->team, begin_member, p);
    for (uint32_t i = 0; i < p->n_members; i++)
        if (p->members[i].bad)
            return p->members[i].bad;
    bad = make_movers(p);
    return bad ? bad
               : cnn_net_set(&p->net, p->members[0].stream, (float *const *)p->training->weights);
}

static void add(bench_contest *contest, const bench_training *training, void *library,
                const char *who, bool split)
{
    uint32_t n_threads = contest->options->n_threads;
    bench_contender *c;
    peer *p;
    int bad;
    if (!bench_wants(contest->options, who) || !(p = calloc(1, sizeof *p)))
        return;
    p->training = p->cursor.training = training;
    p->n_members = split ? n_threads < MOST_MEMBERS ? n_threads : MOST_MEMBERS : 1;
    p->omp_threads = split ? 1 : (int)n_threads;
    p->part = training->batch;
    if (split && p->part > SPLIT_SAMPLES)
        p->part = SPLIT_SAMPLES;
    if (!bench_dnnl_take(library, &p->library)) {
        bench_peer_skip(contest, who, "the library lacks functions of oneDNN 2.x or 3.x");
        destroy(p);
        return;
    }
    p->net.library = &p->library;
    if ((bad = prepare(p)) || !(c = bench_contest_add(contest, who))) {
        bench_peer_skip(contest, who, "its lists cannot be made, status %d", bad);
        destroy(p);
        return;
    }
    snprintf(c->note, sizeof c->note, "%d.%d.%d, %s, %d reorders", p->library.major,
             p->library.minor, p->library.patch,
             split ? "a list of 8 samples on each thread" : "one list on all threads",
             cnn_list_reorders(p->members[0].lists[0].list));
    c->run = step;
    c->loss = mean_loss;
    c->accuracy = accuracy;
    c->moments = moments;
    c->destroy = destroy;
    c->user = p;
}

void bench_add_onednn_training(bench_contest *contest, const bench_training *training)
{
    void *library;
    if (!bench_wants(contest->options, "onednn") && !bench_wants(contest->options, "onednn-split"))
        return;
    if (!(library = bench_peer_open(contest, "onednn", bench_dnnl_names)))
        return;
    add(contest, training, library, "onednn", false);
    add(contest, training, library, "onednn-split", true);
}
