/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fs_tool_python.h"

#include "tools/fs_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
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

static void make_argv(const char *what, const char *const *args,
                      const char *argv[MAX_ARGV])
{
    const char *dir = find_files();
    char        main[PATH_MAX + 64];

    argv[DIR_AT] = dir;
    for (int k = 0; k < FS_TOOL_PYTHON_ARGS && args[k] != NULL; ++k) {
        argv[DIR_AT + 1 + k] = args[k];
    }
    snprintf(main, sizeof(main), "%s/__main__.py", dir);
    if (access(main, R_OK) != 0) {
        fs_tool_failed("%s needs %s: %s; is fastsched installed?", what, main,
                       strerror(errno));
    }
}

static _Noreturn void not_run(const char *what, int why)
{
    if (why == ENOENT) {
        fs_tool_failed("%s needs python3, which is not in PATH; install it "
                       "(Debian: apt install python3)",
                       what);
    }
    fs_tool_failed("%s needs python3: %s", what, strerror(why));
}

void fs_tool_python_become(const char *what, const char *const *args)
{
    const char *argv[MAX_ARGV] = {COMMAND};

    make_argv(what, args, argv);
    execvp(argv[0], (char **)argv);
    not_run(what, errno);
}

/* Of what has been started and has not ended; 0: none. */
static pid_t running;

/* It would complain of what it has not got as well. */
static void stop(void)
{
    if (running != 0) {
        kill(running, SIGKILL);
    }
}

FILE *fs_tool_python_start(const char *what, const char *const *args)
{
    const char                *argv[MAX_ARGV] = {COMMAND};
    posix_spawn_file_actions_t actions;
    int                        ends[2], why;
    FILE                      *file;

    make_argv(what, args, argv);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        not_run(what, errno);
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    why =
        posix_spawnp(&running, argv[0], &actions, NULL, (char **)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    if (why != 0) {
        running = 0;
        not_run(what, why);
    }
    atexit(stop);
    signal(SIGPIPE, SIG_IGN); /* if it ends early it has said why */
    file = fdopen(ends[1], "w");
    if (file == NULL) {
        not_run(what, errno);
    }
    return file;
}

void fs_tool_python_end(FILE *file)
{
    pid_t pid    = running;
    int   status = 0;

    fclose(file);
    signal(SIGPIPE, SIG_DFL);
    running = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
        fs_tool_failed("python3 was ended by a signal");
    }
    if (WEXITSTATUS(status) != 0) {
        exit(WEXITSTATUS(status));
    }
}

bool fs_tool_is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}
