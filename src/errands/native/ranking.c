/* From postings to the best documents, exactly: see errands/shop/search/index.py for how. */

#include "postings.h"

enum {
    FINE = 1 << 22,     /* whole numbers stand for weights: so many for those of a query together */
    MOST_TERMS = 4096,  /* of more the whole numbers would tell too little */
    TOGETHER = 256,     /* blocks that are opened together */
    FIRST_GROUPS = 32,  /* where the first bar is looked for: the groups with the highest bounds */
    FIRST_BLOCKS = 64,  /* and of their blocks these */
    BUCKETS = 1 << 10,
};

static const double DOUBT = 1e-5; /* of all weights: far more than 32-bit numbers can be wrong */

/* Row additions are many at a time where the processor can. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

typedef struct {
    const int64_t *terms;
    const float *weights;
    int64_t count;
} Query;

/* The best documents so far, best first. */
typedef struct {
    int64_t k;
    int64_t size;
    uint32_t *numbers;
    float *scores;
} Best;

/* What ranking has cost so far. */
typedef struct {
    int64_t bounded; /* blocks whose bounds were added up */
    int64_t opened;  /* blocks whose postings were looked at */
    int64_t added;   /* postings that were added up */
    int64_t scored;  /* documents that were scored exactly */
} Work;

/* Blocks that are opened together. */
typedef struct {
    int64_t count;
    int64_t alive_count;
    uint32_t blocks[TOGETHER];
    uint32_t rests[TOGETHER]; /* what the terms to come can still add in each of them */
    uint32_t peaks[TOGETHER]; /* the largest sum in each of them */
    uint32_t alive[TOGETHER];
    Slice slices[TOGETHER];
    uint32_t sums[TOGETHER * BLOCK];
} Open;

static uint32_t times_told(const Postings *index, uint64_t posting, uint32_t told) {
    int64_t first = 0, end = index->exceptions;
    if (told)
        return told;
    while (first < end) {
        int64_t middle = (first + end) / 2;
        if (index->often[middle] < posting)
            first = middle + 1;
        else
            end = middle;
    }
    return first < index->exceptions ? index->times[first] : 0;
}

static inline uint32_t times_of_frequent(const Postings *index, uint64_t posting) {
    return times_told(index, posting, (index->entries[posting] & 0xFF) >> BLOCK_BITS);
}

static inline uint32_t times_of_rare(const Postings *index, uint64_t posting) {
    return times_told(index, posting, index->entries[posting] & 0xFF);
}

static inline double share_of(float weight, uint32_t times, float factor) {
    return (double)(weight - weight / (1.0f + (float)times * factor));
}

/* The score of every document, by place; `sums` must be all zero. */
EXPORT void score_all(
    const Postings *index, const int64_t *terms, const float *weights, int64_t count, double *sums
) {
    for (int64_t t = 0; t < count; t++) {
        if (terms[t] >= index->frequent) {
            for (uint64_t p = index->starts[terms[t]]; p < index->starts[terms[t] + 1]; p++) {
                uint32_t place = place_of(index, p);
                float factor = index->inverse[index->norms[place]];
                sums[place] += share_of(weights[t], times_of_rare(index, p), factor);
            }
            continue;
        }
        for (int64_t block = 0; block < index->groups * GROUP; block++) {
            Slice slice = slice_of(index, terms[t], (uint64_t)block);
            for (uint64_t p = slice.first; p < slice.end; p++) {
                int64_t place = block << BLOCK_BITS | (index->entries[p] & LOW);
                float factor = index->inverse[index->norms[place]];
                sums[place] += share_of(weights[t], times_of_frequent(index, p), factor);
            }
        }
    }
}

/* Whether the first is better: the higher score, then the smaller number. */
static inline bool is_better(float score, uint32_t number, float other, uint32_t other_number) {
    return score > other || (score == other && number < other_number);
}

