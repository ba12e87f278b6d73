/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RegexFullMatch (ONNX 20): y = whether the pattern, in RE2's syntax, matches the whole of x. Texts
 * are UTF-8; one that is not matches nothing. regex_syntax.h turns the pattern into one of PCRE2,
 * whose pcre2_dfa_match follows all ways through the pattern at once and never goes back, so that
 * time is bounded by the length of the texts and the square of the ways, and those are bounded here
 * by MOST_WORK. The library is opened when the first such op comes; without it the op is declined.
 */
#include "naive.h"

#include "regex_syntax.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAIVE_PCRE2
static int32_t supports_regex(const tfr_call *call, tfr_answer *answer)
{
    (void)call;
    return tfr_decline(answer, TFR_REASON_LIBRARY_MISSING,
                       "this build has no PCRE2; install libpcre2-dev and configure again");
}

static int32_t run_regex(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    (void)k;
    (void)launch;
    return tfr_fail(err, TFR_EUNSUPPORTED, "this build has no PCRE2");
}
#else

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define PCRE2_SONAME "libpcre2-8.so.0"
TFR_PLUGIN_MAY_OPEN(PCRE2_SONAME);

enum { HEAP_KIB = 65536, WAYS_MIN = 16, WAYS_MAX = 4096 };
static const double MOST_WORK = 1e10; /* texts' bytes times ways squared; some seconds */

#define FUNCTIONS(X)                                                                               \
    X(pcre2_code_free_8)                                                                           \
    X(pcre2_compile_8)                                                                             \
    X(pcre2_compile_context_create_8)                                                              \
    X(pcre2_compile_context_free_8)                                                                \
    X(pcre2_dfa_match_8)                                                                           \
    X(pcre2_get_error_message_8)                                                                   \
    X(pcre2_get_ovector_pointer_8)                                                                 \
    X(pcre2_match_context_create_8)                                                                \
    X(pcre2_match_context_free_8)                                                                  \
    X(pcre2_match_data_create_8)                                                                   \
    X(pcre2_match_data_free_8)                                                                     \
    X(pcre2_set_heap_limit_8)                                                                      \
    X(pcre2_set_newline_8)                                                                         \
    X(pcre2_set_parens_nest_limit_8)

static struct {
#define SLOT(name) __typeof__(name) *name;
    FUNCTIONS(SLOT)
#undef SLOT
    bool is_open;
    char why[256]; /* it cannot be used; "" = it can, or nobody has tried yet */
} library;

/* dlsym's answer as a function; POSIX says that this way works, ISO C knows none. */
static void find(void *handle, const char *name, void *slot, size_t bytes)
{
    void *address = dlsym(handle, name);
    memcpy(slot, &address, bytes);
    if (!address)
        snprintf(library.why, sizeof library.why, PCRE2_SONAME " has no %s", name);
}

static tfr_status open_library(void)
{
    void *handle;
    errno = 0;
    handle = dlopen(PCRE2_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const int error = errno;
        const char *why = dlerror();
        if (tfr_dlopen_code(error, why, TFR_EUNSUPPORTED) == TFR_ENOMEM)
            return TFR_ENOMEM;
        snprintf(library.why, sizeof library.why, "%s", why ? why : PCRE2_SONAME);
        return TFR_EUNSUPPORTED;
    }
#define FIND(name) find(handle, #name, &library.name, sizeof library.name);
    FUNCTIONS(FIND)
#undef FIND
    library.is_open = !library.why[0];
    return library.is_open ? TFR_OK : TFR_EUNSUPPORTED;
}

/* A library that is not there stays so, but without memory the next call tries again. */
static tfr_status have_library(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    tfr_status status;
    pthread_mutex_lock(&lock);
    status = library.is_open ? TFR_OK : library.why[0] ? TFR_EUNSUPPORTED : open_library();
    pthread_mutex_unlock(&lock);
    return status;
}

static tfr_string pattern_of(const tfr_call *call)
{
    const tfr_attr *a = tfr_call_attr(call, "pattern");
    return a && a->type == TFR_ATTR_STRING && a->n == 1 ? a->strings[0] : (tfr_string){"", 0};
}

static int32_t supports_regex(const tfr_call *call, tfr_answer *answer)
{
    tfr_string p = pattern_of(call);
    const char *why = NULL;
    char *text;
    size_t n;
    tfr_status status = have_library();

    if (status == TFR_ENOMEM)
        return status;
    if (status)
        return tfr_decline(answer, TFR_REASON_LIBRARY_MISSING,
                           "PCRE2 does not load: %s; install its package", library.why);
    if (p.bytes > NAIVE_REGEX_BYTES)
        return tfr_decline(answer, TFR_REASON_SIZE_LIMIT,
                           "the pattern has %llu bytes, at most %d can be taken",
                           (unsigned long long)p.bytes, NAIVE_REGEX_BYTES);
    text = malloc((size_t)p.bytes * NAIVE_REGEX_ROOM + 1);
    if (!text)
        return TFR_ENOMEM;
    why = naive_regex_translate(p.data, (size_t)p.bytes, text, &n);
    free(text);
    if (why)
        return tfr_decline(answer, TFR_REASON_ATTRIBUTE, "pattern \"%.80s\" of %llu bytes: %s",
                           p.data, (unsigned long long)p.bytes, why);
    return TFR_OK;
}

/* What a launch matches with; freed by finish in any case. */
typedef struct matcher {
    pcre2_code_8 *code;
    pcre2_match_data_8 *data;
    pcre2_match_context_8 *limits;
    int *ways; /* PCRE2's workspace */
    size_t n_ways;
} matcher;

