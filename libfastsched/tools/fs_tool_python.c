/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_python.h"

#include "tools/fs_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Isolated (-I): neither the user's modules nor PYTHONPATH come before the
 * standard library; -B: nothing is written beside the files. */
#define COMMAND "python3", "-I", "-B"

#define BUILT "tools/python"

enum { DIR_AT = 3, MAX_ARGV = DIR_AT + 1 + FS_TOOL_PYTHON_ARGS + 1 };

/* Beside the command, in a build; else where they are installed. */
static const char *find_files(void)
{
    static char dir[PATH_MAX + sizeof(BUILT)];
    ssize_t     len = readlink("/proc/self/exe", dir, PATH_MAX);

    while (len > 0 && dir[len - 1] != '/') {
        --len;
    }
    memcpy(dir + (len > 0 ? len : 0), BUILT, sizeof(BUILT));
    return access(dir, F_OK) == 0 ? dir : FS_PYTHON_DIR;
}

static int make_argv(const char *what, const char *const *args,
                     const char *argv[MAX_ARGV])
{
    const char *dir = find_files();
    char        main[PATH_MAX + 64];

    argv[DIR_AT] = dir;
    for (int k = 0; k < FS_TOOL_PYTHON_ARGS && args[k] != NULL; ++k) {
        argv[DIR_AT + 1 + k] = args[k];
    }
    snprintf(main, sizeof(main), "%s/__main__.py", dir);
    return access(main, R_OK) == 0
               ? FS_TOOL_OK
               : fs_tool_failed("%s needs %s: %s; is fastsched installed?",
                                what, main, strerror(errno));
}

static int not_run(const char *what, int why)
{
    return why == ENOENT
               ? fs_tool_failed("%s needs python3, which is not in PATH; "
                                "install it (Debian: apt install python3)",
                                what)
               : fs_tool_failed("%s needs python3: %s", what, strerror(why));
}

int fs_tool_python_become(const char *what, const char *const *args)
{
    const char *argv[MAX_ARGV] = {COMMAND};
    int         rc             = make_argv(what, args, argv);

    if (rc == FS_TOOL_OK) {
        execvp(argv[0], (char **)argv);
        rc = not_run(what, errno);
    }
    return rc;
}

int fs_tool_python_start(const char *what, const char *const *args,
                         pid_t *pid_p, FILE **in_p)
{
    const char                *argv[MAX_ARGV] = {COMMAND};
    posix_spawn_file_actions_t actions;
    int                        ends[2], why, rc = make_argv(what, args, argv);

    if (rc != FS_TOOL_OK) {
        return rc;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return not_run(what, errno);
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    why = posix_spawnp(pid_p, argv[0], &actions, NULL, (char **)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    *in_p = why == 0 ? fdopen(ends[1], "w") : NULL;
    if (*in_p == NULL) {
        close(ends[1]);
        return not_run(what, why == 0 ? ENOMEM : why);
    }
    signal(SIGPIPE, SIG_IGN); /* if it ends early it has said why */
    return FS_TOOL_OK;
}

int fs_tool_python_end(pid_t pid, FILE *in)
{
    int status = 0;

    fclose(in);
    signal(SIGPIPE, SIG_DFL);
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
        return fs_tool_failed("python3 did not end by itself");
    }
    return WEXITSTATUS(status);
}