static void put(Best *best, uint32_t number, float score) {
    int64_t at = best->size;
    if (at == best->k) {
        if (!is_better(score, number, best->scores[at - 1], best->numbers[at - 1]))
            return;
        at--;
    } else
        best->size++;
    for (; at && is_better(score, number, best->scores[at - 1], best->numbers[at - 1]); at--) {
        best->scores[at] = best->scores[at - 1];
        best->numbers[at] = best->numbers[at - 1];
    }
    best->scores[at] = score;
    best->numbers[at] = number;
}

/* The best k documents, every document scored; returns how many. `sums` is left all zero. */
EXPORT int64_t rank_all(
    const Postings *index, const int64_t *terms, const float *weights, int64_t count, int64_t k,
    double *sums, uint32_t *numbers, float *scores
) {
    Best best = {k, 0, numbers, scores};
    float worst = 0;
    score_all(index, terms, weights, count, sums);
    for (int64_t place = 0; place < index->documents; place++) {
        float score = (float)sums[place];
        sums[place] = 0;
        if (score > 0 && score >= worst) {
            put(&best, index->numbers[place], score);
            if (best.size == k)
                worst = scores[k - 1];
        }
    }
    return best.size;
}

/* The score of one document, its shares added in the query's order as `score_all` does. */
static float score_of(const Postings *index, const Query *query, int64_t place) {
    float factor = index->inverse[index->norms[place]];
    double total = 0;
    for (int64_t t = 0; t < query->count; t++) {
        int64_t term = query->terms[t];
        if (term < index->frequent) {
            Slice slice = slice_of(index, term, (uint64_t)place >> BLOCK_BITS);
            for (uint64_t p = slice.first; p < slice.end; p++)
                if ((index->entries[p] & LOW) == (place & LOW)) {
                    total += share_of(query->weights[t], times_of_frequent(index, p), factor);
                    break;
                }
        } else {
            uint64_t first = index->starts[term], end = index->starts[term + 1], stop = end;
            while (first < end) {
                uint64_t middle = (first + end) / 2;
                if (place_of(index, middle) < place)
                    first = middle + 1;
                else
                    end = middle;
            }
            if (first < stop && place_of(index, first) == place)
                total += share_of(query->weights[t], times_of_rare(index, first), factor);
        }
    }
    return (float)total;
}

/* The k-th largest of some numbers; 1 if that is less, or if there are fewer. By the highest ten bits
   first, then by the next ten of those that have these. */
static uint32_t kth(const uint32_t *values, int64_t count, int64_t k) {
    uint32_t largest = 0, shift = 0, low = 0;
    for (int64_t i = 0; i < count; i++)
        largest = values[i] > largest ? values[i] : largest;
    while (largest >> shift >= BUCKETS)
        shift++;
    for (;;) {
        int32_t counts[BUCKETS] = {0};
        int64_t bucket = BUCKETS - 1;
        for (int64_t i = 0; i < count; i++)
            if (values[i] >= low && (values[i] - low) >> shift < BUCKETS)
                counts[(values[i] - low) >> shift]++;
        for (; bucket && counts[bucket] < k; bucket--)
            k -= counts[bucket];
        low += (uint32_t)bucket << shift;
        if (!shift)
            return low ? low : 1;
        shift = shift > 10 ? shift - 10 : 0;
    }
}

WIDE static void add_row(
    const uint8_t *restrict row, uint32_t step, uint32_t *restrict bounds, int64_t count
) {
    for (int64_t i = 0; i < count; i++)
        bounds[i] += step * row[i];
}

/* Bound what documents of each group can score, put down what rare terms can add in each block, and
   order the terms: those that may add most first. */
