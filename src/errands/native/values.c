/* How many values there are in what others have written, before they are made: see
   runs/store/rows.py and leaderboard/submission.py. What is damaged is for the decoder to find. */

#include "native.h"

/* A number of so many bytes, the highest first; 0 where they are not there. */
static uint64_t number(const uint8_t *data, int64_t size, int64_t at, int64_t bytes)
{
    uint64_t value = 0;
    if (at + bytes > size)
        return 0;
    for (int64_t i = 0; i < bytes; i++)
        value = value << 8 | data[at + i];
    return value;
}

/* The values of MessagePack's bytes, those inside of others too; counting ends above `most`. */
EXPORT int64_t msgpack_values(const uint8_t *data, int64_t size, int64_t most)
{
    int64_t count = 0, at = 0;
    while (at < size && count <= most) {
        const uint8_t kind = data[at++];
        uint64_t behind = 0; /* Bytes that belong to it, and are no values. */
        int64_t told = 0;    /* Bytes that say how many these are. */
        count++;
        if (kind >= 0xA0 && kind < 0xC0)
            behind = kind & 0x1F;
        else if (kind >= 0xC4 && kind <= 0xC6)
            told = 1 << (kind - 0xC4);
        else if (kind >= 0xC7 && kind <= 0xC9) {
            told = 1 << (kind - 0xC7);
            behind = 1;
        } else if (kind == 0xCA || kind == 0xCB)
            behind = kind == 0xCA ? 4 : 8;
        else if (kind >= 0xCC && kind <= 0xD3)
            behind = UINT64_C(1) << (kind & 3);
        else if (kind >= 0xD4 && kind <= 0xD8)
            behind = 1 + (UINT64_C(1) << (kind - 0xD4));
        else if (kind >= 0xD9 && kind <= 0xDB)
            told = 1 << (kind - 0xD9);
        else if (kind >= 0xDC && kind <= 0xDF)
            behind = kind & 1 ? 4 : 2; /* How many values follow: they come by themselves. */
        behind += number(data, size, at, told);
        at += told + (int64_t)behind;
    }
    return count;
}

/* The values of a JSON text, names of members too, or a few more; counting ends above `most`. */
EXPORT int64_t json_values(const uint8_t *text, int64_t size, int64_t most)
{
    int64_t count = 1;
    bool quoted = false;
    for (int64_t at = 0; at < size && count <= most; at++) {
        const uint8_t byte = text[at];
        if (byte == '"')
            quoted = !quoted;
        else if (quoted)
            at += byte == '\\';
        else
            count += byte == ',' || byte == ':' || byte == '[' || byte == '{';
    }
    return count;
}
