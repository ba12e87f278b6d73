/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.h: the letters of a call and the small language over them that case.h describes. Numbers
 * are doubles; ops_to_int clamps. A text that cannot be read is a defect of a description: it ends
 * the program with the text and the place.
 */
#ifndef OPS_PATTERN_H
#define OPS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

enum { OPS_MAX_LIST = 64, OPS_MAX_ALTERNATIVES = 16 };

typedef struct ops_random {
    uint64_t state;
} ops_random;

uint64_t ops_random_next(ops_random *random);
/* 0...n-1; 0 for n = 0. */
uint64_t ops_random_below(ops_random *random, uint64_t n);
/* 0 <= x < 1 */
double ops_random_unit(ops_random *random);

/* The letters of one call. vars and overrides ("r=2 d=64") live as long as the call. */
typedef struct ops_letters {
    const char *name; /* of the description, for messages */
    const char *vars, *overrides;
    ops_random *random;
    double value[52][OPS_MAX_LIST];
    bool drawn[52][OPS_MAX_LIST];
    int depth;
} ops_letters;

void ops_letters_init(ops_letters *letters, const char *name, const char *vars,
                      const char *overrides, ops_random *random);

double ops_eval(ops_letters *letters, const char *text, int i, int j);
/* One of the alternatives. whole = ranges hold integers only. */
double ops_draw(ops_letters *letters, const char *text, int i, int j, bool whole);

/* A draw that is made many times. Its first time gives each letter in it a value for good, so from
 * then on its alternatives are numbers and the text need not be read again. */
typedef struct ops_alternative {
    double low, high;
    bool range;
} ops_alternative;
typedef struct ops_drawing {
    uint64_t n; /* 0 = not read yet, or too many to keep */
    ops_alternative of[OPS_MAX_ALTERNATIVES];
} ops_drawing;
/* What ops_draw would give for i = 0, with the same random numbers. {0} is a drawing before its
 * first time; text, j and whole stay the same. */
double ops_draw_again(ops_letters *letters, const char *text, int j, bool whole,
                      ops_drawing *drawing);
/* Reads a list; returns its length, at most OPS_MAX_LIST. Elements may be draws. */
int ops_list(ops_letters *letters, const char *text, int j, double *out);

int64_t ops_to_int(double x);

#endif