static void bound_groups(
    const Postings *index, const Query *query, const uint32_t *steps, uint32_t *group_bounds,
    uint32_t *rare_bounds, int64_t *order
) {
    uint64_t mosts[MOST_TERMS];
    memset(group_bounds, 0, (size_t)index->groups * sizeof *group_bounds);
    for (int64_t t = 0; t < query->count; t++) {
        int64_t term = query->terms[t], at;
        if (term < index->frequent) {
            const uint8_t *row = index->group_bounds + term * index->groups;
            add_row(row, steps[t], group_bounds, index->groups);
            mosts[t] = (uint64_t)steps[t] * FULL;
        } else {
            uint64_t p = index->starts[term], end = index->starts[term + 1];
            uint32_t most = 0;
            while (p < end) {
                uint32_t group = place_of(index, p) >> GROUP_BITS, in_group = 0;
                while (p < end && place_of(index, p) >> GROUP_BITS == group) {
                    uint32_t block = place_of(index, p) >> BLOCK_BITS, in_block = 0;
                    for (; p < end && place_of(index, p) >> BLOCK_BITS == block; p++) {
                        uint32_t share = index->entries[p] >> 8;
                        in_block = share > in_block ? share : in_block;
                    }
                    rare_bounds[block] += steps[t] * in_block;
                    in_group = in_block > in_group ? in_block : in_group;
                }
                group_bounds[group] += steps[t] * in_group;
                most = in_group > most ? in_group : most;
            }
            mosts[t] = (uint64_t)steps[t] * most;
        }
        for (at = t; at && mosts[order[at - 1]] < mosts[t]; at--)
            order[at] = order[at - 1];
        order[at] = t;
    }
}

/* The bounds of all blocks of some groups. */
WIDE static void bound_blocks(
    const Postings *index, const Query *query, const uint32_t *steps, const uint32_t *rare_bounds,
    const uint32_t *groups, int64_t count, uint32_t *restrict bounds
) {
    for (int64_t i = 0; i < count; i++)
        memcpy(bounds + i * GROUP, rare_bounds + (int64_t)groups[i] * GROUP, GROUP * sizeof *bounds);
    for (int64_t t = 0; t < query->count; t++) {
        if (query->terms[t] < index->frequent) {
            const uint8_t *rows = index->bounds + query->terms[t] * index->groups * GROUP;
            uint32_t step = steps[t];
            for (int64_t i = 0; i < count; i++) {
                const uint8_t *restrict row = rows + (int64_t)groups[i] * GROUP;
                uint32_t *restrict to = bounds + i * GROUP;
                for (int j = 0; j < GROUP; j++)
                    to[j] += step * row[j];
            }
        }
    }
}

/* Keep the open block if it may still reach the bar. */
static inline void keep(Open *open, uint32_t which, uint32_t rest, uint32_t peak, uint32_t bar) {
    open->rests[which] = rest;
    open->peaks[which] = peak;
    open->alive[open->alive_count] = which;
    open->alive_count += peak + rest >= bar;
}

static void add_frequent(
    const Postings *index, int64_t term, uint32_t step, uint32_t bar, Open *open, Work *work
) {
    const uint8_t *bounds = index->bounds + term * index->groups * GROUP;
    int64_t count = open->alive_count;
    for (int64_t i = 0; i < count; i++) {
        open->slices[i] = slice_of(index, term, open->blocks[open->alive[i]]);
        __builtin_prefetch(index->entries + open->slices[i].first);
    }
    open->alive_count = 0;
    for (int64_t i = 0; i < count; i++) {
        uint32_t which = open->alive[i], peak = open->peaks[which];
        uint32_t rest = open->rests[which] - step * bounds[open->blocks[which]];
        uint32_t *sums = open->sums + which * BLOCK;
        Slice slice = open->slices[i];
        for (uint64_t p = slice.first; p < slice.end; p++) {
            uint32_t entry = index->entries[p], sum = sums[entry & LOW] + step * (entry >> 8);
            sums[entry & LOW] = sum;
            peak = sum > peak ? sum : peak;
        }
        work->added += (int64_t)(slice.end - slice.first);
        keep(open, which, rest, peak, bar);
    }
}

