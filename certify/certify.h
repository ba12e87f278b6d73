/* SPDX-License-Identifier: Apache-2.0 */
/*
 * certify/certify.h: the checks that `tfrun certify` makes of one plugin. Each has a name and ends
 * with a verdict; nothing here prints. cli/cmd_certify.c runs them in worker processes, so a check
 * may crash or hang. It loads them as the module tfrun-certify.so (module.c): the calls are some
 * hundred kilobytes of tables with pointers, which every start of tfrun would have to relocate.
 *
 * Layer: public headers of tfrun and the C library.
 */
#ifndef TFR_CERTIFY_CERTIFY_H
#define TFR_CERTIFY_CERTIFY_H

#include <stdbool.h>
#include <tfrun/tfrun.h>

typedef struct certify_options {
    tfr_runtime_options runtime; /* of the checks, with the plugin's file; the log is theirs */
    const char *file;            /* the plugin */
    const char *device;          /* the plugin's backend or device; NULL = its first one */
    const char *ops;             /* "Relu,ai.onnx.ml.Scaler"; NULL = all that it claims */
    char *place;                 /* where a check is: for those who see it crash; may be NULL */
    size_t place_capacity;
} certify_options;

typedef enum certify_result {
    CERTIFY_NOT_MADE, /* nothing to check: the plugin does not claim the op, say */
    CERTIFY_PASSED,
    CERTIFY_FAILED,
    CERTIFY_UNSUPPORTED /* the plugin says no, and the text says why */
} certify_result;

/* Plain bytes, for it travels from a worker to its parent. */
typedef struct certify_verdict {
    int32_t result;     /* certify_result */
    int32_t code;       /* tfr_status if the plugin or the device could not be had */
    uint32_t is_last;   /* 1 = without this no other check can be made */
    uint32_t n_calls;   /* that were made */
    uint32_t n_refused; /* to which the plugin said no */
    char text[900];     /* what was found; why not */
    char call[1500];    /* the call that failed, in some lines; "" = none */
} certify_verdict;

/* Checks are numbered from 0; those of ops that the plugin does not claim are among them. */
uint32_t certify_n_checks(void);

typedef struct certify_check {
    const char *name; /* "note", "values" */
    char op[64];      /* "Relu", "ai.onnx.ml.Scaler"; "" = the check is of the whole plugin */
} certify_check;

certify_check certify_describe(uint32_t i);
/* Whether `ops` of the options has the check's op; true for one of the whole plugin. */
bool certify_is_wanted(const certify_options *options, uint32_t i);
/* The first name of `ops` that is no op, in name; false = there is none. */
bool certify_has_unknown(const char *ops, char *name, size_t n);

/*
 * Makes check i. *state begins as NULL, and is what later checks of this process start with:
 * release it with certify_finish.
 */
typedef struct certify_subject certify_subject;
void certify_run(const certify_options *options, certify_subject **state, uint32_t i,
                 certify_verdict *out);
void certify_finish(certify_subject *state);

/* The functions above, as the module exports them under CERTIFY_MODULE. */
typedef struct certify_module {
    const char *version; /* of the tfrun that it belongs to: another has other structs */
    uint32_t (*n_checks)(void);
    certify_check (*describe)(uint32_t i);
    bool (*is_wanted)(const certify_options *options, uint32_t i);
    bool (*has_unknown)(const char *ops, char *name, size_t n);
    void (*run)(const certify_options *options, certify_subject **state, uint32_t i,
                certify_verdict *out);
    void (*finish)(certify_subject *state);
} certify_module;
#define CERTIFY_MODULE "tfrun_certify"
extern const certify_module tfrun_certify;

#endif
