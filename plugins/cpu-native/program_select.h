/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_select.h: the k greatest of many different keys, greatest first, for keys of the type
 * SELECT_KEY with functions SELECT(name); program_top_k.c includes it for each type.
 *
 * Keys come one by one and are kept if they are above the least of the k best so far. A few best
 * ones are a sorted list. Else the kept ones are cut down to k by partitions whenever there are
 * twice as many or more, and sorted at the end: O(n + k log k), however they come.
 */

enum { SELECT(FEW) = 32, SELECT(MORE) = 64 };

/* Sorts n keys, greatest first, with room for as many; the answer is where they are then. */
static SELECT_KEY *SELECT(sort)(SELECT_KEY *from, SELECT_KEY *room, int64_t n)
{
    int64_t width, left, i, j, at;

    for (left = 0; left < n; left += 8) {
        for (i = left + 1; i < n && i < left + 8; i++) {
            const SELECT_KEY key = from[i];
            for (j = i; j > left && from[j - 1] < key; j--)
                from[j] = from[j - 1];
            from[j] = key;
        }
    }
    for (width = 8; width < n; width *= 2) {
        SELECT_KEY *swap = from;
        for (left = 0; left < n; left += 2 * width) {
            const int64_t middle = left + width < n ? left + width : n;
            const int64_t right = middle + width < n ? middle + width : n;
            for (i = left, j = middle, at = left; at < right; at++) {
                const bool first = j == right || (i < middle && from[i] > from[j]);
                room[at] = first ? from[i] : from[j];
                i += first;
                j += !first;
            }
        }
        from = room;
        room = swap;
    }
    return from;
}

static SELECT_KEY SELECT(middle_of)(SELECT_KEY a, SELECT_KEY b, SELECT_KEY c)
{
    return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
}

/* The k greatest of n come first, in any order; the answer is the least of them. */
static SELECT_KEY SELECT(cut)(SELECT_KEY *keys, SELECT_KEY *room, int64_t n, int64_t k)
{
    int64_t low = 0, high = n, rounds = 0, i, j;

    while (high - low > 8 && rounds++ < 64) {
        const SELECT_KEY pivot =
            SELECT(middle_of)(keys[low], keys[low + (high - low) / 2], keys[high - 1]);
        for (i = low, j = high - 1;;) {
            SELECT_KEY swap;
            while (keys[i] > pivot)
                i++;
            while (keys[j] < pivot)
                j--;
            if (i >= j)
                break;
            swap = keys[i];
            keys[i++] = keys[j];
            keys[j--] = swap;
        }
        /* The pivot is at i or beyond j: [low, i) are above or equal, [i, high) below or equal. */
        if (i == low)
            i++;
        if (k <= i)
            high = i;
        else
            low = i;
    }
    room = SELECT(sort)(keys + low, room, high - low);
    if (room != keys + low)
        memcpy(keys + low, room, (size_t)(high - low) * sizeof *keys);
    return keys[k - 1];
}

typedef struct SELECT(best) {
    SELECT_KEY *keys, *room; /* room for SELECT(keys_of)(k) in each */
    SELECT_KEY least;        /* what is not above is not among the best */
    int64_t n, k, most;
} SELECT(best);

static int64_t SELECT(keys_of)(int64_t k)
{
    return k <= SELECT(FEW) ? k + 1 : k + (k > SELECT(MORE) ? k : SELECT(MORE));
}

static void SELECT(begin)(SELECT(best) * b, void *memory, int64_t k)
{
    b->keys = memory;
    b->most = SELECT(keys_of)(k);
    b->room = b->keys + b->most;
    b->n = 0;
    b->k = k;
    b->least = 0;
}

/* key > least, or less than k are there. */
static void SELECT(keep)(SELECT(best) * b, SELECT_KEY key)
{
    int64_t i;

    if (b->k <= SELECT(FEW)) {
        for (i = b->n; i > 0 && b->keys[i - 1] < key; i--)
            b->keys[i] = b->keys[i - 1];
        b->keys[i] = key;
        b->n += b->n < b->k;
        if (b->n == b->k)
            b->least = b->keys[b->k - 1];
        return;
    }
    b->keys[b->n++] = key;
    if (b->n == b->most) {
        b->least = SELECT(cut)(b->keys, b->room, b->n, b->k);
        b->n = b->k;
    }
}

/* The best ones, sorted. */
static const SELECT_KEY *SELECT(end)(SELECT(best) * b)
{
    if (b->k <= SELECT(FEW))
        return b->keys;
    if (b->n > b->k)
        SELECT(cut)(b->keys, b->room, b->n, b->k);
    return SELECT(sort)(b->keys, b->room, b->k);
}