/* The same for a rare term, from its posting `p` on; returns where to go on. */
static uint64_t add_rare(
    const Postings *index, int64_t term, uint32_t step, uint32_t bar, uint64_t p, Open *open,
    Work *work
) {
    uint64_t end = index->starts[term + 1];
    int64_t count = open->alive_count;
    open->alive_count = 0;
    for (int64_t i = 0; i < count; i++) {
        uint32_t which = open->alive[i], peak = open->peaks[which], most = 0;
        uint32_t *sums = open->sums + which * BLOCK;
        while (p < end && place_of(index, p) >> BLOCK_BITS < open->blocks[which])
            p++;
        for (; p < end && place_of(index, p) >> BLOCK_BITS == open->blocks[which]; p++) {
            uint32_t share = index->entries[p] >> 8, *sum = &sums[place_of(index, p) & LOW];
            *sum += step * share;
            peak = *sum > peak ? *sum : peak;
            most = share > most ? share : most;
            work->added++;
        }
        keep(open, which, open->rests[which] - step * most, peak, bar);
    }
    return p;
}

/* Make the sums of the open blocks, which may be left as soon as they stay below the bar. `at` holds
   where each rare term goes on, for blocks are opened in order. */
static void add_up(
    const Postings *index, const Query *query, const uint32_t *steps, const int64_t *order,
    uint32_t bar, uint64_t *at, Open *open, Work *work
) {
    memset(open->sums, 0, (size_t)open->count * BLOCK * sizeof *open->sums);
    for (int64_t i = 0; i < open->count; i++) {
        open->peaks[i] = 0;
        open->alive[i] = (uint32_t)i;
    }
    open->alive_count = open->count;
    for (int64_t i = 0; i < query->count && open->alive_count; i++) {
        int64_t t = order[i], term = query->terms[t];
        if (term < index->frequent)
            add_frequent(index, term, steps[t], bar, open, work);
        else
            at[t] = add_rare(index, term, steps[t], bar, at[t], open, work);
    }
    work->opened += open->count;
}

/* Score the documents of open blocks whose sums are in [least, below). */
static void score_open(
    const Postings *index, const Query *query, const Open *open, uint32_t least, uint32_t below,
    Best *best, Work *work
) {
    for (int64_t i = 0; i < open->alive_count; i++) {
        uint32_t which = open->alive[i];
        if (open->peaks[which] < least)
            continue;
        for (int64_t low = 0; low < BLOCK; low++) {
            uint32_t sum = open->sums[which * BLOCK + low];
            if (sum >= least && sum < below) {
                int64_t place = (int64_t)open->blocks[which] << BLOCK_BITS | low;
                put(best, index->numbers[place], score_of(index, query, place));
                work->scored++;
            }
        }
    }
}

static inline void open_block(Open *open, uint32_t block, uint32_t bound) {
    open->blocks[open->count] = block;
    open->rests[open->count++] = bound;
}

/* The sum below which no document can get among the best. */
static uint32_t bar_of(const Best *best, double doubt, double scale) {
    double sum = best->size < best->k ? 0 : (best->scores[best->k - 1] - doubt) * scale;
    return sum > 1 ? (uint32_t)sum : 1;
}

/* The best k documents, as `rank_all` finds them; returns how many. A query has at most MOST_TERMS
   terms; `rare_bounds` is all zero, and left so. */
