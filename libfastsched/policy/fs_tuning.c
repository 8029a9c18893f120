/* SPDX-License-Identifier: BSD-3-Clause */
#include "policy/fs_tuning.h"

#include "base/fs_arith.h"
#include "base/fs_grow.h"
#include "base/fs_json.h"

#include <stdlib.h>
#include <string.h>

/* ---- entries ---- */

void fs_tuning_fini(fs_tuning_t *tuning)
{
    free(tuning->entries);
    free(tuning->others);
    *tuning = (fs_tuning_t){.entries = NULL};
}

static int compare_places(const fs_tuning_place_t *a,
                          const fs_tuning_place_t *b)
{
    int order = strcmp(a->mpi, b->mpi);

    order = order != 0 ? order : strcmp(a->transport, b->transport);
    order = order != 0 ? order : strcmp(a->layout, b->layout);
    return order != 0 ? order : (a->lanes > b->lanes) - (a->lanes < b->lanes);
}

bool fs_tuning_same_place(const fs_tuning_place_t *a,
                          const fs_tuning_place_t *b)
{
    return compare_places(a, b) == 0;
}

static int compare(const fs_tuning_entry_t *a, const fs_tuning_entry_t *b)
{
    int order = compare_places(&a->place, &b->place);

    return order != 0
               ? order
               : (a->of_class > b->of_class) - (a->of_class < b->of_class);
}

static void update(fs_tuning_entry_t *entry, const fs_tuning_entry_t *newer)
{
    entry->choice = newer->choice;
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        if (newer->price[c] != 0) {
            entry->price[c] = newer->price[c];
        }
    }
    if (!fs_u64_add(entry->n_calls, newer->n_calls, &entry->n_calls)) {
        entry->n_calls = UINT64_MAX;
    }
}

/* How many entries go before this one. */
static size_t place_of(const fs_tuning_t       *tuning,
                       const fs_tuning_entry_t *entry)
{
    size_t first = 0, end = tuning->n;

    while (first < end) {
        size_t mid = first + (end - first) / 2;

        if (compare(&tuning->entries[mid], entry) < 0) {
            first = mid + 1;
        } else {
            end = mid;
        }
    }
    return first;
}

fs_status_t fs_tuning_add(fs_tuning_t *tuning, const fs_tuning_entry_t *entry)
{
    size_t             at = place_of(tuning, entry);
    fs_tuning_entry_t *entries;

    if (at < tuning->n && compare(&tuning->entries[at], entry) == 0) {
        update(&tuning->entries[at], entry);
        return FS_OK;
    }
    entries = fs_grow(tuning->entries, tuning->n, &tuning->max,
                      FS_TUNING_ENTRIES, sizeof(*entries));
    if (entries == NULL) {
        return tuning->n >= FS_TUNING_ENTRIES ? FS_ERR_OVERFLOW : FS_ERR_NOMEM;
    }
    memmove(entries + at + 1, entries + at,
            (tuning->n - at) * sizeof(*entries));
    entries[at]     = *entry;
    tuning->entries = entries;
    ++tuning->n;
    return FS_OK;
}

static fs_status_t keep(fs_tuning_t *tuning, const char *line, size_t len)
{
    while (tuning->others_max < tuning->others_len + len + 1) {
        size_t max    = 2 * (tuning->others_len + len + 1);
        char  *bigger = realloc(tuning->others, max);

        if (bigger == NULL) {
            return FS_ERR_NOMEM;
        }
        tuning->others     = bigger;
        tuning->others_max = max;
    }
    memcpy(tuning->others + tuning->others_len, line, len);
    tuning->others_len += len;
    tuning->others[tuning->others_len++] = '\n';
    return FS_OK;
}

/* ---- reading a line ---- */

/* One object, whose members have been read up to `at`. */
typedef struct reader {
    const char *at;
    const char *end;
    const char *wrong; /* NULL: nothing so far */
} reader_t;

/* What a line has; bit k of has: the k-th field. */
typedef struct line {
    uint64_t          version;
    fs_tuning_entry_t entry;
    uint64_t          lanes, bytes_log2, mtm_band, skew_band;
    char              collective[FS_TUNING_TEXT];
    char              choice[FS_TUNING_TEXT];
    uint32_t          has;
} line_t;

