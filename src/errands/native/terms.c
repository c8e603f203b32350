/* From texts to numbered search terms: see shop/search/terms.py.

   A text is cut into chunks at white space; each chunk is analysed once, and its terms get numbers in
   the order in which they first occur. The terms of a chunk of ASCII are found here, by the rules of
   shop/search/analyzer.py; those of another, and of a long one, are told by the caller. */

#include "native.h"
#include <stdlib.h>

enum { LONGEST = 255 }; /* Bytes of a chunk that is analysed here. */

static bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

static bool is_letter(uint8_t byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; }

static bool is_word(uint8_t byte) { return is_letter(byte) || is_digit(byte) || byte == '_'; }

static bool is_space(uint8_t byte)
{
    return byte == ' ' || (byte >= 0x09 && byte <= 0x0D) || (byte >= 0x1C && byte <= 0x1F);
}

/* Strings and their numbers, from 0 in the order of entry. The strings lie in `text`. */
typedef struct {
    const uint8_t *text;
    int64_t *starts;
    uint32_t *lengths;
    uint32_t count;
    uint32_t *slots; /* A number + 1, or 0. */
    uint64_t mask;
} Table;

static uint64_t slot_of(const Table *table, int64_t start, uint32_t length)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (uint32_t i = 0; i < length; i++)
        hash = (hash ^ table->text[start + i]) * 0x100000001B3u;
    return (hash ^ hash >> 29) & table->mask;
}

static void grow(Table *table, uint64_t size)
{
    free(table->slots);
    table->slots = calloc(size, sizeof(uint32_t));
    if (!table->slots)
        abort();
    table->mask = size - 1;
    for (uint32_t entry = 0; entry < table->count; entry++) {
        uint64_t slot = slot_of(table, table->starts[entry], table->lengths[entry]);
        while (table->slots[slot])
            slot = (slot + 1) & table->mask;
        table->slots[slot] = entry + 1;
    }
}

/* The number of a string, which is entered where it is new. */
static uint32_t number(Table *table, int64_t start, uint32_t length)
{
    uint64_t slot = slot_of(table, start, length);
    for (uint32_t entry; (entry = table->slots[slot]); slot = (slot + 1) & table->mask)
        if (table->lengths[entry - 1] == length &&
            !memcmp(table->text + table->starts[entry - 1], table->text + start, length))
            return entry - 1;
    table->starts[table->count] = start;
    table->lengths[table->count] = length;
    table->slots[slot] = ++table->count;
    if (2 * (uint64_t)table->count > table->mask)
        grow(table, 2 * (table->mask + 1));
    return table->count - 1;
}

/* Cut texts into chunks: at white space (kind 0), at spaces (1), or not at all (2). Gives how many
   chunks each text has, their numbers, where each number's chunk lies, and whether the caller must
   tell its terms; returns how many numbers there are. */
EXPORT int64_t terms_chunks(const uint8_t *text, const int64_t *ends, const uint8_t *kinds,
                            int64_t texts, uint32_t *counts, uint32_t *chunks, int64_t *starts,
                            uint32_t *lengths, bool *foreign)
{
    Table table = {text, starts, lengths, 0, NULL, 0};
    grow(&table, 1 << 15);
    int64_t at = 0, all = 0;
    for (int64_t i = 0; i < texts; i++) {
        const int64_t before = all;
        for (; at < ends[i]; at++) {
            const int64_t start = at;
            uint8_t any = 0;
            for (; at < ends[i]; at++) {
                if (kinds[i] == 0 ? is_space(text[at]) : kinds[i] == 1 && text[at] == ' ')
                    break;
                any |= text[at];
            }
            if (at > start) {
                const uint32_t chunk = number(&table, start, at - start);
                foreign[chunk] = any >= 0x80 || at - start > LONGEST;
                chunks[all++] = chunk;
            }
        }
        at = ends[i];
        counts[i] = all - before;
    }
    free(table.slots);
    return table.count;
}

/* ---- Porter's stemmer, as `lucene_stem` of errands/stemming.py has it. ---- */

typedef struct {
    uint8_t letters[LONGEST + 1];
    int length;
} Word;

typedef struct {
    const char *suffix, *instead;
} Rule;

