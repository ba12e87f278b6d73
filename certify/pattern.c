/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c: the reader of the small language of case.h, by recursive descent. */
#include "pattern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tfrun/dtype.h>

/* Steele, Lea, Flood 2014: SplitMix64. */
uint64_t ops_random_next(ops_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t ops_random_below(ops_random *random, uint64_t n)
{
    return n ? ops_random_next(random) % n : 0;
}

double ops_random_unit(ops_random *random)
{
    return (double)(ops_random_next(random) >> 11) / 9007199254740992.0;
}

int64_t ops_to_int(double x)
{
    if (x >= 9223372036854775808.0)
        return INT64_MAX;
    if (!(x > -9223372036854775808.0))
        return INT64_MIN;
    return (int64_t)x;
}

void ops_letters_init(ops_letters *letters, const char *name, const char *vars,
                      const char *overrides, ops_random *random)
{
    memset(letters, 0, sizeof *letters);
    letters->name = name;
    letters->vars = vars ? vars : "";
    letters->overrides = overrides ? overrides : "";
    letters->random = random;
}

/* ---- the reader ------------------------------------------------------------------------------ */

typedef struct reader {
    ops_letters *letters;
    const char *text, *at;
    int i, j;
} reader;

static double read_choice(reader *r);

static _Noreturn void bad(const reader *r, const char *what)
{
    fprintf(stderr, "%s: \"%s\" at \"%s\": %s\n", r->letters->name, r->text, r->at, what);
    exit(99);
}

static bool take(reader *r, const char *token)
{
    size_t n = strlen(token);
    if (strncmp(r->at, token, n) != 0)
        return false;
    r->at += n;
    return true;
}

static void expect(reader *r, const char *token)
{
    if (!take(r, token))
        bad(r, "something else was expected");
}

/* By hand, because strtod would take the first dot of a range. */
static double read_number(reader *r)
{
    char digits[40];
    size_t n = 0;
    bool dot = false;
    for (; n < sizeof digits - 1; n++, r->at++) {
        bool digit = *r->at >= '0' && *r->at <= '9';
        if (!digit && (*r->at != '.' || dot || r->at[1] == '.'))
            break;
        dot = dot || *r->at == '.';
        digits[n] = *r->at;
    }
    digits[n] = 0;
    double x = strtod(digits, NULL);
    if (*r->at == 'e' && (r->at[1] == '-' || (r->at[1] >= '0' && r->at[1] <= '9'))) {
        char *end;
        x *= pow(10, (double)strtol(r->at + 1, &end, 10));
        r->at = end;
    }
    return x;
}

/* The draw behind "L=" in vars, or NULL. */
static const char *find_letter(const char *vars, char letter)
{
    for (; *vars; vars++)
        if (vars[0] == letter && vars[1] == '=')
            return vars + 2;
        else
            while (vars[1] && vars[0] != ' ')
                vars++;
    return NULL;
}

static void draw_perm(reader *r, int letter, const char *inside)
{
    ops_letters *l = r->letters;
    int n = (int)ops_eval(l, inside, r->i, r->j);
    if (n < 0 || n > OPS_MAX_LIST)
        bad(r, "a permutation of too many");
    for (int k = 0; k < n; k++) {
        int other = (int)ops_random_below(l->random, (uint64_t)k + 1);
        l->value[letter][k] = l->value[letter][other];
        l->value[letter][other] = k;
        l->drawn[letter][k] = true;
    }
}

static double letter_at(reader *r, char name, int i)
{
    ops_letters *l = r->letters;
    int letter = name >= 'a' ? name - 'a' : name - 'A' + 26;
    if (name == 'i')
        return r->i;
    if (name == 'j')
        return r->j;
    if (name < 'a')
        i = 0;
    if (i < 0 || i >= OPS_MAX_LIST)
        bad(r, "the position of a letter is out of range");
    if (l->drawn[letter][i])
        return l->value[letter][i];
    const char *draw = find_letter(l->overrides, name);
    if (!draw)
        draw = find_letter(l->vars, name);
    if (!draw)
        bad(r, "a letter without a draw");
    if (++l->depth > 20)
        bad(r, "letters that need each other");
    if (strncmp(draw, "perm(", 5) == 0) {
        draw_perm(r, letter, draw + 4);
        if (!l->drawn[letter][i])
            bad(r, "a position beyond the permutation");
    } else {
        l->value[letter][i] = ops_draw(l, draw, i, r->j, true);
        l->drawn[letter][i] = true;
    }
    l->depth--;
    return l->value[letter][i];
}

static double read_name(reader *r)
{
    char name[16];
    size_t n = 0;
    if (*r->at >= 'A' && *r->at <= 'Z')
        return letter_at(r, *r->at++, 0);
    while (n < sizeof name - 1 &&
           ((*r->at >= 'a' && *r->at <= 'z') || (n > 0 && *r->at >= '0' && *r->at <= '9')))
        name[n++] = *r->at++;
    name[n] = 0;
    if (n == 1) {
        int i = r->i;
        if (take(r, "[")) {
            i = (int)read_choice(r);
            expect(r, "]");
        }
        return letter_at(r, name[0], i);
    }
    if (strcmp(name, "min") == 0 || strcmp(name, "max") == 0) {
        expect(r, "(");
        double a = read_choice(r);
        expect(r, ",");
        double b = read_choice(r);
        expect(r, ")");
        return (name[1] == 'i') == (a < b) ? a : b;
    }
    if (strcmp(name, "inf") == 0)
        return INFINITY;
    if (strcmp(name, "floor") == 0) {
        expect(r, "(");
        double a = read_choice(r);
        expect(r, ")");
        return floor(a);
    }
    tfr_dtype dtype = tfr_dtype_parse(name);
    if (dtype == TFR_DTYPE_NONE)
        bad(r, "a name that is no letter, function or type");
    return dtype;
}

static double read_factor(reader *r)
{
    if (take(r, "-"))
        return -read_factor(r);
    if (take(r, "(")) {
        double x = read_choice(r);
        expect(r, ")");
        return x;
    }
    if ((*r->at >= '0' && *r->at <= '9') || *r->at == '.')
        return read_number(r);
    return read_name(r);
}

static double read_product(reader *r)
{
    double x = read_factor(r);
    for (;;) {
        if (take(r, "*"))
            x *= read_factor(r);
        else if (take(r, "/"))
            x /= read_factor(r);
        else if (take(r, "%"))
            x = fmod(x, read_factor(r));
        else
            return x;
    }
}

static double read_sum(reader *r)
{
    double x = read_product(r);
    for (;;) {
        if (take(r, "+"))
            x += read_product(r);
        else if (take(r, "-"))
            x -= read_product(r);
        else
            return x;
    }
}

static double read_comparison(reader *r)
{
    double x = read_sum(r);
    if (take(r, "=="))
        return x == read_sum(r);
    if (take(r, "!="))
        return x != read_sum(r);
    if (take(r, "<="))
        return x <= read_sum(r);
    if (take(r, ">="))
        return x >= read_sum(r);
    if (take(r, "<"))
        return x < read_sum(r);
    if (take(r, ">"))
        return x > read_sum(r);
    return x;
}

/* Both branches are read, and so drawn: a letter must be fine in the one that is not taken. */
static double read_choice(reader *r)
{
    double x = read_comparison(r);
    if (!take(r, "?"))
        return x;
    double yes = read_choice(r);
    expect(r, ":");
    double no = read_choice(r);
    return x != 0 ? yes : no;
}

double ops_eval(ops_letters *letters, const char *text, int i, int j)
{
    reader r = {letters, text, text, i, j};
    return read_choice(&r);
}

/* ---- draws and lists ------------------------------------------------------------------------- */

/* How many alternatives a draw has; it ends at a blank, a comma, "^" or a closing bracket. */
static uint64_t count_alternatives(const char *text)
{
    uint64_t n = 1;
    for (int depth = 0; *text && *text != ' ' && *text != '^'; text++) {
        if (*text == '(' || *text == '[')
            depth++;
        else if (*text == ')' || *text == ']')
            depth--;
        else if (*text == ',' && depth == 0)
            break;
        else if (*text == '|')
            n++;
    }
    return n;
}

static double draw_range(reader *r, double low, double high, bool whole)
{
    ops_random *random = r->letters->random;
    if (!whole)
        return low + (high - low) * ops_random_unit(random);
    if (high < low)
        bad(r, "an empty range");
    /* A dim of 0 makes the whole call trivial, so it is rare. */
    if (low == 0 && high > 1 && ops_random_below(random, 8) != 0)
        low = 1;
    return low + (double)ops_random_below(random, (uint64_t)(high - low) + 1);
}

/* into, unless NULL, is told what the alternatives are. */
static double read_draw(reader *r, bool whole, ops_drawing *into)
{
    uint64_t n = count_alternatives(r->at), chosen = ops_random_below(r->letters->random, n);
    double result = 0;
    for (uint64_t k = 0; k < n; k++) {
        double low = read_choice(r);
        bool range = take(r, "..");
        double high = range ? read_choice(r) : low;
        if (k == chosen)
            result = range ? draw_range(r, low, high, whole) : low;
        if (k + 1 < n)
            expect(r, "|");
        if (into && k < OPS_MAX_ALTERNATIVES)
            into->of[k] = (ops_alternative){low, high, range};
    }
    if (into && n <= OPS_MAX_ALTERNATIVES)
        into->n = n;
    return result;
}

double ops_draw(ops_letters *letters, const char *text, int i, int j, bool whole)
{
    reader r = {letters, text, text, i, j};
    return read_draw(&r, whole, NULL);
}

double ops_draw_again(ops_letters *letters, const char *text, int j, bool whole,
                      ops_drawing *drawing)
{
    reader r = {letters, text, text, 0, j};
    if (drawing->n == 0)
        return read_draw(&r, whole, drawing);
    const ops_alternative *a = &drawing->of[ops_random_below(letters->random, drawing->n)];
    return a->range ? draw_range(&r, a->low, a->high, whole) : a->low;
}

int ops_list(ops_letters *letters, const char *text, int j, double *out)
{
    reader r = {letters, text, text, 0, j};
    int n = 0;
    while (*r.at && *r.at != ' ') {
        const char *begin = r.at;
        int64_t times = 1;
        /* Skip to the count, without drawing anything. */
        int depth = 0;
        for (; *r.at && *r.at != ' ' && *r.at != '^' && (*r.at != ',' || depth > 0); r.at++)
            depth += (*r.at == '(' || *r.at == '[') - (*r.at == ')' || *r.at == ']');
        const char *end = r.at;
        if (take(&r, "^"))
            times = ops_to_int(read_factor(&r));
        const char *next = r.at;
        if (times < 0 || times > OPS_MAX_LIST - n)
            bad(&r, "a list that is too long");
        for (int k = 0; k < times; k++) {
            r.at = begin;
            r.i = k;
            out[n++] = read_draw(&r, true, NULL);
            if (r.at != end)
                bad(&r, "the end of an element was expected");
        }
        r.at = next;
        if (*r.at && *r.at != ' ')
            expect(&r, ",");
    }
    return n;
}
