/* Where the parts of one big JSON array or object begin and end: see shop/build/json_scan.py. */

#include "native.h"

enum { BEFORE, BEFORE_NAME, IN_NAME, AFTER_NAME, IN_VALUE, AFTER };

/* What a scan keeps between two blocks; the order is that of the array in json_scan.py. */
typedef struct {
    int64_t place, depth, quoted, escaped, begun, plain, start, name, name_end, count;
} Scan;

typedef struct {
    int64_t name, name_end, start, end, plain;
} Part;

/* Scan a block that begins at `offset`: the number of parts that ended in it, or -1. */
EXPORT int64_t json_scan(const uint8_t *block, int64_t length, int64_t offset, Scan *scan,
                         bool of_object, Part *parts)
{
    const uint8_t opening = of_object ? '{' : '[', closing = of_object ? '}' : ']';
    const int64_t first = of_object ? BEFORE_NAME : IN_VALUE;
    Scan s = *scan;
    int64_t found = 0;
    for (int64_t i = 0; i < length; i++) {
        const uint8_t byte = block[i];
        const int64_t here = offset + i;
        if (s.quoted) {
            if (s.escaped) {
                s.escaped = 0;
            } else if (byte == '\\') {
                s.escaped = 1;
                if (s.place == IN_NAME)
                    s.plain = 0;
            } else if (byte == '"') {
                s.quoted = 0;
                if (s.place == IN_NAME) {
                    s.place = AFTER_NAME;
                    s.name_end = here;
                }
            }
        } else if (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t') {
            continue;
        } else if (s.place == IN_VALUE) {
            const bool closes = byte == '}' || byte == ']';
            if (s.depth == 1 && (byte == ',' || closes)) { /* The value ends. */
                if (closes && byte != closing)
                    return -1;
                if (s.begun) {
                    parts[found++] = (Part){s.name, s.name_end, s.start, here, s.plain};
                    s.count++;
                } else if (!closes || of_object || s.count) {
                    return -1;
                }
                s.begun = 0;
                s.place = closes ? AFTER : first;
                s.start = s.name = here + 1;
            } else if (closes) {
                s.depth--;
            } else {
                s.begun = 1;
                if (byte == '"')
                    s.quoted = 1;
                else if (byte == '{' || byte == '[')
                    s.depth++;
            }
        } else if (s.place == BEFORE_NAME && byte == '"') {
            s.quoted = 1;
            s.place = IN_NAME;
            s.name = here + 1;
            s.plain = 1;
        } else if (s.place == BEFORE_NAME && byte == '}' && !s.count) {
            s.place = AFTER;
        } else if (s.place == AFTER_NAME && byte == ':') {
            s.place = IN_VALUE;
            s.start = here + 1;
        } else if (s.place == BEFORE && byte == opening) {
            s.depth = 1;
            s.place = first;
            s.start = s.name = here + 1;
        } else {
            return -1;
        }
    }
    *scan = s;
    return found;
}
