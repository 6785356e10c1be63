/* Lets one process die, or its disk be full, at an exact point, and moves its clock.
 *
 * Loaded with LD_PRELOAD into a program that knows nothing of it. It arms itself only in the program that
 * BUTLER_TEST_PROGRAM names and takes every trace of itself out of the environment there, so no child of
 * that program has it, and the shell that starts the program passes it on.
 *
 *   BUTLER_TEST_DIR       only files below this directory count
 *   BUTLER_TEST_RECORDS   name of the journal: a record is a write to such a file, durable when it is synced
 *   BUTLER_TEST_FAULT     after:N     die right after the N-th record is durable
 *                         torn:N      die in the middle of writing the N-th record
 *                         full:N      every operation from the N-th on that needs room fails with ENOSPC
 *                         full-once:N only the N-th does
 *   BUTLER_TEST_FROM      nothing is counted before the record that contains this text; it is the first
 *   BUTLER_TEST_MATCH     full counts, and refuses, only files of this name
 *   BUTLER_TEST_ASIDE     names of files, with a colon after each, that are not counted, because what they get
 *                         depends on the time; they find no room either once N - 1 operations found some
 *   BUTLER_TEST_CLOCK     seconds that are added to the wall clock …
 *   BUTLER_TEST_CLOCK_AT  … once this many records are durable
 *   BUTLER_TEST_LOG       file for a line about each operation that needs room, and about each fault
 *
 * What a program does without libc (rustix: the rename of a file that was written beside its place) passes
 * unseen; writing, syncing and creating files goes through libc in Rust's standard library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum fault { NONE, AFTER, TORN, FULL, FULL_ONCE };

static int armed;
static enum fault fault;
static long fault_at;
static long clock_shift, clock_at;
static char dir[PATH_MAX], journal[NAME_MAX + 1], match[NAME_MAX + 1], aside[PATH_MAX];
static char from[PATH_MAX];
static int log_fd = -1;

static atomic_int counts;   /* the record from which on is counted has come */
static atomic_long written; /* records, begun */
static atomic_long durable; /* records, synced */
static atomic_long needing; /* operations that need room */
static atomic_int unsynced; /* a record was written and not synced */

/* libc's own. Looking twice at once finds the same. */
#define REAL(name)                                                \
    ({                                                            \
        static __typeof__(&name) found;                           \
        if (!found) found = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
        found;                                                    \
    })

static void take(const char *name, char *to, size_t size) {
    const char *value = getenv(name);
    snprintf(to, size, "%s", value ? value : "");
    unsetenv(name);
}

static long take_number(const char *name) {
    char text[32];
    take(name, text, sizeof text);
    return strtol(text, NULL, 10);
}

static void take_fault(void) {
    static const struct { const char *word; enum fault fault; } words[] = {
        {"after:", AFTER}, {"torn:", TORN}, {"full:", FULL}, {"full-once:", FULL_ONCE}};
    char text[64];
    take("BUTLER_TEST_FAULT", text, sizeof text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(text, words[i].word, length) == 0) {
            fault = words[i].fault;
            fault_at = strtol(text + length, NULL, 10);
        }
    }
}

__attribute__((constructor)) static void arm(void) {
    char self[PATH_MAX], log[PATH_MAX];
    const char *program = getenv("BUTLER_TEST_PROGRAM");
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (!program || length < 0) return;
    self[length] = 0;
    if (strcmp(self, program) != 0) return;
    unsetenv("BUTLER_TEST_PROGRAM");
    unsetenv("LD_PRELOAD");
    take("BUTLER_TEST_DIR", dir, sizeof dir);
    take("BUTLER_TEST_RECORDS", journal, sizeof journal);
    take("BUTLER_TEST_MATCH", match, sizeof match);
    take("BUTLER_TEST_ASIDE", aside, sizeof aside);
    take("BUTLER_TEST_FROM", from, sizeof from);
    take("BUTLER_TEST_LOG", log, sizeof log);
    atomic_store(&counts, !*from);
    clock_shift = take_number("BUTLER_TEST_CLOCK");
    clock_at = take_number("BUTLER_TEST_CLOCK_AT");
    take_fault();
    if (*log) log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    armed = 1;
}

static void say(const char *what, long number, const char *path) {
    char line[PATH_MAX + 64];
    if (log_fd < 0) return;
    int length = snprintf(line, sizeof line, "%ld %s %s\n", number, what, path);
    if (length > 0) syscall(SYS_write, log_fd, line, (size_t)length);
}

static void die(const char *what, long number, const char *path) {
    say(what, number, path);
    for (;;) syscall(SYS_kill, getpid(), SIGKILL);
}

static const char *base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int below(const char *path) {
    size_t length = strlen(dir);
    return length && strncmp(path, dir, length) == 0 && (path[length] == '/' || !path[length]);
}