static const Rule DERIVED[] = {
    {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
    {"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"},
    {"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"},
    {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"},
    {"logi", "log"}, {NULL, NULL},
};
static const Rule QUALITY[] = {
    {"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""},
    {"ness", ""}, {NULL, NULL},
};
static const Rule PLAIN[] = {
    {"al", ""}, {"ance", ""}, {"ence", ""}, {"er", ""}, {"ic", ""}, {"able", ""}, {"ible", ""},
    {"ant", ""}, {"ement", ""}, {"ment", ""}, {"ent", ""}, {"ion", ""}, {"ou", ""}, {"ism", ""},
    {"ate", ""}, {"iti", ""}, {"ous", ""}, {"ive", ""}, {"ize", ""}, {NULL, NULL},
};

static bool ends_with(const Word *word, const char *suffix)
{
    const int length = strlen(suffix);
    return word->length >= length &&
           !memcmp(word->letters + word->length - length, suffix, length);
}

/* Whether the first `length` letters have a vowel; how often consonants follow vowels there
   (Porter's m); and whether the last three are a consonant, a vowel and a consonant. */
typedef struct {
    bool vowel, last_is_consonant, closed;
    int measure;
} Shape;

static Shape shape(const Word *word, int length)
{
    Shape found = {false, false, false, 0};
    unsigned last = 0; /* A bit for each of the last letters: 1 is a vowel. */
    bool vowel = true; /* So that a leading y is a consonant. */
    for (int i = 0; i < length; i++) {
        const uint8_t letter = word->letters[i];
        const bool before = vowel && i;
        vowel = letter == 'a' || letter == 'e' || letter == 'i' || letter == 'o' ||
                letter == 'u' || (letter == 'y' && !vowel);
        found.vowel |= vowel;
        found.measure += before && !vowel;
        last = last << 1 | vowel;
    }
    found.last_is_consonant = length && !vowel;
    found.closed = length >= 3 && (last & 7) == 2;
    return found;
}

/* Whether the first `length` letters end as `hop` does: not in w, x or y. */
static bool is_short(const Word *word, int length)
{
    const uint8_t last = word->letters[length - 1];
    return last != 'w' && last != 'x' && last != 'y' && shape(word, length).closed;
}

/* The longest suffix among the rules; of a word that is shorter than a rule may be, all of it. */
static const Rule *longest(const Word *word, const Rule *rules, int shortest)
{
    const Rule *best = NULL;
    int length = shortest - 1;
    for (; rules->suffix; rules++) {
        const int mine = strlen(rules->suffix);
        if (mine > length && ends_with(word, rules->suffix)) {
            best = rules;
            length = mine;
        }
    }
    return best;
}

static void replace(Word *word, const Rule *rules)
{
    const Rule *rule = longest(word, rules, 3);
    if (!rule)
        return;
    const int rest = word->length - strlen(rule->suffix);
    if (shape(word, rest).measure) {
        memcpy(word->letters + rest, rule->instead, strlen(rule->instead));
        word->length = rest + strlen(rule->instead);
    }
}

static void drop_tense(Word *word)
{
    if (ends_with(word, "eed")) {
        word->length -= shape(word, word->length - 3).measure > 0;
        return;
    }
    const int cut = ends_with(word, "ed") ? 2 : ends_with(word, "ing") ? 3 : 0;
    const Shape rest = shape(word, word->length - cut);
    if (!cut || !rest.vowel)
        return;
    word->length -= cut;
    const uint8_t last = word->letters[word->length - 1];
    const bool doubled = word->length > 1 && last == word->letters[word->length - 2] &&
                         rest.last_is_consonant;
    if (ends_with(word, "at") || ends_with(word, "bl") || ends_with(word, "iz"))
        word->letters[word->length++] = 'e';
    else if (doubled)
        word->length -= last != 'l' && last != 's' && last != 'z';
    else if (rest.measure == 1 && is_short(word, word->length))
        word->letters[word->length++] = 'e';
}

static void drop_suffix(Word *word)
{
    const Rule *rule = longest(word, PLAIN, 2);
    if (!rule)
        return;
    const int rest = word->length - strlen(rule->suffix);
    if (!strcmp(rule->suffix, "ion") &&
        !(rest && (word->letters[rest - 1] == 's' || word->letters[rest - 1] == 't')))
        return;
    if (shape(word, rest).measure > 1)
        word->length = rest;
}

static void tidy(Word *word)
{
    const int measure = shape(word, word->length).measure;
    if (ends_with(word, "e") &&
        (measure > 1 || (measure == 1 && !is_short(word, word->length - 1))))
        word->length--;
    if (measure > 1 && ends_with(word, "ll"))
        word->length--;
}

static void stem(Word *word)
{
    if (word->length < 3)
        return;
    if (ends_with(word, "sses") || ends_with(word, "ies"))
        word->length -= 2;
    else if (ends_with(word, "s") && !ends_with(word, "ss"))
        word->length--;
    drop_tense(word);
    if (ends_with(word, "y") && shape(word, word->length - 1).vowel)
        word->letters[word->length - 1] = 'i';
    replace(word, DERIVED);
    replace(word, QUALITY);
    drop_suffix(word);
    tidy(word);
}

/* ---- Words ---- */

static bool is_stop_word(const Word *word)
{
    static const char *words[] = {
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
        "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there",
        "these", "they", "this", "to", "was", "will", "with", NULL,
    };
    for (const char **one = words; word->length <= 5 && *one; one++)
        if ((int)strlen(*one) == word->length && !memcmp(*one, word->letters, word->length))
            return true;
    return false;
}

/* Where the word ends that begins with this letter or digit. */
static int64_t word_end(const uint8_t *chunk, int64_t at, int64_t end)
{
    for (;;) {
        while (at < end && is_word(chunk[at]))
            at++;
        if (at + 1 >= end)
            return at;
        const uint8_t before = chunk[at - 1], sign = chunk[at], after = chunk[at + 1];
        const bool both = sign == '\'' || sign == '.';
        if (!(is_letter(before) && is_letter(after) && (both || sign == ':')) &&
            !(is_digit(before) && is_digit(after) && (both || sign == ',' || sign == ';')))
            return at;
        at++;
    }
}

/* Terms on their way: each new one is written behind the others, with a line break. */
typedef struct {
    Table table;
    uint8_t *text;
    int64_t end;
    uint32_t *numbers;
    int64_t count;
} Terms;

static void add_term(Terms *terms, const uint8_t *term, uint32_t length)
{
    const uint32_t before = terms->table.count;
    memcpy(terms->text + terms->end, term, length);
    terms->numbers[terms->count++] = number(&terms->table, terms->end, length);
    if (terms->table.count > before) {
        terms->end += length;
        terms->text[terms->end++] = '\n';
    }
}

/* The terms of a chunk of ASCII. */
static void analyse(Terms *terms, const uint8_t *chunk, int64_t end)
{
    for (int64_t at = 0; at < end;) {
        const int64_t start = at;
        while (at < end && chunk[at] == '_')
            at++;
        if (at == end || !is_word(chunk[at])) {
            at++;
            continue;
        }
        at = word_end(chunk, at, end);
        Word word = {.length = at - start};
        if (word.length > 2 && (chunk[at - 1] | 0x20) == 's' && chunk[at - 2] == '\'')
            word.length -= 2;
        for (int i = 0; i < word.length; i++) {
            const uint8_t letter = chunk[start + i];
            word.letters[i] = letter >= 'A' && letter <= 'Z' ? letter + 32 : letter;
        }
        if (!is_stop_word(&word)) {
            stem(&word);
            add_term(terms, word.letters, word.length);
        }
    }
}

static uint32_t read_number(const uint8_t **data)
{
    uint32_t value;
    memcpy(&value, *data, sizeof value);
    *data += sizeof value;
    return value;
}

/* Number the terms of all chunks. `told` are the terms of foreign chunks: for each chunk how many,
   and each behind its length. Gives where the terms of each chunk end in `numbers`, and the terms
   themselves, each with a line break behind it; returns how many there are. `starts` and `lengths`
   are room for as many. */
EXPORT int64_t terms_numbers(const uint8_t *text, const int64_t *chunk_starts,
                             const uint32_t *chunk_lengths, const bool *foreign, int64_t chunks,
                             const uint8_t *told, int64_t *ends, uint32_t *numbers,
                             uint8_t *term_text, int64_t *starts, uint32_t *lengths)
{
    Terms terms = {{term_text, starts, lengths, 0, NULL, 0}, term_text, 0, numbers, 0};
    grow(&terms.table, 1 << 15);
    for (int64_t i = 0; i < chunks; i++) {
        if (foreign[i]) {
            for (uint32_t left = read_number(&told); left; left--) {
                const uint32_t length = read_number(&told);
                add_term(&terms, told, length);
                told += length;
            }
        } else {
            analyse(&terms, text + chunk_starts[i], chunk_lengths[i]);
        }
        ends[i] = terms.count;
    }
    free(terms.table.slots);
    return terms.table.count;
}

/* Count each text's terms, in the order in which it first has them; returns how many are kept. */
EXPORT int64_t terms_count(const uint32_t *chunks, const uint32_t *chunk_counts, int64_t texts,
                           const int64_t *ends, const uint32_t *numbers, int64_t terms,
                           uint32_t *ids, uint16_t *tfs, uint32_t *counts, uint32_t *lengths)
{
    int64_t *place = malloc((terms + 1) * sizeof(int64_t)); /* Of a term in `ids`. */
    if (!place)
        abort();
    for (int64_t term = 0; term < terms; term++)
        place[term] = -1;
    int64_t kept = 0;
    for (int64_t i = 0; i < texts; i++) {
        const int64_t before = kept;
        uint32_t length = 0;
        for (uint32_t c = 0; c < chunk_counts[i]; c++, chunks++) {
            for (int64_t at = *chunks ? ends[*chunks - 1] : 0; at < ends[*chunks]; at++, length++) {
                const uint32_t term = numbers[at];
                if (place[term] < before) {
                    place[term] = kept;
                    ids[kept] = term;
                    tfs[kept++] = 1;
                } else if (tfs[place[term]] < UINT16_MAX) {
                    tfs[place[term]]++;
                }
            }
        }
        counts[i] = kept - before;
        lengths[i] = length;
    }
    free(place);
    return kept;
}
