/* From postings to the best documents, exactly: see errands/shop/search/index.py for how.

   Every offset that was read from a file is checked before it is used: where one leads outside its
   array, functions return DAMAGED. */

#include "postings.h"

enum {
    DAMAGED = -1,
    TOO_MANY = -2,      /* terms */
    SCALE = 60000,      /* whole numbers stand for weights: so many for those of a query together */
    MOST_TERMS = 2048,  /* of more the whole numbers would tell too little, or exceed 16 bits */
    TOGETHER = 32,      /* groups whose blocks are bounded together, */
    PARTS = 1 << 15,    /* unless their terms are so many that these are not enough */
    AHEAD = 6,          /* so many blocks before a block is opened its memory is called for */
    AT_ONCE = 6,        /* terms that are added before a block is asked whether it can be left */
    MANY = 2,           /* blocks of a group that are opened all at once, where that can be */
    FIRST_BLOCKS = 64,  /* where the first bar is looked for: those with the highest bounds */
};

static const double DOUBT = 1e-5; /* of all weights: far more than 32-bit numbers can be wrong */

/* Additions are many at a time where the processor can; others do the same one by one (NO_WIDE). */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) \
    && !defined(NO_WIDE)
#include <immintrin.h>
#define WIDE __attribute__((target_clones("avx2", "default")))
#define MASKED __attribute__((target("avx512bw")))
#else
#define WIDE
#endif

typedef uint16_t Lanes __attribute__((vector_size(32)));
typedef uint64_t Quads __attribute__((vector_size(32)));
typedef uint8_t Bytes __attribute__((vector_size(32)));
typedef uint32_t Words __attribute__((vector_size(32)));

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
    int64_t opened;  /* blocks whose documents were looked at */
    int64_t added;   /* terms that were added in open blocks */
    int64_t scored;  /* documents that were scored exactly */
} Work;

/* The postings of a rare term, from the first that was not passed. */
typedef struct {
    const uint32_t *places;
    const uint8_t *shares;
    int64_t at;
    int64_t count;
    uint16_t step;
} Rare;

/* A query's terms in whole numbers: a share of `step` / 256 for each 1 / 255 of a term's weight, so
   that sums are never too low. The terms that may add most come first. */
typedef struct {
    int64_t frequent;
    int64_t rare;
    uint16_t steps[MOST_TERMS];
    const uint8_t *bounds[MOST_TERMS];
    const uint8_t *group_bounds[MOST_TERMS];
    const Cell *cells[MOST_TERMS];
    Rare rares[MOST_TERMS];
} Plan;

/* Blocks of some groups that may reach the bar. */
typedef struct {
    int64_t count;
    uint32_t blocks[TOGETHER * GROUP + 1];
    uint16_t bounds[TOGETHER * GROUP + 1]; /* what their documents can score at most */
    uint32_t groups[TOGETHER * GROUP + 1]; /* which of the groups they are in */
    uint16_t all_bounds[TOGETHER * GROUP];  /* of all blocks of the groups */
    uint16_t parts[PARTS]; /* what each frequent term adds at most in each block of each group */
} Blocks;

/* All lanes' bits together. */
static inline uint16_t any_of(const Lanes *lanes) {
    const Quads quads = (Quads)*lanes;
    uint64_t any = quads[0] | quads[1] | quads[2] | quads[3];
    any |= any >> 32;
    return (uint16_t)(any | any >> 16);
}

static inline uint16_t part_of(uint16_t step, uint8_t share) {
    return (uint16_t)(((uint32_t)step * (uint16_t)(share << 8)) >> 16);
}

/* Add what a share stands for: at least 1, and never too little. */
static inline void add(uint16_t *sum, uint16_t step, uint8_t share) {
    *sum = (uint16_t)(*sum + part_of(step, share) + 1);
}

static uint32_t times_of(const Postings *index, uint64_t posting) {
    int64_t first = 0, end = index->exceptions;
    if (index->times[posting])
        return index->times[posting];
    while (first < end) {
        int64_t middle = (first + end) / 2;
        if (index->often[middle] < posting)
            first = middle + 1;
        else
            end = middle;
    }
    return first < index->exceptions ? index->often_times[first] : 0;
}