/* The path of a plain file or directory below the directory; 0 for everything else. */
static int path_of(int fd, char *path) {
    char link[64];
    struct stat info;
    if (!armed || fstat(fd, &info) != 0 || !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static int is_journal(const char *path) {
    return *journal && strcmp(base(path), journal) == 0;
}

static int is_aside(const char *path) {
    const char *name = base(path);
    size_t length = strlen(name);
    for (const char *at = aside; *at;) {
        const char *end = strchr(at, ':');
        if (!end) return 0;
        if ((size_t)(end - at) == length && strncmp(at, name, length) == 0) return 1;
        at = end + 1;
    }
    return 0;
}

/* Counts an operation that needs room; true when there is none. */
static int is_full(const char *what, const char *path) {
    if (!atomic_load(&counts) || (*match && strcmp(base(path), match) != 0)) return 0;
    if (is_aside(path)) {
        int full = fault == FULL && atomic_load(&needing) >= fault_at - 1;
        if (full) errno = ENOSPC;
        return full;
    }
    long number = atomic_fetch_add(&needing, 1) + 1;
    int full = (fault == FULL && number >= fault_at) || (fault == FULL_ONCE && number == fault_at);
    if (full) {
        char words[32];
        snprintf(words, sizeof words, "full-%s", what);
        say(words, number, path);
        errno = ENOSPC;
    } else {
        say(what, number, path);
    }
    return full;
}

/* Before a write: true when it must fail. `length` is cut to what is still written before the end. */
static int before_write(int fd, const void *bytes, size_t *length, int *dies, char *path) {
    if (!path_of(fd, path)) return 0;
    if (*from && is_journal(path) && memmem(bytes, *length, from, strlen(from))) atomic_store(&counts, 1);
    if (is_full("write", path)) return 1;
    if (is_journal(path) && atomic_load(&counts)) {
        long number = atomic_fetch_add(&written, 1) + 1;
        atomic_store(&unsynced, 1);
        if (fault == TORN && number == fault_at) {
            *length /= 2;
            *dies = 1;
        }
    }
    return 0;
}

ssize_t write(int fd, const void *bytes, size_t length) {
    char path[PATH_MAX];
    int dies = 0;
    if (before_write(fd, bytes, &length, &dies, path)) return -1;
    ssize_t result = REAL(write)(fd, bytes, length);
    if (dies) die("torn", atomic_load(&written), path);
    return result;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    char path[PATH_MAX];
    int dies = 0;
    if (before_write(fd, bytes, &length, &dies, path)) return -1;
    ssize_t result = REAL(pwrite64)(fd, bytes, length, at);
    if (dies) die("torn", atomic_load(&written), path);
    return result;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    size_t length = 0;
    int dies = 0;
    const struct iovec *first = count > 0 ? parts : &(struct iovec){"", 0};
    length = first->iov_len;
    if (before_write(fd, first->iov_base, &length, &dies, path)) return -1;
    if (dies) die("torn", atomic_load(&written), path);
    return REAL(writev)(fd, parts, count);
}

static int synced(int fd, const char *what, int (*sync)(int)) {
    char path[PATH_MAX];
    if (!path_of(fd, path)) return sync(fd);
    if (is_full(what, path)) return -1;
    int result = sync(fd);
    /* Cutting a torn end off syncs too, and is no record. */
    if (result == 0 && is_journal(path) && atomic_exchange(&unsynced, 0)) {
        long number = atomic_fetch_add(&durable, 1) + 1;
        if (fault == AFTER && number == fault_at) die("after", number, path);
    }
    return result;
}

int fsync(int fd) { return synced(fd, "sync", REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, "sync", REAL(fdatasync)); }

/* A path as it is given; relative ones are not ours. */
static int no_room_at(const char *what, const char *path) {
    return armed && path && below(path) && is_full(what, path);
}

#define OPENED(call, ...)                                                                   \
    mode_t mode = 0;                                                                        \
    if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {                            \
        va_list rest;                                                                       \
        va_start(rest, flags);                                                              \
        mode = va_arg(rest, mode_t);                                                        \
        va_end(rest);                                                                       \
        if ((flags & O_CREAT) && access(path, F_OK) != 0 && no_room_at("create", path)) return -1; \
    }                                                                                       \
    return REAL(call)(__VA_ARGS__, flags, mode);

int open(const char *path, int flags, ...) { OPENED(open, path) }
int open64(const char *path, int flags, ...) { OPENED(open64, path) }
int openat(int at, const char *path, int flags, ...) { OPENED(openat, at, path) }
int openat64(int at, const char *path, int flags, ...) { OPENED(openat64, at, path) }

int mkdir(const char *path, mode_t mode) {
    if (access(path, F_OK) != 0 && no_room_at("create", path)) return -1;
    return REAL(mkdir)(path, mode);
}

int rename(const char *from, const char *to) {
    if (no_room_at("rename", to)) return -1;
    return REAL(rename)(from, to);
}

static long shift(void) {
    return armed && clock_shift && atomic_load(&durable) >= clock_at ? clock_shift : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = REAL(clock_gettime)(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int result = REAL(gettimeofday)(now, zone);
    if (result == 0) now->tv_sec += shift();
    return result;
}

time_t time(time_t *to) {
    time_t now = REAL(time)(NULL) + shift();
    if (to) *to = now;
    return now;
}