static void fail(reader_t *r, const char *wrong)
{
    r->wrong = r->wrong != NULL ? r->wrong : wrong;
    r->at    = r->end; /* nothing more is read */
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char peek(reader_t *r)
{
    while (r->at < r->end && is_space(*r->at)) {
        ++r->at;
    }
    return r->at < r->end ? *r->at : '\0';
}

static bool take(reader_t *r, char c)
{
    bool there = peek(r) == c && r->at < r->end;

    r->at += there;
    return there;
}

static int hex_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The four digits behind \u. Only a byte can be one of ours: else '?'. */
static char read_unicode(reader_t *r)
{
    unsigned value = 0;

    for (int k = 0; k < 4; ++k, ++r->at) {
        int digit = r->at < r->end ? hex_of(*r->at) : -1;

        if (digit < 0) {
            fail(r, "a wrong \\u in a string");
            return '?';
        }
        value = 16 * value + (unsigned)digit;
    }
    return value == 0 || value > 0xff ? '?' : (char)(unsigned char)value;
}

/* Behind the backslash. */
static char read_escape(reader_t *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char       *found;

    if (r->at == r->end) {
        fail(r, "a string without an end");
        return '?';
    }
    if (*r->at == 'u') {
        ++r->at;
        return read_unicode(r);
    }
    found = *r->at != '\0' ? strchr(from, *r->at) : NULL;
    if (found == NULL) {
        fail(r, "a wrong escape in a string");
        return '?';
    }
    ++r->at;
    return to[found - from];
}

/* What does not fit is cut off: *len_p is the length of the whole. */
static void read_text(reader_t *r, char *text, size_t size, size_t *len_p)
{
    size_t len = 0;

    if (!take(r, '"')) {
        fail(r, "no string where one should be");
    }
    while (r->wrong == NULL && (r->at == r->end || *r->at != '"')) {
        char c;

        if (r->at == r->end) {
            fail(r, "a string without an end");
            break;
        }
        c = *r->at++;
        c = c == '\\' ? read_escape(r) : c;
        if (len < size - 1) {
            text[len] = c;
        }
        ++len;
    }
    r->at += r->at < r->end;
    memset(text + (len < size ? len : size - 1), 0,
           size - (len < size ? len : size - 1));
    *len_p = len;
}

static void read_number(reader_t *r, uint64_t *value_p)
{
    uint64_t value = 0;

    if (peek(r) < '0' || peek(r) > '9') {
        fail(r, "no number where one should be");
    }
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        if (!fs_u64_mul(value, 10, &value) ||
            !fs_u64_add(value, (uint64_t)(*r->at - '0'), &value)) {
            fail(r, "a number that does not fit in 64 bits");
            return;
        }
        ++r->at;
    }
    if (r->at < r->end && strchr(".eE", *r->at) != NULL) {
        fail(r, "a number that is not whole");
    }
    *value_p = value;
}

/* A value of a key that is not known: any that fits on the line. */
static void skip_value(reader_t *r)
{
    char     text[2];
    size_t   len;
    unsigned depth = 0;

    do {
        char c = peek(r);

        if (c == '"') {
            read_text(r, text, sizeof(text), &len);
        } else if (c == '{' || c == '[') {
            ++depth;
            ++r->at;
        } else if (depth > 0 && (c == '}' || c == ']')) {
            --depth;
            ++r->at;
        } else if (c == '\0' || (depth == 0 && (c == ',' || c == '}'))) {
            fail(r, "no value behind a key");
        } else if (depth > 0 && (c == ',' || c == ':')) {
            ++r->at;
        } else { /* a number or a word */
            while (r->at < r->end && strchr(" \t\r,:]}", *r->at) == NULL) {
                ++r->at;
            }
        }
    } while (r->wrong == NULL && depth > 0);
}

enum { HAS_VERSION, N_NUMBERS = 6, HAS_TEXT = 8, N_TEXTS = 5 };

/* What a key is for; the price of a candidate is not in the lists. */
static bool read_price(reader_t *r, const char *key, line_t *line)
{
    static const char unit[] = "_ns_per_mib";
    size_t            len    = strlen(key);

    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        const char *name   = fs_candidate_name((fs_candidate_t)c);
        size_t      prefix = strlen(name);

        if (len == prefix + strlen(unit) && strncmp(key, name, prefix) == 0 &&
            strcmp(key + prefix, unit) == 0) {
            read_number(r, &line->entry.price[c]);
            return true;
        }
    }
    return false;
}

