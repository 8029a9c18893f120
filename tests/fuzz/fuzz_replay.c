/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs files through a fuzz target, without a fuzzing engine: fuzz_replay
 * FILE... What once crashed must not crash again. */
#include "fuzz_input.h"

enum { MAX_FILE = 1 << 20 };

static void replay(const char *name)
{
    uint8_t *data = fuzz_alloc(MAX_FILE, 1);
    FILE    *file = fopen(name, "rb");
    size_t   len;
    uint8_t *exact; /* no byte more, so that reading on is seen */

    fuzz_must(file != NULL, name);
    len = fread(data, 1, MAX_FILE, file);
    fuzz_must(ferror(file) == 0, name);
    fclose(file);
    exact = malloc(len == 0 ? 1 : len);
    fuzz_must(exact != NULL, "out of memory");
    for (size_t k = 0; k < len; ++k) {
        exact[k] = data[k];
    }
    free(data);
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
}

int main(int argc, char **argv)
{
    for (int k = 1; k < argc; ++k) {
        replay(argv[k]);
    }
    printf("%s: %d files\n", argv[0], argc - 1);
    return argc > 1 ? 0 : 1;
}
