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

/* `lines` has `width` bytes a line behind one that names its filter: none, left, up, mean or Paeth.
   A pixel has `step` bytes. `out` begins with an empty line, which is above the first. */
EXPORT void png_unfilter(const uint8_t *lines, int64_t height, int64_t width, int64_t step,
                         uint8_t *out)
{
    for (int64_t y = 0; y < height; y++) {
        const uint8_t *restrict line = lines + y * (width + 1) + 1;
        const uint8_t *restrict above = out + y * width;
        uint8_t *restrict row = out + (y + 1) * width;
        const int64_t first = step < width ? step : width; /* What has nothing to its left. */
        switch (line[-1]) {
        case 0:
            memcpy(row, line, width);
            break;
        case 1:
            memcpy(row, line, first);
            for (int64_t x = step; x < width; x++)
                row[x] = line[x] + row[x - step];
            break;
        case 2: /* What Chromium takes when it hurries: many bytes at a time. */
            for (int64_t x = 0; x < width; x++)
                row[x] = line[x] + above[x];
            break;
        case 3:
            for (int64_t x = 0; x < first; x++)
                row[x] = line[x] + (above[x] >> 1);
            for (int64_t x = step; x < width; x++)
                row[x] = line[x] + ((row[x - step] + above[x]) >> 1);
            break;
        default:
            for (int64_t x = 0; x < first; x++)
                row[x] = line[x] + above[x];
            for (int64_t x = step; x < width; x++)
                row[x] = line[x] + paeth(row[x - step], above[x], above[x - step]);
        }
    }
}
