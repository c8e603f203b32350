/* The layout of an index: see errands/shop/search/postings.py, whose classes these are. */

#ifndef ERRANDS_POSTINGS_H
#define ERRANDS_POSTINGS_H

#include "native.h"

enum {
    BLOCK_BITS = 5,
    BLOCK = 1 << BLOCK_BITS, /* documents: as many as bits of a word */
    LOW = BLOCK - 1,
    GROUP = 8, /* blocks */
    GROUP_BITS = BLOCK_BITS + 3,
    FULL = 255,       /* the share of a term that adds all of its weight */
    MOST_TIMES = 254, /* more are in a list of their own */
};

typedef struct Cell Cell;

typedef struct {
    int64_t documents;
    int64_t groups;
    int64_t frequent;
    uint64_t first_rare; /* the first posting of a rare term */
    int64_t exceptions;
    uint64_t *starts;
    uint8_t *times;
    Cell *cells;
    uint8_t *bounds;
    uint8_t *group_bounds;
    uint32_t *places;
    uint8_t *shares;
    uint64_t *often;
    uint16_t *often_times;
    uint8_t *norms;
    uint32_t *numbers;
    float *inverse; /* of each length byte */
} Postings;

/* What a frequent term has in a group: how many postings before it, and which documents of each
   block. */
struct Cell {
    uint32_t before;
    uint32_t bits[GROUP];
};

static inline const Cell *cells_of(const Postings *index, int64_t term) {
    return index->cells + term * index->groups;
}

/* The documents of a block that have the term, as bits. */
static inline uint32_t bits_of(const Cell *cells, int64_t block) {
    return cells[block / GROUP].bits[block % GROUP];
}

/* How many postings of the term lie before those of a block. */
static inline uint64_t postings_before(const Cell *cells, int64_t block) {
    uint64_t before = cells[block / GROUP].before;
    for (int64_t i = block / GROUP * GROUP; i < block; i++)
        before += (uint64_t)__builtin_popcount(bits_of(cells, i));
    return before;
}

#endif
