/* How often texts were seen, by their hashes: see shop/build/hash_counter.py. */

#include "native.h"

static const uint64_t FIRST = 0xCBF29CE484222325u, FACTOR = 0x100000001B3u;

typedef struct {
    uint64_t *keys;
    int64_t *counts;
    int64_t size; /* A power of two, at least twice as many as there are hashes. */
} Table;

/* Add to a hash's count; whether it was not there. */
static bool count(Table table, uint64_t key, int64_t times)
{
    const uint64_t mask = table.size - 1;
    uint64_t slot = ((key ^ (key >> 29)) * 0x9E3779B97F4A7C15u >> 17) & mask;
    while (table.counts[slot] && table.keys[slot] != key)
        slot = (slot + 1) & mask;
    const bool fresh = !table.counts[slot];
    table.keys[slot] = key;
    table.counts[slot] += times;
    return fresh;
}

static uint64_t hashed(uint64_t key, const uint8_t *text, int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        key = (key ^ text[i]) * FACTOR;
    return key;
}

/* The code point whose UTF-8 begins here, and how many bytes that has. */
static uint32_t code_point(const uint8_t *text, int64_t *size)
{
    const uint8_t first = text[0];
    *size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    uint32_t code = *size == 1 ? first : first & (0x7F >> *size);
    for (int64_t i = 1; i < *size; i++)
        code = code << 6 | (text[i] & 0x3F);
    return code;
}

/* Enter hashes with their counts into an empty table. */
EXPORT void hash_counter_enter(uint64_t *keys, int64_t *counts, int64_t size,
                               const uint64_t *hashes, const int64_t *times, int64_t length)
{
    const Table table = {keys, counts, size};
    for (int64_t i = 0; i < length; i++)
        count(table, hashes[i], times[i]);
}

/* Count texts that lie end to end; how many were new. */
EXPORT int64_t hash_counter_texts(uint64_t *keys, int64_t *counts, int64_t size,
                                  const uint8_t *text, const int64_t *ends, int64_t texts)
{
    const Table table = {keys, counts, size};
    int64_t at = 0, fresh = 0;
    for (int64_t i = 0; i < texts; at = ends[i++])
        fresh += count(table, hashed(FIRST, text + at, ends[i] - at), 1);
    return fresh;
}

/* Count the words of a text; how many there were. `is_word` says of each code point whether it is
   part of words; an apostrophe is, too, if the word goes on behind it. Adds to `fresh`. */
EXPORT int64_t hash_counter_words(uint64_t *keys, int64_t *counts, int64_t size,
                                  const uint8_t *text, int64_t length, const bool *is_word,
                                  int64_t *fresh)
{
    const Table table = {keys, counts, size};
    int64_t words = 0, width = 0;
    uint64_t key = FIRST, pending = FIRST;
    bool inside = false, joined = false;
    for (int64_t at = 0; at < length; at += width) {
        const uint32_t code = code_point(text + at, &width);
        const uint64_t longer = hashed(joined ? pending : key, text + at, width);
        if (is_word[code]) {
            key = longer;
            inside = true;
            joined = false;
        } else if (inside && !joined && (code == 0x27 || code == 0x2019)) {
            pending = longer;
            joined = true;
        } else {
            if (inside) {
                *fresh += count(table, key, 1);
                words++;
            }
            key = FIRST;
            inside = joined = false;
        }
    }
    if (inside) {
        *fresh += count(table, key, 1);
        words++;
    }
    return words;
}
