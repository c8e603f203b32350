/* The layout of an index: see errands/shop/search/postings.py, whose classes these are. */

#ifndef ERRANDS_POSTINGS_H
#define ERRANDS_POSTINGS_H

#include "native.h"

enum {
    BLOCK_BITS = 5,
    BLOCK = 1 << BLOCK_BITS, /* documents */
    LOW = BLOCK - 1,
    GROUP = 8, /* blocks */
    GROUP_BITS = BLOCK_BITS + 3,
    FULL = 255, /* the share of a term that adds all of its weight */
    MOST_TIMES = 0xFF >> BLOCK_BITS,
    MOST_RARE_TIMES = 0xFF,
};

typedef struct {
    int64_t documents;
    int64_t groups;
    int64_t frequent;
    int64_t exceptions;
    uint64_t *starts;
    uint16_t *entries;
    uint32_t *places;
    uint8_t *bounds;
    uint8_t *group_bounds;
    uint64_t *counts;
    uint32_t *group_starts;
    uint64_t *often;
    uint16_t *times;
    uint8_t *norms;
    uint32_t *numbers;
    float *inverse; /* of each length byte */
} Postings;

/* The postings of a frequent term in a block. */
typedef struct {
    uint64_t first;
    uint64_t end;
} Slice;

static inline Slice slice_of(const Postings *index, int64_t term, uint64_t block) {
    uint64_t group = block / GROUP, shift = 8 * (block % GROUP);
    uint64_t counts = index->counts[term * index->groups + (int64_t)group];
    uint64_t below = counts & ((UINT64_C(1) << shift) - 1);
    /* The bytes below, added up in the highest byte of a product. */
    uint64_t first = index->starts[term]
        + index->group_starts[term * index->groups + (int64_t)group]
        + ((below * UINT64_C(0x0101010101010101)) >> 56);
    return (Slice){first, first + ((counts >> shift) & 0xFF)};
}

/* The place of a rare term's posting. */
static inline uint32_t place_of(const Postings *index, uint64_t posting) {
    return index->places[posting - index->starts[index->frequent]];
}

#endif