static void finish(matcher *m)
{
    if (m->code)
        library.pcre2_code_free_8(m->code);
    if (m->data)
        library.pcre2_match_data_free_8(m->data);
    if (m->limits)
        library.pcre2_match_context_free_8(m->limits);
    free(m->ways);
}

static int32_t compile(tfr_string p, matcher *m, tfr_err *err)
{
    /* The newline below and PCRE2_ALT_CIRCUMFLEX are what RE2 does with ^, $ and dot. */
    static const uint32_t options = PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ALT_CIRCUMFLEX |
                                    PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C;
    pcre2_compile_context_8 *context = library.pcre2_compile_context_create_8(NULL);
    char *text = malloc((size_t)p.bytes * NAIVE_REGEX_ROOM + 1);
    const char *why = NULL;
    unsigned char said[200] = "";
    PCRE2_SIZE at = 0;
    int code = PCRE2_ERROR_NOMEMORY;
    size_t n;

    if (context && text) {
        why = naive_regex_translate(p.data, (size_t)p.bytes, text, &n);
        library.pcre2_set_newline_8(context, PCRE2_NEWLINE_LF);
        library.pcre2_set_parens_nest_limit_8(context, NAIVE_REGEX_DEPTH);
        if (!why)
            m->code = library.pcre2_compile_8((PCRE2_SPTR8)text, n, options, &code, &at, context);
    }
    library.pcre2_compile_context_free_8(context);
    free(text);
    if (m->code)
        return TFR_OK;
    if (!why && (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED))
        return tfr_fail(err, TFR_ENOMEM, "no memory for a pattern of %llu bytes",
                        (unsigned long long)p.bytes);
    if (!why)
        library.pcre2_get_error_message_8(code, said, sizeof said);
    return tfr_fail(err, TFR_EINVAL, "pattern \"%.80s\" of %llu bytes is not valid: %s", p.data,
                    (unsigned long long)p.bytes, why ? why : (const char *)said);
}

static int32_t prepare_matcher(tfr_string p, uint64_t bytes, matcher *m, tfr_err *err)
{
    double ways = sqrt(MOST_WORK / (double)(bytes + 1));
    int32_t status = compile(p, m, err);

    if (status != TFR_OK)
        return status;
    m->n_ways = ways > WAYS_MAX ? WAYS_MAX : ways < WAYS_MIN ? WAYS_MIN : (size_t)ways;
    /* Two lists of three numbers each, and two more: how pcre2_dfa_match divides it. */
    m->ways = malloc((6 * m->n_ways + 2) * sizeof *m->ways);
    m->data = library.pcre2_match_data_create_8(1, NULL);
    m->limits = library.pcre2_match_context_create_8(NULL);
    if (!m->ways || !m->data || !m->limits)
        return tfr_fail(err, TFR_ENOMEM, "no memory for %zu ways through a pattern", m->n_ways);
    library.pcre2_set_heap_limit_8(m->limits, HEAP_KIB);
    return TFR_OK;
}

static int32_t match(const matcher *m, const tfr_string *x, int64_t i, uint8_t *y, tfr_err *err)
{
    const char *text = x->bytes ? x->data : "";
    int code = library.pcre2_dfa_match_8(m->code, (PCRE2_SPTR8)text, (size_t)x->bytes, 0, 0,
                                         m->data, m->limits, m->ways, 6 * m->n_ways + 2);
    unsigned char said[200] = "";

    /* The longest match comes first, also with 0, which says that there are more. PCRE2 10.42 is
     * not right with PCRE2_ENDANCHORED here, and then only this tells. */
    *y = code >= 0 && library.pcre2_get_ovector_pointer_8(m->data)[1] == x->bytes;
    if (code >= PCRE2_ERROR_NOMATCH ||
        (code <= PCRE2_ERROR_UTF8_ERR1 && code >= PCRE2_ERROR_UTF8_ERR21))
        return TFR_OK;
    /* What the data caused; a limit of the kernel would send the op to another backend. */
    if (code == PCRE2_ERROR_NOMEMORY)
        return tfr_fail(err, TFR_ENOMEM, "no memory for matching string %lld", (long long)i);
    if (code == PCRE2_ERROR_DFA_WSSIZE)
        return tfr_fail(err, TFR_EINVAL,
                        "string %lld of %llu bytes has more than %zu ways through the pattern at "
                        "once, the limit for texts of this length",
                        (long long)i, (unsigned long long)x->bytes, m->n_ways);
    library.pcre2_get_error_message_8(code, said, sizeof said);
    return tfr_fail(err, TFR_EINVAL, "string %lld of %llu bytes cannot be matched: %s",
                    (long long)i, (unsigned long long)x->bytes, (const char *)said);
}

static int32_t run_regex(const naive_kernel *k, const tfr_launch *launch, tfr_err *err)
{
    const tfr_string *px = naive_in(k, launch, 0);
    uint8_t *py = naive_out(k, launch, 0);
    int64_t n = tfr_operand_elements(tfr_call_input(&k->call, 0)), i;
    matcher m = {0};
    uint64_t bytes = 0;
    int32_t status = have_library();

    for (i = 0; i < n; i++)
        bytes += px[i].bytes;
    if (status == TFR_OK)
        status = prepare_matcher(pattern_of(&k->call), bytes, &m, err);
    for (i = 0; i < n && status == TFR_OK; i++)
        status = match(&m, px + i, i, py + i, err);
    finish(&m);
    return status;
}
#endif

const naive_op naive_regex_full_match_ops[] = {
    {"", "RegexFullMatch", 20, supports_regex, run_regex, NULL, 0, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL, 0, NULL},
};
