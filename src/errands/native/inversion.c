/* Turns documents' term lists into terms' document lists. */

#include "postings.h"

/* By a counting sort, place by place. `rows[place]` is the document at a place, whose terms are those
   from `firsts[row]` on; `terms[id]` is the number that the id's term gets. Fills in all of `index`
   but `starts`, `norms` and `numbers`, which must be there. `ends` begins as a copy of `starts`. */
EXPORT void invert(
    Postings *index, const uint32_t *ids, const uint16_t *tfs, const int64_t *firsts,
    const uint32_t *rows, const uint32_t *terms, uint64_t *ends
) {
    int64_t exceptions = 0;
    for (int64_t place = 0; place < index->documents; place++) {
        float factor = index->inverse[index->norms[place]];
        int64_t block = place >> BLOCK_BITS, group = place >> GROUP_BITS;
        for (int64_t p = firsts[rows[place]]; p < firsts[rows[place] + 1]; p++) {
            int64_t term = terms[ids[p]];
            uint32_t times = tfs[p];
            uint64_t at = ends[term]++;
            float part = 1.0f - 1.0f / (1.0f + (float)times * factor);
            uint32_t share = (uint32_t)(part * FULL) + 1;
            share = share < FULL ? share : FULL;
            if (term < index->frequent) {
                uint8_t *group_bound = &index->group_bounds[term * index->groups + group];
                uint8_t *bound = &index->bounds[term * index->groups * GROUP + block];
                Cell *cell = &index->cells[term * index->groups + group];
                if (!*group_bound)
                    cell->before = (uint32_t)(at - index->starts[term]);
                cell->bits[block % GROUP] |= UINT32_C(1) << (place & LOW);
                if (share > *bound)
                    *bound = (uint8_t)share;
                if (share > *group_bound)
                    *group_bound = (uint8_t)share;
            } else {
                index->places[at - index->first_rare] = (uint32_t)place;
                index->shares[at - index->first_rare] = (uint8_t)share;
            }
            if (times > MOST_TIMES) {
                index->often[exceptions] = at;
                index->often_times[exceptions++] = (uint16_t)times;
                times = 0;
            }
            index->times[at] = (uint8_t)times;
        }
    }
}