static inline double share_of(
    const Postings *index, float weight, uint64_t posting, int64_t place
) {
    float factor = index->inverse[index->norms[place]];
    return (double)(weight - weight / (1.0f + (float)times_of(index, posting) * factor));
}

/* The score of every document, by place; `sums` must be all zero. Returns 0 or DAMAGED. */
EXPORT int64_t score_all(
    const Postings *index, const int64_t *terms, const float *weights, int64_t count, double *sums
) {
    for (int64_t t = 0; t < count; t++) {
        uint64_t p = index->starts[terms[t]], end = index->starts[terms[t] + 1];
        if (terms[t] >= index->frequent) {
            for (; p < end; p++) {
                int64_t place = index->places[p - index->first_rare];
                if (place >= index->documents)
                    return DAMAGED;
                sums[place] += share_of(index, weights[t], p, place);
            }
            continue;
        }
        const Cell *cells = cells_of(index, terms[t]);
        for (int64_t block = 0; block < index->groups * GROUP; block++)
            for (uint32_t left = bits_of(cells, block); left; left &= left - 1, p++) {
                int64_t place = block << BLOCK_BITS | __builtin_ctz(left);
                if (place >= index->documents || p >= end)
                    return DAMAGED;
                sums[place] += share_of(index, weights[t], p, place);
            }
    }
    return 0;
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

/* The best k documents, every document scored; returns how many, or DAMAGED. `sums` must be all
   zero. */
EXPORT int64_t rank_all(
    const Postings *index, const int64_t *terms, const float *weights, int64_t count, int64_t k,
    double *sums, uint32_t *numbers, float *scores
) {
    Best best = {k, 0, numbers, scores};
    float worst = 0;
    if (score_all(index, terms, weights, count, sums) == DAMAGED)
        return DAMAGED;
    for (int64_t place = 0; place < index->documents; place++) {
        float score = (float)sums[place];
        if (score > 0 && score >= worst) {
            if (index->numbers[place] >= index->documents)
                return DAMAGED;
            put(&best, index->numbers[place], score);
            if (best.size == k)
                worst = scores[k - 1];
        }
    }
    return best.size;
}

/* The postings of a rare term in a block: which documents, and the first posting. Returns whether
   there are any. */
static bool find_rare(
    const Postings *index, int64_t term, uint32_t block, uint64_t *first, uint32_t *bits
) {
    const uint32_t *places = index->places - index->first_rare;
    uint64_t begin = index->starts[term], stop = index->starts[term + 1], end = stop;
    while (begin < end) {
        uint64_t middle = (begin + end) / 2;
        if (places[middle] >> BLOCK_BITS < block)
            begin = middle + 1;
        else
            end = middle;
    }
    *first = begin;
    for (*bits = 0; begin < stop && places[begin] >> BLOCK_BITS == block; begin++)
        *bits |= UINT32_C(1) << (places[begin] & LOW);
    return *bits;
}

/* Score the documents of a block whose bits are set, shares added in the query's order as
   `score_all` does, and keep those that are among the best. Returns 0 or DAMAGED. */
WIDE static int64_t score_block(
    const Postings *index, const Query *query, uint32_t block, uint32_t documents, Best *best,
    Work *work
) {
    /* The query's terms that the block has: which documents, and their first posting. */
    struct {
        uint32_t bits;
        float weight;
        uint64_t first;
    } has[MOST_TERMS];
    int64_t terms = 0;
    __builtin_prefetch(index->norms + ((int64_t)block << BLOCK_BITS));
    for (int64_t t = 0; t < query->count; t++) {
        int64_t term = query->terms[t];
        if (term < index->frequent) {
            const Cell *cells = cells_of(index, term);
            has[terms].bits = bits_of(cells, block);
            if (!(has[terms].bits & documents))
                continue;
            has[terms].first = index->starts[term] + postings_before(cells, block);
            if (has[terms].first + (uint64_t)__builtin_popcount(has[terms].bits)
                > index->starts[term + 1])
                return DAMAGED;
        } else if (!find_rare(index, term, block, &has[terms].first, &has[terms].bits))
            continue;
        __builtin_prefetch(index->times + has[terms].first);
        has[terms++].weight = query->weights[t];
    }
    for (; documents; documents &= documents - 1) {
        uint32_t low = (uint32_t)__builtin_ctz(documents), below = (UINT32_C(1) << low) - 1;
        uint32_t place = block << BLOCK_BITS | low;
        double total = 0;
        if (place >= index->documents)
            return DAMAGED;
        for (int64_t t = 0; t < terms; t++)
            if (has[t].bits >> low & 1) {
                uint64_t posting = has[t].first + (uint64_t)__builtin_popcount(has[t].bits & below);
                total += share_of(index, has[t].weight, posting, place);
            }
        work->scored++;
        if (best->size == best->k && (float)total < best->scores[best->k - 1])
            continue;
        if (index->numbers[place] >= index->documents)
            return DAMAGED;
        put(best, index->numbers[place], (float)total);
    }
    return 0;
}

/* The k-th largest of some numbers, or 1 if that is less or there are fewer: by the high bytes
   first, then by the low bytes of those that have the right one. */
static uint16_t kth(const uint16_t *values, int64_t count, int64_t k) {
    /* Neighbours are often alike, and a counter that was just written is slow to read. */
    int32_t highs[4][256] = {0}, lows[256] = {0}, those;
    int64_t high = 255, low = 255;
    for (int64_t i = 0; i < count; i++)
        highs[i & 3][values[i] >> 8]++;
    for (; high; high--, k -= those) {
        those = highs[0][high] + highs[1][high] + highs[2][high] + highs[3][high];
        if (those >= k)
            break;
    }
    for (int64_t i = 0; i < count; i++)
        if (values[i] >> 8 == high)
            lows[values[i] & 0xFF]++;
    for (; low && lows[low] < k; low--)
        k -= lows[low];
    return high || low ? (uint16_t)(high << 8 | low) : 1;
}

/* Put down a query's terms in whole numbers; returns how many of them stand for a weight of 1. */
static double plan_query(const Postings *index, const Query *query, Plan *plan) {
    double total = 0;
    plan->frequent = plan->rare = 0;
    for (int64_t t = 0; t < query->count; t++)
        total += query->weights[t];
    for (int64_t t = 0; t < query->count; t++) {
        int64_t term = query->terms[t], at;
        uint64_t first = index->starts[term], end = index->starts[term + 1];
        uint16_t step = (uint16_t)(query->weights[t] / total * SCALE * 256 / FULL + 1);
        if (term >= index->frequent) {
            uint64_t in_rare = first - index->first_rare;
            plan->rares[plan->rare++] = (Rare){
                index->places + in_rare, index->shares + in_rare, 0, (int64_t)(end - first), step};
            continue;
        }
        for (at = plan->frequent++; at && plan->steps[at - 1] < step; at--) {
            plan->steps[at] = plan->steps[at - 1];
            plan->bounds[at] = plan->bounds[at - 1];
            plan->group_bounds[at] = plan->group_bounds[at - 1];
            plan->cells[at] = plan->cells[at - 1];
        }
        plan->steps[at] = step;
        plan->bounds[at] = index->bounds + term * index->groups * GROUP;
        plan->group_bounds[at] = index->group_bounds + term * index->groups;
        plan->cells[at] = cells_of(index, term);
    }
    return SCALE / total;
}

WIDE static void add_row(
    const uint8_t *restrict row, uint16_t step, uint16_t *restrict bounds, int64_t count
) {
    for (int64_t i = 0; i < count; i++)
        bounds[i] = (uint16_t)(bounds[i] + part_of(step, row[i]));
}

/* Bound what documents of each group can score, and put down what rare terms can add in each block.
   Returns 0 or DAMAGED. */
static int64_t bound_groups(
    const Postings *index, const Plan *plan, uint16_t *group_bounds, uint16_t *rare_bounds
) {
    /* Parts are rounded down: each may lack 1. */
    for (int64_t group = 0; group < index->groups; group++)
        group_bounds[group] = (uint16_t)plan->frequent;
    for (int64_t t = 0; t < plan->frequent; t++)
        add_row(plan->group_bounds[t], plan->steps[t], group_bounds, index->groups);
    for (int64_t t = 0; t < plan->rare; t++) {
        const Rare *rare = &plan->rares[t];
        for (int64_t p = 0; p < rare->count;) {
            uint32_t group = rare->places[p] >> GROUP_BITS;
            uint8_t in_group = 0;
            if (rare->places[p] >= index->documents)
                return DAMAGED;
            while (p < rare->count && rare->places[p] >> GROUP_BITS == group) {
                uint32_t block = rare->places[p] >> BLOCK_BITS;
                uint8_t in_block = 0;
                for (; p < rare->count && rare->places[p] >> BLOCK_BITS == block; p++)
                    in_block = rare->shares[p] > in_block ? rare->shares[p] : in_block;
                add(&rare_bounds[block], rare->step, in_block);
                in_group = in_block > in_group ? in_block : in_group;
            }
            add(&group_bounds[group], rare->step, in_group);
        }
    }
    return 0;
}

/* Leave no trace in the bounds by rare terms. */
static void clear_rare(const Postings *index, const Plan *plan, uint16_t *rare_bounds) {
    for (int64_t t = 0; t < plan->rare; t++)
        for (int64_t p = 0; p < plan->rares[t].count; p++)
            if (plan->rares[t].places[p] < index->documents)
                rare_bounds[plan->rares[t].places[p] >> BLOCK_BITS] = 0;
}

/* What each frequent term adds at most in each block of a group, and with rare terms, in all. */
WIDE static void bound_blocks(
    const Plan *plan, const uint16_t *rare_bounds, uint32_t group, uint16_t *restrict parts,
    uint16_t *restrict bounds
) {
    memcpy(bounds, rare_bounds + (int64_t)group * GROUP, GROUP * sizeof *bounds);
    for (int64_t t = 0; t < plan->frequent; t++) {
        const uint8_t *restrict row = plan->bounds[t] + (int64_t)group * GROUP;
        uint16_t step = plan->steps[t];
        for (int i = 0; i < GROUP; i++) {
            uint16_t part = (uint16_t)(part_of(step, row[i]) + 1);
            parts[t * GROUP + i] = part;
            bounds[i] = (uint16_t)(bounds[i] + part);
        }
    }
}

/* Add what rare terms add to documents of a block; blocks must come in order. */
static void add_rare(Plan *plan, uint32_t block, uint16_t *sums) {
    for (int64_t t = 0; t < plan->rare; t++) {
        Rare *rare = &plan->rares[t];
        while (rare->at < rare->count && rare->places[rare->at] >> BLOCK_BITS < block)
            rare->at++;
        for (; rare->at < rare->count && rare->places[rare->at] >> BLOCK_BITS == block; rare->at++)
            add(&sums[rare->places[rare->at] & LOW], rare->step, rare->shares[rare->at]);
    }
}

/* Make the sums of a block's documents, which are never too low; the block is left as soon as none
   can reach the bar. Returns those that can, as bits. `sums` begins with what rare terms add, and
   `rest` is what the frequent ones can. */
WIDE static uint32_t add_frequent(
    const Plan *plan, uint32_t block, const uint16_t *parts, int32_t rest, int32_t bar,
    uint16_t *sums, Work *work
) {
    const Lanes each = {
        1 << 0, 1 << 1, 1 << 2,  1 << 3,  1 << 4,  1 << 5,  1 << 6,  1 << 7,
        1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15,
    };
    Lanes low, high, low_reached, high_reached;
    uint32_t reached;
    int64_t t = 0;
    memcpy(&low, sums, sizeof low);
    memcpy(&high, sums + 16, sizeof high);
    do {
        int64_t until = t + AT_ONCE < plan->frequent ? t + AT_ONCE : plan->frequent;
        for (; t < until; t++) {
            uint32_t bits = bits_of(plan->cells[t], block);
            uint16_t part = parts[t * GROUP + block % GROUP];
            low += (Lanes)(((uint16_t)bits & each) == each) & part;
            high += (Lanes)(((uint16_t)(bits >> 16) & each) == each) & part;
            rest -= part;
        }
        uint16_t least = (uint16_t)(bar > rest ? bar - rest : 0);
        low_reached = (Lanes)(low >= least) & each;
        high_reached = (Lanes)(high >= least) & each;
        reached = any_of(&low_reached) | (uint32_t)any_of(&high_reached) << 16;
    } while (reached && t < plan->frequent);
    memcpy(sums, &low, sizeof low);
    memcpy(sums + 16, &high, sizeof high);
    work->added += t;
    return reached;
}

#ifdef MASKED
/* The same for all blocks of a group at once, where a block's sums are one register and a term's bits
   its mask: a third of the instructions. `bounds` are what the blocks' documents can score at most,
   `rare` what rare terms add of it at most; `reached` gets the documents of each block that can reach
   the bar. Returns how many terms were added. */
MASKED static int64_t add_group(
    const Plan *plan, uint32_t group, const uint16_t *parts, const uint16_t *bounds,
    const uint16_t *rare, uint16_t bar, uint16_t *sums, uint32_t *reached
) {
    __m512i all[GROUP];
    __m128i rest = _mm_sub_epi16(
        _mm_loadu_si128((const __m128i *)bounds), _mm_loadu_si128((const __m128i *)rare));
    uint32_t any;
    int64_t t = 0;
    for (int i = 0; i < GROUP; i++)
        all[i] = rare[i] ? _mm512_loadu_si512(sums + i * BLOCK) : _mm512_setzero_si512();
    do {
        int64_t until = t + AT_ONCE < plan->frequent ? t + AT_ONCE : plan->frequent;
        for (; t < until; t++) {
            const uint32_t *bits = plan->cells[t][group].bits;
            const uint16_t *part = parts + t * GROUP;
            for (int i = 0; i < GROUP; i++)
                all[i] = _mm512_mask_add_epi16(
                    all[i], bits[i], all[i], _mm512_set1_epi16((short)part[i]));
            rest = _mm_sub_epi16(rest, _mm_loadu_si128((const __m128i *)part));
        }
        uint16_t least[GROUP];
        _mm_storeu_si128((__m128i *)least, _mm_subs_epu16(_mm_set1_epi16((short)bar), rest));
        any = 0;
        for (int i = 0; i < GROUP; i++) {
            reached[i] = _mm512_cmpge_epu16_mask(all[i], _mm512_set1_epi16((short)least[i]));
            any |= reached[i];
        }
    } while (any && t < plan->frequent);
    for (int i = 0; i < GROUP; i++)
        _mm512_storeu_si512(sums + i * BLOCK, all[i]);
    return t;
}
#endif

/* Whether any document of a block can reach the bar, as far as high bytes of sums tell, rounded up:
   half the work of `add_frequent`, and most blocks of a long query need no more. The block has no
   rare terms, and its bytes must not overflow. */
WIDE static bool may_reach(
    const Plan *plan, uint32_t block, const uint16_t *parts, int32_t rest, int32_t bar, Work *work
) {
    /* A lane for each bit of each byte of a word: their order does not matter here. */
    const Bytes each = {
        1,  1,  1,  1,  2,  2,  2,  2,  4,  4,  4,  4,  8,   8,   8,   8,
        16, 16, 16, 16, 32, 32, 32, 32, 64, 64, 64, 64, 128, 128, 128, 128,
    };
    Bytes sums = {0};
    Quads reached;
    int64_t t = 0;
    do {
        int64_t until = t + AT_ONCE < plan->frequent ? t + AT_ONCE : plan->frequent;
        for (; t < until; t++) {
            Words bits = (Words){0} + bits_of(plan->cells[t], block);
            uint16_t part = parts[t * GROUP + block % GROUP];
            sums += (Bytes)(((Bytes)bits & each) == each) & (uint8_t)((part >> 8) + 1);
            rest -= part;
        }
        uint8_t least = (uint8_t)(bar > rest ? (bar - rest + 255) >> 8 : 0);
        reached = (Quads)(sums >= least);
    } while (t < plan->frequent && (reached[0] | reached[1] | reached[2] | reached[3]));
    work->added += t;
    return reached[0] | reached[1] | reached[2] | reached[3];
}

/* The documents of a block, as bits, whose sums are in [from, below). */
static uint32_t those_in(const uint16_t *sums, int32_t from, int32_t below) {
    uint32_t documents = 0;
    for (int low = 0; low < BLOCK; low++)
        documents |= (uint32_t)(sums[low] >= from && sums[low] < below) << low;
    return documents;
}

/* Open one of some blocks, which come in order; returns the documents that can reach the bar. */
static inline uint32_t open_block(
    const Blocks *open, int64_t which, const uint16_t *rare_bounds, int32_t bar, Plan *plan,
    uint16_t *sums, Work *work
) {
    uint32_t block = open->blocks[which];
    const uint16_t *parts = open->parts + open->groups[which] * plan->frequent * GROUP;
    int32_t bound = open->bounds[which];
    memset(sums, 0, BLOCK * sizeof *sums);
    if (rare_bounds[block])
        add_rare(plan, block, sums);
    /* Blocks of a group lie together: one call is for all of them. */
    if (which + AHEAD < open->count
        && open->groups[which + AHEAD] != open->groups[which + AHEAD - 1])
        for (int64_t t = 0; t < plan->frequent; t++)
            __builtin_prefetch(plan->cells[t] + open->blocks[which + AHEAD] / GROUP);
    work->opened++;
    if (bar > 1 && plan->frequent > AT_ONCE && !rare_bounds[block]
        && (bound >> 8) + plan->frequent < 256 && !may_reach(plan, block, parts, bound, bar, work))
        return 0;
    return add_frequent(plan, block, parts, bound - rare_bounds[block], bar, sums, work);
}

/* Open a block and all that follow in its group, if they are many and the processor can do it at once;
   returns the first that was not opened. Sums and what reaches the bar are by place in the group. */
static int64_t open_group(
    const Blocks *open, int64_t which, const uint16_t *rare_bounds, int32_t bar, Plan *plan,
    uint16_t *sums, uint32_t *reached, Work *work
) {
#ifdef MASKED
    int64_t end = which;
    while (end < open->count && open->groups[end] == open->groups[which])
        end++;
    if (end - which >= MANY && __builtin_cpu_supports("avx512bw")) {
        uint32_t in = open->groups[which], group = open->blocks[which] / GROUP;
        const uint16_t *rare = rare_bounds + group * GROUP;
        for (uint32_t i = 0; i < GROUP; i++)
            if (rare[i]) {
                memset(sums + i * BLOCK, 0, BLOCK * sizeof *sums);
                add_rare(plan, group * GROUP + i, sums + i * BLOCK);
            }
        work->added += (end - which) * add_group(
            plan, group, open->parts + in * plan->frequent * GROUP, open->all_bounds + in * GROUP,
            rare, (uint16_t)bar, sums, reached);
        work->opened += end - which;
        return end;
    }
#endif
    return which;
}

/* The blocks of some groups whose bounds reach the bar. */
static void choose(
    const Plan *plan, const uint16_t *rare_bounds, const uint32_t *groups, int64_t count,
    int32_t bar, Blocks *open, Work *work
) {
    work->bounded += count * GROUP;
    open->count = 0;
    for (int64_t i = 0; i < count; i++) {
        uint16_t *bounds = open->all_bounds + i * GROUP;
        uint16_t *parts = open->parts + i * plan->frequent * GROUP;
        bound_blocks(plan, rare_bounds, groups[i], parts, bounds);
        for (uint32_t j = 0; j < GROUP; j++) {
            open->blocks[open->count] = groups[i] * GROUP + j;
            open->groups[open->count] = (uint32_t)i;
            open->bounds[open->count] = bounds[j];
            open->count += bounds[j] >= bar;
        }
    }
}

/* Keep only so many blocks, those with the highest bounds. */
static void keep_best(Blocks *open, int64_t most) {
    uint16_t least = kth(open->bounds, open->count, most);
    int64_t all = open->count;
    for (int64_t i = 0; i < all; i++)
        most -= open->bounds[i] > least;
    open->count = 0;
    for (int64_t i = 0; i < all; i++)
        if (open->bounds[i] > least || (open->bounds[i] == least && most-- > 0)) {
            open->blocks[open->count] = open->blocks[i];
            open->groups[open->count] = open->groups[i];
            open->bounds[open->count++] = open->bounds[i];
        }
}

/* The sum below which no document can get among the best. */
static int32_t bar_of(const Best *best, double doubt, double scale) {
    double sum = best->size < best->k ? 0 : (best->scores[best->k - 1] - doubt) * scale;
    return sum > 1 ? (int32_t)sum : 1;
}

/* The best k documents, as `rank_all` finds them; returns how many, or DAMAGED. A query has at most
   MOST_TERMS terms; `rare_bounds` is all zero, and left so. */
EXPORT int64_t rank(
    const Postings *index, const int64_t *terms, const float *weights, int64_t count, int64_t k,
    uint16_t *group_bounds, uint16_t *rare_bounds, Work *work, uint32_t *numbers, float *scores
) {
    Query query = {terms, weights, count};
    Best best = {k, 0, numbers, scores};
    Plan plan;
    Blocks first, open;
    uint32_t groups[TOGETHER + 1];
    uint16_t sums[TOGETHER * GROUP * BLOCK], least;
    uint32_t reached[GROUP];
    int64_t some = 0, passed = 0, together, damaged;
    double scale = plan_query(index, &query, &plan), doubt = DOUBT * SCALE / scale;
    int32_t bar = 1;

    together = PARTS / GROUP / (plan.frequent + 1);
    together = together < TOGETHER ? together : TOGETHER;
    damaged = bound_groups(index, &plan, group_bounds, rare_bounds);

    /* The first bar: from the blocks with the highest bounds the documents that look best. */
    least = kth(group_bounds, index->groups, together);
    for (int64_t group = 0; group < index->groups && some < together; group++) {
        groups[some] = (uint32_t)group;
        some += group_bounds[group] >= least;
    }
    choose(&plan, rare_bounds, groups, some, 1, &first, work);
    keep_best(&first, FIRST_BLOCKS);
    for (int64_t i = 0; i < first.count; i++)
        open_block(&first, i, rare_bounds, bar, &plan, sums + i * BLOCK, work);
    least = kth(sums, first.count * BLOCK, k);
    for (int32_t from = least, below = UINT16_MAX + 1; bar < below && !damaged; from = bar) {
        for (int64_t i = 0; i < first.count && !damaged; i++) {
            uint32_t documents = those_in(sums + i * BLOCK, from > bar ? from : bar, below);
            if (documents) {
                damaged = score_block(index, &query, first.blocks[i], documents, &best, work);
                bar = bar_of(&best, doubt, scale);
            }
        }
        below = from;
    }

    /* All others that reach it, in order. */
    for (int64_t t = 0; t < plan.rare; t++)
        plan.rares[t].at = 0;
    for (int64_t group = 0; group < index->groups && !damaged;) {
        for (some = 0; group < index->groups && some < together; group++) {
            groups[some] = (uint32_t)group;
            some += group_bounds[group] >= bar;
        }
        choose(&plan, rare_bounds, groups, some, bar, &open, work);
        for (int64_t i = 0, opened = 0; i < open.count && !damaged; i++) {
            uint32_t block = open.blocks[i], in = block % GROUP, documents;
            while (passed < first.count && first.blocks[passed] < block)
                passed++;
            if (open.bounds[i] < bar || (passed < first.count && first.blocks[passed] == block))
                continue;
            if (i >= opened)
                opened = open_group(&open, i, rare_bounds, bar, &plan, sums, reached, work);
            if (i >= opened)
                documents = open_block(&open, i, rare_bounds, bar, &plan, sums, work);
            else if ((documents = reached[in]))
                documents &= those_in(sums + in * BLOCK, bar, UINT16_MAX + 1);
            if (documents) {
                damaged = score_block(index, &query, block, documents, &best, work);
                bar = bar_of(&best, doubt, scale);
            }
        }
    }
    clear_rare(index, &plan, rare_bounds);
    return damaged ? DAMAGED : best.size;
}

/* Rank some of many queries, `most` at most: those that no thread has begun, of which `next` is the
   first. The terms of query i end at ends[i], its best documents are the i-th k of `numbers` and
   `scores`, and sizes[i] is written when they are there; -2 where it has more than MOST_TERMS terms.
   Returns how many were ranked. */
EXPORT int64_t rank_some(
    const Postings *index, const int64_t *terms, const float *weights, const int64_t *ends,
    int64_t count, int64_t *next, int64_t most, int64_t k, uint16_t *group_bounds,
    uint16_t *rare_bounds, Work *work, uint32_t *numbers, float *scores, int64_t *sizes
) {
    int64_t ranked = 0;
    for (; ranked < most; ranked++) {
        int64_t i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED), size;
        if (i >= count)
            break;
        int64_t begin = i ? ends[i - 1] : 0, its = ends[i] - begin;
        size = !its ? 0 : its > MOST_TERMS ? TOO_MANY
            : rank(index, terms + begin, weights + begin, its, k, group_bounds, rare_bounds, work,
                   numbers + i * k, scores + i * k);
        __atomic_store_n(&sizes[i], size, __ATOMIC_RELEASE);
    }
    return ranked;
}
