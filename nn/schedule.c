/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.c: see schedule.h. Forms are those of Keras (optimizers/schedules,
 * callbacks/reduce_lr_on_plateau.py), one-cycle that of PyTorch (OneCycleLR with cosines).
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/fail.h>

#include "schedule.h"

enum { LONGEST = 32 };

static const char *const names[TFR__N_SCHEDULES] = {
    "constant", "piecewise", "exponential", "cosine", "polynomial", "one-cycle", "plateau"};

#define OF(kind) (1u << TFR__SCHEDULE_##kind)
#define WARMS                                                                                      \
    (OF(CONSTANT) | OF(PIECEWISE) | OF(EXPONENTIAL) | OF(COSINE) | OF(POLYNOMIAL) | OF(PLATEAU))
#define STEPS (OF(EXPONENTIAL) | OF(COSINE) | OF(POLYNOMIAL) | OF(ONE_CYCLE))

/* What a text may set. */
typedef struct key {
    const char *name;
    size_t offset;
    uint32_t kinds, needed; /* where it is, and where it has to be */
    bool is_whole;
    double absent, least, most;
} key;

#define FIELD(name) #name, offsetof(tfr__schedule, name)
static const key keys[] = {
    {FIELD(steps), STEPS, STEPS, true, 0, 1, 1e15},
    {FIELD(factor), OF(EXPONENTIAL) | OF(PLATEAU), OF(EXPONENTIAL), false, .1, 0, 1},
    {FIELD(stairs), OF(EXPONENTIAL), 0, true, 0, 0, 1},
    {FIELD(power), OF(POLYNOMIAL), 0, false, 1, 0, 100},
    {FIELD(peak), OF(ONE_CYCLE), 0, false, .3, 0, 1},
    {FIELD(patience), OF(PLATEAU), 0, true, 10, 0, 1e9},
    {FIELD(delta), OF(PLATEAU), 0, false, 1e-4, 0, 1e9},
    {FIELD(cooldown), OF(PLATEAU), 0, true, 0, 0, 1e9},
    {FIELD(end), OF(COSINE) | OF(POLYNOMIAL) | OF(ONE_CYCLE) | OF(PLATEAU), 0, false, 0, 0, 1},
    {FIELD(warmup), WARMS, 0, true, 0, 0, 1e15},
    {FIELD(start), WARMS | OF(ONE_CYCLE), 0, false, 0, 0, 1},
};
enum { N_KEYS = sizeof keys / sizeof *keys };

