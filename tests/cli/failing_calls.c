/* For LD_PRELOAD: the FAIL_CALL-th of the calls by which files are written fails as on a full disk; the file FAIL_TOLD then exists. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int calls;

static int fails(void) {
  const char* const wanted = getenv("FAIL_CALL");
  if (wanted == NULL || atomic_fetch_add(&calls, 1) + 1 != atoi(wanted)) return 0;
  close(open(getenv("FAIL_TOLD"), O_CREAT | O_WRONLY, 0600));
  errno = ENOSPC;
  return 1;
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  ssize_t (*real)(int, const void*, size_t, off_t);
  *(void**)&real = dlsym(RTLD_NEXT, "pwrite");
  if (fails()) return -1;
  return real(file, from, bytes > 100 ? bytes / 2 : bytes, offset); /* and seldom all at once */
}

int mkostemps(char* name, int suffix, int flags) {
  int (*real)(char*, int, int);
  *(void**)&real = dlsym(RTLD_NEXT, "mkostemps");
  return fails() ? -1 : real(name, suffix, flags);
}

int ftruncate(int file, off_t bytes) {
  int (*real)(int, off_t);
  *(void**)&real = dlsym(RTLD_NEXT, "ftruncate");
  return fails() ? -1 : real(file, bytes);
}

int fsync(int file) {
  int (*real)(int);
  *(void**)&real = dlsym(RTLD_NEXT, "fsync");
  return fails() ? -1 : real(file);
}

int renameat2(int from, const char* name, int to, const char* made, unsigned flags) {
  int (*real)(int, const char*, int, const char*, unsigned);
  *(void**)&real = dlsym(RTLD_NEXT, "renameat2");
  return fails() ? -1 : real(from, name, to, made, flags);
}