static bool read_field(reader_t *r, const char *key, line_t *line)
{
    const struct {
        const char *key;
        uint64_t   *value;
    } numbers[N_NUMBERS] = {
        {"fastsched_tuning", &line->version}, {"lanes", &line->lanes},
        {"bytes_log2", &line->bytes_log2},    {"mtm_band", &line->mtm_band},
        {"skew_band", &line->skew_band},      {"calls", &line->entry.n_calls}};
    const struct {
        const char *key;
        char       *text;
    } texts[N_TEXTS] = {{"layout", line->entry.place.layout},
                        {"transport", line->entry.place.transport},
                        {"mpi", line->entry.place.mpi},
                        {"collective", line->collective},
                        {"choice", line->choice}};
    size_t len       = 0;

    for (int k = 0; k < N_NUMBERS; ++k) {
        if (strcmp(key, numbers[k].key) == 0) {
            read_number(r, numbers[k].value);
            line->has |= (uint32_t)(r->wrong == NULL) << k;
            return true;
        }
    }
    for (int k = 0; k < N_TEXTS; ++k) {
        if (strcmp(key, texts[k].key) == 0) {
            read_text(r, texts[k].text, FS_TUNING_TEXT, &len);
            if (len >= FS_TUNING_TEXT) {
                fail(r, "a string of more than 63 bytes");
            }
            line->has |= 1u << (HAS_TEXT + k);
            return true;
        }
    }
    return read_price(r, key, line);
}

static void read_member(reader_t *r, line_t *line)
{
    char   key[FS_TUNING_TEXT];
    size_t len = 0;

    read_text(r, key, sizeof(key), &len);
    if (r->wrong == NULL && !take(r, ':')) {
        fail(r, "a key without a colon");
    }
    if (r->wrong == NULL && (len >= sizeof(key) || !read_field(r, key, line))) {
        skip_value(r);
    }
}

static void read_object(reader_t *r, line_t *line)
{
    if (!take(r, '{')) {
        fail(r, "no JSON object");
    }
    if (r->wrong == NULL && !take(r, '}')) {
        do {
            read_member(r, line);
        } while (r->wrong == NULL && take(r, ','));
        if (r->wrong == NULL && !take(r, '}')) {
            fail(r, "an object without an end");
        }
    }
    if (r->wrong == NULL && peek(r) != '\0') {
        fail(r, "something behind the object");
    }
}

static const char *const choices[]     = {FS_CANDIDATE_MAP(FS_LIST_NAME)};
static const char *const collectives[] = {FS_TUNED_MAP(FS_LIST_NAME)};

/* Which of n words is it? n: none of them. */
static unsigned find_word(const char *const *words, unsigned n,
                          const char *word)
{
    unsigned k = 0;

    while (k < n && strcmp(words[k], word) != 0) {
        ++k;
    }
    return k;
}

/* NULL: it is a line of this version, and has all that it needs. */
static const char *what_lacks(const line_t *line)
{
    static const char *const lacks[] = {
        [1] = "no \"lanes\"",    [2] = "no \"bytes_log2\"",
        [3] = "no \"mtm_band\"", [4] = "no \"skew_band\"",
        [8] = "no \"layout\"",   [9] = "no \"transport\"",
        [10] = "no \"mpi\"",     [11] = "no \"collective\"",
        [12] = "no \"choice\"",
    };

    for (size_t k = 0; k < sizeof(lacks) / sizeof(lacks[0]); ++k) {
        if (lacks[k] != NULL && !(line->has & 1u << k)) {
            return lacks[k];
        }
    }
    return line->lanes == 0 || line->lanes > UINT32_MAX ? "a wrong \"lanes\""
           : line->bytes_log2 >= 64                 ? "a wrong \"bytes_log2\""
           : line->mtm_band >= FS_TUNER_MTM_BANDS   ? "a wrong \"mtm_band\""
           : line->skew_band >= FS_TUNER_SKEW_BANDS ? "a wrong \"skew_band\""
                                                    : NULL;
}

