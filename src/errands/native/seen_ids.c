/* A hash table of product ids: see shop/build/dedup.py. An id is `width` bytes, zeros at its end. */

#include "native.h"

/* Where to look first for an id (FNV, stirred); the zeros do not count, whatever the width. */
static int64_t slot_of(const uint8_t *name, int64_t width, int64_t slots)
{
    uint64_t mixed = 14695981039346656037u;
    for (int64_t i = 0; i < width; i++)
        if (name[i])
            mixed = (mixed ^ name[i]) * 1099511628211u;
    mixed ^= mixed >> 29;
    mixed *= 0xBF58476D1CE4E5B9u;
    mixed ^= mixed >> 32;
    return mixed & (slots - 1);
}

/* Enter all ids into an empty table; a slot holds a row + 1, or 0. */
EXPORT void seen_ids_enter(uint32_t *slots, int64_t size, const uint8_t *names, int64_t width,
                           int64_t count)
{
    for (int64_t row = 0; row < count; row++) {
        int64_t slot = slot_of(names + row * width, width, size);
        while (slots[slot])
            slot = (slot + 1) & (size - 1);
        slots[slot] = row + 1;
    }
}

/* Append those of some ids that are new, and say which; the new number of ids. */
EXPORT int64_t seen_ids_add(uint32_t *slots, int64_t size, uint8_t *names, int64_t width,
                            int64_t count, const uint8_t *ids, int64_t more, bool *new)
{
    for (int64_t i = 0; i < more; i++) {
        const uint8_t *id = ids + i * width;
        int64_t slot = slot_of(id, width, size);
        while (slots[slot] && memcmp(names + (slots[slot] - 1) * width, id, width))
            slot = (slot + 1) & (size - 1);
        new[i] = !slots[slot];
        if (new[i]) {
            memcpy(names + count * width, id, width);
            slots[slot] = ++count;
        }
    }
    return count;
}
