/* Undoing the filters of a PNG's lines: see browser/screenshots.py. */

#include "native.h"
#include <stdlib.h>

static uint8_t paeth(int left, int up, int corner)
{
    const int away = abs(up - corner), above = abs(left - corner);
    const int across = abs(left + up - 2 * corner);
    if (away <= above && away <= across)
        return left;
    return above <= across ? up : corner;
}

/* `lines` has `width` bytes a line behind one that names its filter; a pixel has `step` bytes. */
EXPORT void png_unfilter(const uint8_t *lines, int64_t height, int64_t width, int64_t step,
                         uint8_t *out)
{
    for (int64_t y = 0; y < height; y++, out += width) {
        const uint8_t kind = *lines++;
        const uint8_t *above = y ? out - width : NULL;
        for (int64_t x = 0; x < width; x++) {
            const uint8_t left = x >= step ? out[x - step] : 0, up = above ? above[x] : 0;
            const uint8_t corner = above && x >= step ? above[x - step] : 0;
            uint8_t guess = 0;
            switch (kind) {
            case 1: guess = left; break;
            case 2: guess = up; break;
            case 3: guess = (left + up) >> 1; break;
            case 4: guess = paeth(left, up, corner); break;
            }
            out[x] = *lines++ + guess;
        }
    }
}