static double *field(tfr__schedule *s, const key *k)
{
    return (double *)((char *)s + k->offset);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static tfr_status no_schedule(const char *name, tfr_err *err)
{
    char list[128] = "";
    for (int i = 0; i < TFR__N_SCHEDULES; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", names[i]);
    return tfr_fail(err, TFR_EINVAL, "there is no schedule \"%s\"; %s", name, list);
}

static tfr_status no_key(const tfr__schedule *s, const char *name, tfr_err *err)
{
    char list[160] = "";
    for (int i = 0; i < N_KEYS; i++)
        if (keys[i].kinds & 1u << s->kind)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "",
                     keys[i].name);
    return tfr_fail(err, TFR_EINVAL, "the schedule \"%s\" has no \"%s\"; it has %s%s",
                    names[s->kind], name, s->kind == TFR__SCHEDULE_PIECEWISE ? "at, factors, " : "",
                    list);
}

static tfr_status wrong(const tfr__schedule *s, const char *name, const char *value,
                        const char *want, tfr_err *err)
{
    return tfr_fail(err, TFR_EINVAL, "the schedule \"%s\" has %s=%s, want %s", names[s->kind], name,
                    value, want);
}

/* Numbers with / between them, each above the one before where they have to rise. */
static tfr_status read_list(const tfr__schedule *s, const char *name, const char *value, bool rises,
                            double *out, uint32_t *n, tfr_err *err)
{
    const char *p = value;
    char *end;
    for (*n = 0; *n < TFR__MOST_PIECES; p = end + 1) {
        double v = strtod(p, &end);
        if (end == p || !isfinite(v) || v < 0 || (rises && *n && v <= out[*n - 1]))
            break;
        out[(*n)++] = v;
        if (!*end)
            return TFR_OK;
        if (*end != '/')
            break;
    }
    return wrong(s, name, value,
                 rises ? "up to 16 rising numbers such as 1000/2000"
                       : "up to 16 numbers of at least 0 such as .1/.01",
                 err);
}

static tfr_status read_key(tfr__schedule *s, const char *name, const char *value, uint32_t *seen,
                           tfr_err *err)
{
    char *end, want[96];
    double v = strtod(value, &end);
    if (s->kind == TFR__SCHEDULE_PIECEWISE && strcmp(name, "at") == 0)
        return read_list(s, name, value, true, s->at, &s->n_at, err);
    if (s->kind == TFR__SCHEDULE_PIECEWISE && strcmp(name, "factors") == 0)
        return read_list(s, name, value, false, s->factors, &s->n_factors, err);
    for (int i = 0; i < N_KEYS; i++) {
        const key *k = &keys[i];
        if (strcmp(name, k->name) != 0 || !(k->kinds & 1u << s->kind))
            continue;
        snprintf(want, sizeof want, "a %s from %g to %g", k->is_whole ? "whole number" : "number",
                 k->least, k->most);
        if (end == value || *end || !(v >= k->least && v <= k->most) ||
            (k->is_whole && v != floor(v)))
            return wrong(s, name, value, want, err);
        *field(s, k) = v;
        *seen |= 1u << i;
        return TFR_OK;
    }
    return no_key(s, name, err);
}

/* The word up to one of these characters, behind which *text is then. */
static bool next_word(const char **text, const char *stops, char *out, size_t room)
{
    size_t n = strcspn(*text, stops);
    if (n >= room)
        return false;
    memcpy(out, *text, n);
    out[n] = '\0';
    *text += n + ((*text)[n] != '\0');
    return true;
}

static tfr_status check_whole(const tfr__schedule *s, uint32_t seen, tfr_err *err)
{
    for (int i = 0; i < N_KEYS; i++)
        if (keys[i].needed & 1u << s->kind && !(seen & 1u << i))
            return tfr_fail(err, TFR_EINVAL, "the schedule \"%s\" needs %s, as in \"%s:%s=...\"",
                            names[s->kind], keys[i].name, names[s->kind], keys[i].name);
    if (s->kind == TFR__SCHEDULE_PIECEWISE && (!s->n_at || s->n_at != s->n_factors))
        return tfr_fail(err, TFR_EINVAL,
                        "the schedule \"piecewise\" has %u steps and %u factors; it needs as many "
                        "of both, as in \"piecewise:at=1000/2000,factors=.1/.01\"",
                        s->n_at, s->n_factors);
    return TFR_OK;
}

tfr_status tfr__schedule_init(tfr__schedule *s, const char *text, tfr_err *err)
{
    char name[LONGEST], value[256];
    uint32_t seen = 0;
    tfr_status status = TFR_OK;
    memset(s, 0, sizeof *s);
    if (!next_word(&text, ":", name, sizeof name))
        return no_schedule(text, err);
    while (s->kind < TFR__N_SCHEDULES && strcmp(name, names[s->kind]) != 0)
        s->kind++;
    if (s->kind == TFR__N_SCHEDULES)
        return no_schedule(name, err);
    for (int i = 0; i < N_KEYS; i++)
        *field(s, &keys[i]) = keys[i].absent;
    if (s->kind == TFR__SCHEDULE_ONE_CYCLE) {
        s->start = 1. / 25;
        s->end = 1. / 25e4;
    }
    while (!status && *text) {
        if (text[strcspn(text, "=,")] != '=' || !next_word(&text, "=", name, sizeof name) ||
            !next_word(&text, ",", value, sizeof value))
            return tfr_fail(err, TFR_EINVAL, "the schedule \"%s\" has \"%s\", want name=value",
                            names[s->kind], text);
        status = read_key(s, name, value, &seen, err);
    }
    return status ? status : check_whole(s, seen, err);
}

/* ---- factors --------------------------------------------------------------------------------- */

/* From a at x 0 to b at x 1, along half a cosine. */
static double along_cosine(double a, double b, double x)
{
    return b + (a - b) / 2 * (1 + cos(3.14159265358979323846 * x));
}

static double one_cycle(const tfr__schedule *s, double step)
{
    const double last = s->steps - 1, top = s->peak * s->steps - 1;
    if (step <= top)
        return top > 0 ? along_cosine(s->start, 1, step / top) : 1;
    return last > top ? along_cosine(1, s->end, (fmin(step, last) - top) / (last - top)) : s->end;
}

static double piecewise(const tfr__schedule *s, double step)
{
    double factor = 1;
    for (uint32_t i = 0; i < s->n_at; i++)
        if (step > s->at[i])
            factor = s->factors[i];
    return factor;
}

double tfr__schedule_factor(const tfr__schedule *s, int64_t steps)
{
    double step = (double)steps, part;
    if (step < s->warmup)
        return s->start + (1 - s->start) * step / s->warmup;
    step -= s->warmup;
    part = s->steps > 0 ? step / s->steps : 0;
    switch (s->kind) {
    case TFR__SCHEDULE_PIECEWISE:
        return piecewise(s, step);
    case TFR__SCHEDULE_EXPONENTIAL:
        return pow(s->factor, s->stairs > 0 ? floor(part) : part);
    case TFR__SCHEDULE_COSINE:
        return along_cosine(1, s->end, fmin(part, 1));
    case TFR__SCHEDULE_POLYNOMIAL:
        return s->end + (1 - s->end) * pow(1 - fmin(part, 1), s->power);
    case TFR__SCHEDULE_ONE_CYCLE:
        return one_cycle(s, step);
    default:
        return 1;
    }
}

void tfr__schedule_see(const tfr__schedule *s, tfr__plateau *p, double value)
{
    if (p->cooling > 0) {
        p->cooling--;
        p->waited = 0;
    }
    if (value < p->best - s->delta) {
        p->best = value;
        p->waited = 0;
    } else if (p->cooling <= 0 && ++p->waited >= s->patience) {
        p->factor = fmax(p->factor * s->factor, s->end);
        p->cooling = s->cooldown;
        p->waited = 0;
    }
}