/* *wrong_p: NULL, or what is wrong. */
static fs_status_t add_line(fs_tuning_t *tuning, const char *text, size_t len,
                            const char **wrong_p)
{
    reader_t r    = {text, text + len, NULL};
    line_t   line = {.version = 0};
    unsigned choice, tuned;

    if (peek(&r) == '\0' && r.at == r.end) {
        return FS_OK;
    }
    read_object(&r, &line);
    if (line.has & 1u << HAS_VERSION && line.version != FS_TUNING_VERSION) {
        return keep(tuning, text, len); /* whatever its other keys may be */
    }
    if (r.wrong == NULL && !(line.has & 1u << HAS_VERSION)) {
        r.wrong = "no \"fastsched_tuning\"";
    }
    r.wrong = r.wrong != NULL ? r.wrong : what_lacks(&line);
    if (r.wrong != NULL) {
        *wrong_p = r.wrong;
        return FS_OK;
    }
    choice = find_word(choices, FS_N_CANDIDATES, line.choice);
    tuned  = find_word(collectives, FS_N_TUNED, line.collective);
    if (choice == FS_N_CANDIDATES || tuned == FS_N_TUNED) {
        return keep(tuning, text, len);
    }
    line.entry.choice      = (fs_candidate_t)choice;
    line.entry.place.lanes = (uint32_t)line.lanes;
    line.entry.of_class    = fs_tuner_class_for(
           (fs_tuned_t)tuned,
           fs_tuner_class_of((uint32_t)line.bytes_log2, (uint32_t)line.mtm_band,
                             (uint32_t)line.skew_band));
    return fs_tuning_add(tuning, &line.entry);
}

fs_status_t fs_tuning_parse(fs_tuning_t *tuning, const char *text,
                            size_t text_len, char *why, size_t why_len)
{
    const char *at = text, *end = text + text_len;
    fs_status_t status = FS_OK;
    bool        bad    = false;

    for (unsigned long line = 1; at < end && status == FS_OK; ++line) {
        const char *stop  = memchr(at, '\n', (size_t)(end - at));
        const char *wrong = NULL;

        stop   = stop != NULL ? stop : end;
        status = add_line(tuning, at, (size_t)(stop - at), &wrong);
        if (wrong != NULL && !bad) {
            bad = true;
            snprintf(why, why_len, "line %lu: %s", line, wrong);
        }
        at = stop + 1;
    }
    if (status != FS_OK) {
        snprintf(why, why_len, "%s", fs_strerror(status));
        return status;
    }
    return bad ? FS_ERR_INVAL : FS_OK;
}

/* ---- writing ---- */

static void print_entry(const fs_tuning_entry_t *entry, FILE *out)
{
    static const char *const keys[] = {
#define X(_value, _word, _text) [_value] = #_word "_ns_per_mib",
        FS_CANDIDATE_MAP(X)
#undef X
    };
    fs_json_t json;

    fs_json_init(&json, out, 0);
    fs_json_open(&json, NULL, '{');
    fs_json_u64(&json, "fastsched_tuning", FS_TUNING_VERSION);
    fs_json_text(&json, "layout", entry->place.layout);
    fs_json_u64(&json, "lanes", entry->place.lanes);
    fs_json_text(&json, "transport", entry->place.transport);
    fs_json_text(&json, "mpi", entry->place.mpi);
    fs_json_text(&json, "collective",
                 fs_tuned_name(fs_tuner_tuned(entry->of_class)));
    fs_json_u64(&json, "bytes_log2", fs_tuner_bytes_log2(entry->of_class));
    fs_json_u64(&json, "mtm_band", fs_tuner_mtm_band(entry->of_class));
    fs_json_u64(&json, "skew_band", fs_tuner_skew_band(entry->of_class));
    fs_json_text(&json, "choice", fs_candidate_name(entry->choice));
    fs_json_u64(&json, "calls", entry->n_calls);
    for (unsigned c = 0; c < FS_N_CANDIDATES; ++c) {
        if (entry->price[c] != 0) {
            fs_json_u64(&json, keys[c], entry->price[c]);
        }
    }
    fs_json_close(&json);
}

void fs_tuning_print(const fs_tuning_t *tuning, FILE *out)
{
    for (size_t k = 0; k < tuning->n; ++k) {
        print_entry(&tuning->entries[k], out);
    }
    if (tuning->others_len > 0) {
        fwrite(tuning->others, 1, tuning->others_len, out);
    }
}
