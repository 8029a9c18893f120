/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPICH's MPI_T says about the choice of a collective's algorithm, asked
 * before MPI_Init as tools do.
 *
 *   mpi_cvar VARIABLE NAME
 *
 * The variable is a number; its description lists "name - text" of the values
 * from 0 on (in MPICH 4.0 without the ends of lines). Status 0: the value that
 * is set is that of NAME.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int read_value(int index)
{
    MPI_T_cvar_handle handle;
    int               count, value = -1;

    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_read(handle, &value);
    MPI_T_cvar_handle_free(&handle);
    return value;
}

/* Where the name of VALUE ends; NULL: there is no such value. */
static const char *end_of_name(const char *description, int value)
{
    const char *end = strstr(description, " - ");

    for (; end != NULL && value > 0; --value) {
        end = strstr(end + 1, " - ");
    }
    while (end != NULL && end > description && end[-1] == ' ') {
        --end;
    }
    return end;
}

static int is_name(const char *description, int value, const char *name)
{
    const char *end = end_of_name(description, value);
    size_t      len = strlen(name);

    return end != NULL && (size_t)(end - description) > len &&
           strncmp(end - len, name, len) == 0;
}

int main(int argc, char **argv)
{
    char         name[256], description[4096];
    int          provided, index, rank, verbosity, bind, scope, value, right;
    int          name_len = sizeof(name), len = sizeof(description);
    MPI_Datatype type;
    MPI_T_enum   values;

    if (argc != 3) {
        fprintf(stderr, "usage: mpi_cvar VARIABLE NAME\n");
        return 2;
    }
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_cvar_get_index(argv[1], &index) != MPI_SUCCESS) {
        fprintf(stderr, "mpi_cvar: there is no %s\n", argv[1]);
        return 1;
    }
    MPI_T_cvar_get_info(index, name, &name_len, &verbosity, &type, &values,
                        description, &len, &bind, &scope);
    value = read_value(index);
    right = is_name(description, value, argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !right) {
        printf("mpi_cvar: value %d is not %s: %s\n", value, argv[2],
               description);
    }
    MPI_Finalize();
    MPI_T_finalize();
    return !right;
}
