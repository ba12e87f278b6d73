/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena_stream.c: an arena of very many blocks, in linear time, as a heap would grow: blocks are
 * taken and given back in the order of their lives. Each goes into the tightest of a few gaps
 * (Knuth, The Art of Computer Programming, 2.5, on next and best fit), or on top. Gaps that touch
 * become one.
 */
#include "base/arena.h"

#include <stdbool.h>

#include "base/alloc.h"

#define MAX_GAPS 256 /* that are looked at for one block */

/* A piece of the arena, in a ring by address that begins with the piece 0, which has no bytes. */
typedef struct piece {
    uint64_t offset, bytes;
    uint32_t before, after; /* by address */
    uint32_t left, right;   /* in the ring of the gaps, which begins with the piece 0, too */
    bool is_gap;
} piece;

typedef struct stream {
    piece *pieces;
    uint32_t *spare; /* numbers of pieces that are no more */
    uint32_t n, n_spare, n_gaps;
    uint32_t gap; /* that is looked at next; 0 = the first */
} stream;

static void gap_link(stream *s, uint32_t i)
{
    piece *p = &s->pieces[i], *first = &s->pieces[0];
    p->is_gap = true;
    s->n_gaps++;
    p->left = 0;
    p->right = first->right;
    s->pieces[first->right].left = i;
    first->right = i;
}

static void gap_unlink(stream *s, uint32_t i)
{
    piece *p = &s->pieces[i];
    p->is_gap = false;
    s->n_gaps--;
    if (s->gap == i)
        s->gap = p->right;
    s->pieces[p->left].right = p->right;
    s->pieces[p->right].left = p->left;
}

/* A piece behind another. */
static uint32_t piece_add(stream *s, uint32_t before, uint64_t offset, uint64_t bytes)
{
    uint32_t i = s->n_spare ? s->spare[--s->n_spare] : s->n++;
    s->pieces[i] = (piece){.offset = offset, .bytes = bytes, .before = before};
    s->pieces[i].after = s->pieces[before].after;
    s->pieces[s->pieces[i].after].before = i;
    s->pieces[before].after = i;
    return i;
}

/* The gap `from` becomes a part of the gap `to` beside it. */
static void gap_join(stream *s, uint32_t to, uint32_t from)
{
    const piece *p = &s->pieces[from];
    if (p->offset < s->pieces[to].offset)
        s->pieces[to].offset = p->offset;
    s->pieces[to].bytes += p->bytes;
    gap_unlink(s, from);
    s->pieces[p->before].after = p->after;
    s->pieces[p->after].before = p->before;
    s->spare[s->n_spare++] = from;
}

static void piece_free(stream *s, uint32_t i)
{
    gap_link(s, i);
    if (s->pieces[s->pieces[i].before].is_gap)
        gap_join(s, i, s->pieces[i].before);
    if (s->pieces[s->pieces[i].after].is_gap)
        gap_join(s, i, s->pieces[i].after);
}

/* The tightest of the gaps that are looked at, or 0. */
static uint32_t gap_find(stream *s, uint64_t bytes)
{
    uint32_t best = 0;
    for (uint32_t looked = 0; looked < MAX_GAPS && looked < s->n_gaps; looked++) {
        uint32_t i = s->gap ? s->gap : s->pieces[0].right;
        s->gap = s->pieces[i].right;
        if (s->pieces[i].bytes >= bytes && (!best || s->pieces[i].bytes < s->pieces[best].bytes))
            best = i;
    }
    return best;
}

/* A piece of so many bytes: of a gap, or on top of the arena, whose size is *size. */
static uint32_t piece_take(stream *s, uint64_t bytes, uint64_t *size)
{
    uint32_t i = gap_find(s, bytes), last = s->pieces[0].before;
    if (!i && s->pieces[last].is_gap) { /* it ends at the top */
        i = last;
        *size += bytes > s->pieces[i].bytes ? bytes - s->pieces[i].bytes : 0;
        s->pieces[i].bytes = bytes > s->pieces[i].bytes ? bytes : s->pieces[i].bytes;
    }
    if (!i) {
        *size += bytes;
        return piece_add(s, last, *size - bytes, bytes);
    }
    gap_unlink(s, i);
    if (s->pieces[i].bytes > bytes)
        gap_link(s, piece_add(s, i, s->pieces[i].offset + bytes, s->pieces[i].bytes - bytes));
    s->pieces[i].bytes = bytes;
    return i;
}

tfr_status tfr__arena_stream(tfr__arena_item *items, uint32_t n, const uint32_t *by_end,
                             uint64_t *size, tfr_err *err)
{
    stream s = {.n = 1};
    const size_t capacity = 2 * (size_t)n + 2; /* between two blocks there is at most one gap */
    uint32_t *piece_of = tfr__calloc(n, sizeof *piece_of), ended = 0;
    tfr_status status = TFR_OK;
    s.pieces = tfr__calloc(capacity, sizeof *s.pieces);
    s.spare = tfr__calloc(capacity, sizeof *s.spare);
    *size = 0;
    if (!piece_of || !s.pieces || !s.spare)
        status = tfr__no_memory(err);
    for (uint32_t i = 0; !status && i < n; i++) {
        for (; items[by_end[ended]].last < items[i].first; ended++)
            piece_free(&s, piece_of[by_end[ended]]);
        piece_of[i] = piece_take(&s, items[i].bytes, size);
        items[i].offset = s.pieces[piece_of[i]].offset;
    }
    tfr__free(piece_of);
    tfr__free(s.pieces);
    tfr__free(s.spare);
    return status;
}
