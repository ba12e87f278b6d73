/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify_random.c: could these values have been drawn where those were? One row of expected values
 * is judged by the rows of many runs: element by element by what the runs gave there, and all
 * together by their distribution. Elements are taken as independent. The rows come from a counter,
 * so a verdict is the same each time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "verify.h"

#define MOST_VALUES 8 /* that an element may have to be judged value by value */

/* The values seen and how often; n is MOST_VALUES + 1 if there are more. */
typedef struct census {
    double values[MOST_VALUES];
    uint32_t counts[MOST_VALUES];
    uint32_t n;
} census;

static bool is_equal(const cli_sample *s, double a, double b)
{
    return a == b || (a != a && b != b) || fabs(a - b) <= s->atol + s->rtol * fabs(a);
}

static int find_value(const cli_sample *s, const census *c, double value)
{
    for (uint32_t k = 0; k < c->n && k < MOST_VALUES; k++)
        if (is_equal(s, value, c->values[k]))
            return (int)k;
    return -1;
}

static void count_value(const cli_sample *s, census *c, double value)
{
    int k;
    if (c->n > MOST_VALUES)
        return;
    k = find_value(s, c, value);
    if (k >= 0) {
        c->counts[k]++;
    } else if (c->n++ < MOST_VALUES) {
        c->values[c->n - 1] = value;
        c->counts[c->n - 1] = 1;
    }
}

static void count_column(const cli_sample *s, size_t i, census *c)
{
    c->n = 0;
    for (size_t r = 0; r < s->n_rows; r++)
        count_value(s, c, s->rows[r * s->n + i]);
}

/* ---- each element by itself ------------------------------------------------------------------ */

enum { N_TILTS = 10 };

/*
 * The chance of a row as unlikely as the expected one, bounded by Chernoff: with L = -log of the
 * row's probability, P(L >= l) <= exp(-t l) E[exp(t L)] for every t, and E[exp(t L)] is the product
 * over the elements of sum p^(1-t).
 */
typedef struct likelihood {
    double log_bound[N_TILTS];
} likelihood;

static void add_element(likelihood *l, const cli_sample *s, const census *c, int found)
{
    const double all = (double)s->n_rows + 1, unseen = 1 / all; /* a value no run gave yet */
    const double p = found < 0 ? unseen : c->counts[found] / all;
    for (int t = 0; t < N_TILTS; t++) {
        double tilt = (t + 1.0) / N_TILTS, sum = pow(unseen, 1 - tilt);
        for (uint32_t k = 0; k < c->n; k++)
            sum += pow(c->counts[k] / all, 1 - tilt);
        l->log_bound[t] += tilt * log(p) + log(sum);
    }
}

static bool judge_elements(const cli_sample *s, char *text, size_t capacity)
{
    likelihood l = {{0}};
    census pool = {.n = 0}, c;
    for (size_t i = 0; i < s->n * s->n_rows; i++)
        count_value(s, &pool, s->rows[i]);
    for (size_t i = 0; i < s->n; i++) {
        int found;
        count_column(s, i, &c);
        if (c.n > MOST_VALUES || (s->n_rows == 1 && pool.n > MOST_VALUES))
            continue; /* any number: the distribution is judged */
        found = find_value(s, &c, s->expected[i]);
        /* A rare value may be missing here, if elsewhere it comes. */
        if (found < 0 && (pool.n > MOST_VALUES || find_value(s, &pool, s->expected[i]) < 0)) {
            snprintf(text, capacity, "element %zu: expected %.9g, which no run gave there", i,
                     s->expected[i]);
            return false;
        }
        if (s->n_rows > 1)
            add_element(&l, s, &c, found);
    }
    for (int t = 0; t < N_TILTS; t++) {
        if (l.log_bound[t] < log(CLI_SIGNIFICANCE)) {
            snprintf(text, capacity,
                     "the expected values have a chance under %.3g among those of %zu runs",
                     exp(l.log_bound[t]), s->n_rows);
            return false;
        }
    }
    return true;
}

/* With one row, its values must be among the expected ones, where these are few. */
static bool judge_row(const cli_sample *s, char *text, size_t capacity)
{
    census pool = {.n = 0};
    for (size_t i = 0; i < s->n; i++)
        count_value(s, &pool, s->expected[i]);
    for (size_t i = 0; i < s->n && pool.n <= MOST_VALUES; i++) {
        if (find_value(s, &pool, s->rows[i]) < 0) {
            snprintf(text, capacity, "element %zu: obtained %.9g, which is expected nowhere", i,
                     s->rows[i]);
            return false;
        }
    }
    return true;
}

/* ---- the distribution ------------------------------------------------------------------------ */

static int number_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    if (x != x || y != y)
        return (x != x) - (y != y);
    return (x > y) - (x < y);
}

/*
 * The test of Kolmogorov and Smirnov for two samples, both sorted: the chance of a distance d of
 * their distribution functions is about 2 exp(-2 d^2 n m / (n + m)), and less with equal values.
 */
static bool judge_distribution(const double *a, size_t n, const double *b, size_t m, char *text,
                               size_t capacity)
{
    double distance = 0, chance;
    size_t i = 0, k = 0;
    while (i < n && k < m) {
        double at = number_order(&a[i], &b[k]) < 0 ? a[i] : b[k], d;
        while (i < n && number_order(&a[i], &at) == 0)
            i++;
        while (k < m && number_order(&b[k], &at) == 0)
            k++;
        d = fabs((double)i / (double)n - (double)k / (double)m);
        distance = d > distance ? d : distance;
    }
    chance = 2 * exp(-2 * distance * distance * ((double)n / ((double)n + (double)m)) * (double)m);
    if (chance >= CLI_SIGNIFICANCE)
        return true;
    snprintf(text, capacity,
             "%zu expected and %zu obtained values have distributions %.3g apart, a chance of %.3g",
             n, m, distance, chance);
    return false;
}

bool cli_random_judge(cli_sample *s, char *text, size_t capacity)
{
    size_t m = s->n * s->n_rows;
    *text = 0;
    if (!s->n || !judge_elements(s, text, capacity) ||
        (s->n_rows == 1 && !judge_row(s, text, capacity)))
        return !s->n;
    qsort(s->expected, s->n, sizeof *s->expected, number_order);
    qsort(s->rows, m, sizeof *s->rows, number_order);
    return judge_distribution(s->expected, s->n, s->rows, m, text, capacity);
}
