/* SPDX-License-Identifier: Apache-2.0 */
/* dims.c: see dims.h. */
#include "dims.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tfrun/fail.h>

#include "suggest.h"

#define MOST_NAMES 64

/* ---- --dim ----------------------------------------------------------------------------------- */

/* Names hold no end of their own: the last '=' is the sign. */
static tfr_status split(const char *word, size_t *n_name, int64_t *dim, tfr_err *err)
{
    const char *equal = strrchr(word, '=');
    char *end = NULL;
    long long value = 0;
    errno = 0;
    if (equal)
        value = strtoll(equal + 1, &end, 10);
    if (!equal || equal == word || errno || end == equal + 1 || *end || value < 0)
        return tfr_fail(err, TFR_EINVAL, "--dim %s is not NAME=N, write it like batch=4", word);
    *n_name = (size_t)(equal - word);
    *dim = value;
    return TFR_OK;
}

/* Different names of dims, in the order of the inputs. */
typedef struct names {
    const char *items[MOST_NAMES];
    uint32_t n;
} names;

static const char *name_at(const void *user, uint32_t i)
{
    const names *all = user;
    return all->items[i];
}

static void names_of(const tfr_graph *graph, names *out)
{
    out->n = 0;
    for (uint32_t i = 0; i < tfr_graph_n_inputs(graph); i++) {
        const tfr_value_type *type = tfr_graph_value_type(graph, tfr_graph_input(graph, i));
        for (int32_t k = 0; type->rank_known && k < type->rank && out->n < MOST_NAMES; k++) {
            const char *name = type->dims[k] < 0 ? tfr_graph_symbol_name(graph, type->dims[k]) : 0;
            bool seen = !name;
            for (uint32_t j = 0; !seen && j < out->n; j++)
                seen = strcmp(out->items[j], name) == 0;
            if (!seen)
                out->items[out->n++] = name;
        }
    }
}

static tfr_status fail_unknown(const names *all, const char *word, size_t n_name, tfr_err *err)
{
    char given[96], hint[128], list[300];
    snprintf(given, sizeof given, "%.*s", (int)n_name, word);
    if (!all->n)
        return tfr_fail(err, TFR_EINVAL,
                        "--dim %s: the model names no dim of its inputs \"%s\"; it names none, "
                        "give --shape INPUT=DIMS",
                        word, given);
    return tfr_fail(
        err, TFR_EINVAL, "--dim %s: the model names no dim of its inputs \"%s\"%s dims are %s",
        word, given, *cli_did_you_mean(given, name_at, all, all->n, hint, sizeof hint) ? hint : ";",
        cli_join(name_at, all, all->n, list, sizeof list));
}

/* Fixing a dim in one input fixes it in all that have it. */
static tfr_status fix(tfr_graph *graph, const char *word, size_t n_name, int64_t dim, bool *found,
                      tfr_err *err)
{
    tfr_status status = TFR_OK;
    *found = false;
    for (uint32_t i = 0; !status && i < tfr_graph_n_inputs(graph); i++) {
        const tfr_value_type *type = tfr_graph_value_type(graph, tfr_graph_input(graph, i));
        tfr_shape shape = {.rank = type->rank};
        bool here = false;
        for (int32_t k = 0; type->rank_known && k < type->rank; k++) {
            const char *name =
                type->dims[k] < 0 ? tfr_graph_symbol_name(graph, type->dims[k]) : NULL;
            bool is_it = name && strlen(name) == n_name && memcmp(name, word, n_name) == 0;
            shape.dims[k] = is_it ? dim : type->dims[k];
            here = here || is_it;
        }
        if (here)
            status = tfr_graph_set_input_shape(graph, i, &shape, err);
        *found = *found || here;
    }
    return status;
}

tfr_status cli_dims_fix(const cli_args *args, tfr_graph *graph, tfr_err *err)
{
    tfr_status status = TFR_OK;
    names all;
    if (args->dims.n)
        names_of(graph, &all);
    for (uint32_t k = 0; !status && k < args->dims.n; k++) {
        const char *word = args->dims.items[k];
        size_t n_name = 0;
        int64_t dim = 0;
        bool found = false;
        status = split(word, &n_name, &dim, err);
        for (uint32_t j = 0; !status && j < k; j++)
            if (strncmp(word, args->dims.items[j], n_name + 1) == 0)
                status = tfr_fail(err, TFR_EINVAL, "--dim %s and --dim %s name the same dim",
                                  args->dims.items[j], word);
        if (!status)
            status = fix(graph, word, n_name, dim, &found, err);
        if (!status && !found)
            status = fail_unknown(&all, word, n_name, err);
    }
    return status;
}

/* ---- what names commonly mean ---------------------------------------------------------------- */

#define SEQUENCE 128

/* Parts of names in lower case, the first that is there counts; one letter is a whole name. */
static const struct {
    const char *part;
    int64_t dim;
} usual[] = {{"batch", 1},
             {"beam", 1},
             {"past", 16},
             {"height", 224},
             {"width", 224},
             {"audio", 16000},
             {"wav", 16000},
             {"channel", 3},
             {"seq", SEQUENCE},
             {"len", SEQUENCE},
             {"token", SEQUENCE},
             {"phoneme", SEQUENCE},
             {"time", SEQUENCE},
             {"frame", SEQUENCE},
             {"text", SEQUENCE},
             {"char", SEQUENCE},
             {"n", 1},
             {"b", 1},
             {"h", 224},
             {"w", 224},
             {"t", SEQUENCE},
             {"l", SEQUENCE},
             {"s", SEQUENCE}};

static int64_t by_table(const char *name)
{
    char lower[96];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof lower; n++)
        lower[n] = (char)tolower((unsigned char)name[n]);
    lower[n] = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (usual[i].part[1] ? strstr(lower, usual[i].part) != NULL
                             : strcmp(lower, usual[i].part) == 0)
            return usual[i].dim;
    return 0;
}

bool cli_dims_is_sequence(const char *name)
{
    return by_table(name) == SEQUENCE;
}

/* One name without spaces around it, or a number. */
static int64_t one_dim(const cli_args *args, const char *name, size_t n)
{
    char text[96];
    char *end;
    long long value;
    while (n && *name == ' ')
        name++, n--;
    while (n && name[n - 1] == ' ')
        n--;
    if (!n || n >= sizeof text)
        return 0;
    memcpy(text, name, n);
    text[n] = 0;
    value = strtoll(text, &end, 10);
    if (!*end)
        return value > 0 && value < INT32_MAX ? value : 0;
    for (uint32_t k = 0; k < args->dims.n; k++) {
        const char *word = args->dims.items[k];
        if (strncmp(word, text, n) == 0 && word[n] == '=' && !strchr(word + n + 1, '='))
            return strtoll(word + n + 1, NULL, 10);
    }
    return by_table(text);
}

int64_t cli_dims_usual(const cli_args *args, const char *name)
{
    int64_t sum = 0;
    if (strstr(name, "total_seq"))
        name = "past_sequence_length + sequence_length";
    for (;;) {
        size_t n = strcspn(name, "+");
        int64_t dim = one_dim(args, name, n);
        if (sum > INT32_MAX)
            return 0;
        sum += dim;
        if (!name[n])
            return sum;
        name += n + 1;
    }
}
