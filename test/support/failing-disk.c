/*
 * Preloaded into a process: its syncs and positioned writes of regular files fail or take longer, as two integers in a
 * shared file say (FAILING_DISK): the mode, and milliseconds. See failing-disk.ts.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORKS, SYNCS_FAIL, IS_FULL, SYNCS_ARE_SLOW };

static volatile int32_t *control;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAILING_DISK");
  int file = path == NULL ? -1 : open(path, O_RDONLY);
  if (file < 0) return;
  void *shared = mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (shared != MAP_FAILED) control = shared;
}

static int is_regular(int file) {
  struct stat status;
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

/* Whether a sync fails now; a slow one waits first. */
static int sync_fails(int file) {
  if (control == NULL || control[0] == WORKS || !is_regular(file)) return 0;
  if (control[0] == SYNCS_ARE_SLOW) usleep(control[1] * 1000);
  if (control[0] != SYNCS_FAIL) return 0;
  errno = EIO;
  return 1;
}

int fsync(int file) {
  static int (*next)(int);
  if (next == NULL) next = dlsym(RTLD_NEXT, "fsync");
  return sync_fails(file) ? -1 : next(file);
}

int fdatasync(int file) {
  static int (*next)(int);
  if (next == NULL) next = dlsym(RTLD_NEXT, "fdatasync");
  return sync_fails(file) ? -1 : next(file);
}

static int write_fails(int file) {
  if (control == NULL || control[0] != IS_FULL || !is_regular(file)) return 0;
  errno = ENOSPC;
  return 1;
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) {
  static ssize_t (*next)(int, const void *, size_t, off_t);
  if (next == NULL) next = dlsym(RTLD_NEXT, "pwrite");
  return write_fails(file) ? -1 : next(file, bytes, size, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) {
  static ssize_t (*next)(int, const void *, size_t, off64_t);
  if (next == NULL) next = dlsym(RTLD_NEXT, "pwrite64");
  return write_fails(file) ? -1 : next(file, bytes, size, at);
}