EXPORT int64_t rank(
    const Postings *index, const int64_t *terms, const float *weights, int64_t count, int64_t k,
    uint32_t *group_bounds, uint32_t *rare_bounds, Work *work, uint32_t *numbers, float *scores
) {
    Query query = {terms, weights, count};
    Best best = {k, 0, numbers, scores};
    uint32_t steps[MOST_TERMS], groups[TOGETHER / GROUP], bounds[TOGETHER], first[TOGETHER];
    int64_t order[MOST_TERMS], first_count = 0, passed = 0, some = 0, ties = FIRST_BLOCKS;
    uint64_t at[MOST_TERMS];
    uint32_t bar = 1, least;
    double total = 0, scale, doubt;
    Open open;

    for (int64_t t = 0; t < count; t++)
        total += weights[t];
    /* Never too low, as the shares are not: a sum is at least `scale` times the score. */
    scale = FINE / total;
    for (int64_t t = 0; t < count; t++) {
        steps[t] = (uint32_t)(weights[t] * scale) + 1;
        at[t] = index->starts[terms[t]];
    }
    scale *= FULL;
    doubt = DOUBT * total;
    bound_groups(index, &query, steps, group_bounds, rare_bounds, order);

    /* The first bar: from the blocks with the highest bounds the documents that look best. */
    least = kth(group_bounds, index->groups, FIRST_GROUPS);
    for (int64_t group = 0; group < index->groups && some < TOGETHER / GROUP; group++)
        if (group_bounds[group] >= least)
            groups[some++] = (uint32_t)group;
    bound_blocks(index, &query, steps, rare_bounds, groups, some, bounds);
    work->bounded += some * GROUP;
    least = kth(bounds, some * GROUP, FIRST_BLOCKS);
    for (int64_t i = 0; i < some * GROUP; i++)
        ties -= bounds[i] > least;
    open.count = 0;
    for (int64_t i = 0; i < some * GROUP; i++)
        if (bounds[i] > least || (bounds[i] == least && ties-- > 0)) {
            open_block(&open, groups[i / GROUP] * GROUP + (uint32_t)(i % GROUP), bounds[i]);
            first[first_count++] = open.blocks[open.count - 1];
        }
    add_up(index, &query, steps, order, bar, at, &open, work);
    least = kth(open.sums, open.count * BLOCK, k);
    score_open(index, &query, &open, least, UINT32_MAX, &best, work);
    bar = bar_of(&best, doubt, scale);
    if (bar < least) {
        score_open(index, &query, &open, bar, least, &best, work);
        bar = bar_of(&best, doubt, scale);
    }

    /* All others that reach it, in order. */
    for (int64_t t = 0; t < count; t++)
        at[t] = index->starts[terms[t]];
    for (int64_t group = 0; group < index->groups;) {
        open.count = 0;
        while (group < index->groups && open.count <= TOGETHER - TOGETHER / 4) {
            int64_t room = (TOGETHER - open.count) / GROUP;
            for (some = 0; group < index->groups && some < room; group++)
                if (group_bounds[group] >= bar)
                    groups[some++] = (uint32_t)group;
            bound_blocks(index, &query, steps, rare_bounds, groups, some, bounds);
            work->bounded += some * GROUP;
            for (int64_t i = 0; i < some * GROUP; i++) {
                uint32_t block = groups[i / GROUP] * GROUP + (uint32_t)(i % GROUP);
                while (passed < first_count && first[passed] < block)
                    passed++;
                if (bounds[i] >= bar && (passed == first_count || first[passed] != block))
                    open_block(&open, block, bounds[i]);
            }
        }
        add_up(index, &query, steps, order, bar, at, &open, work);
        score_open(index, &query, &open, bar, UINT32_MAX, &best, work);
        bar = bar_of(&best, doubt, scale);
    }
    for (int64_t t = 0; t < count; t++)
        if (terms[t] >= index->frequent)
            for (uint64_t p = index->starts[terms[t]]; p < index->starts[terms[t] + 1]; p++)
                rare_bounds[place_of(index, p) >> BLOCK_BITS] = 0;
    return best.size;
}

/* Many queries one after the other: the terms of query i end at ends[i], and its best documents are
   the i-th k of `numbers` and `scores`. A query of more than MOST_TERMS terms is left out (-1). */
EXPORT void rank_each(
    const Postings *index, const int64_t *terms, const float *weights, const int64_t *ends,
    int64_t first, int64_t end, int64_t k, uint32_t *group_bounds, uint32_t *rare_bounds,
    Work *work, uint32_t *numbers, float *scores, int64_t *sizes
) {
    for (int64_t i = first; i < end; i++) {
        int64_t begin = i ? ends[i - 1] : 0, count = ends[i] - begin;
        sizes[i] = !count ? 0 : count > MOST_TERMS ? -1
            : rank(index, terms + begin, weights + begin, count, k, group_bounds, rare_bounds, work,
                   numbers + i * k, scores + i * k);
    }
}
