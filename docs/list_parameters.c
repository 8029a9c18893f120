/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the table of parameters, as the library has it, for docs/parameters.md. */
#include <fastsched_exec.h>

#include <stdio.h>

/* A bar would end the cell. */
static void print_cell(const char *text)
{
    for (; *text != '\0'; ++text) {
        printf(*text == '|' ? "\\|" : "%c", *text);
    }
}

int main(void)
{
    const fs_param_info_t *info;

    printf("| name | default | allowed | |\n|---|---|---|---|\n");
    for (size_t k = 0; (info = fs_params_info(k)) != NULL; ++k) {
        printf("| `%s` | %s | ", info->name, info->default_value);
        print_cell(info->allowed);
        printf(" | ");
        print_cell(info->help);
        printf(" |\n");
    }
    return 0;
}
