/* The library's threads and its code: it is opened, used on several threads and closed again, more than once, and stays
 * where it is, with as many threads as before; and it is used after its own destructors have run, when the process
 * ends. Argument: libinfini.so. */
#include <dirent.h>
#include <dlfcn.h>
#include <infiniop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rows = 1100, cols = 900 };
static float x[rows * cols], y[rows * cols];
static void* library;

#define FUNCTION(name) ((__typeof__(&name))dlsym(library, #name))

static int fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  _Exit(1);
}

static void transpose(void) {
  const size_t shape[] = {rows, cols};
  const ptrdiff_t transposed[] = {1, rows};
  infiniopHandle_t handle;
  infiniopTensorDescriptor_t src, dst;
  infiniopRearrangeDescriptor_t op;
  if (FUNCTION(infiniSetNumThreads)(4) || FUNCTION(infiniopCreateHandle)(&handle) ||
      FUNCTION(infiniopCreateTensorDescriptor)(&src, 2, shape, NULL, INFINI_DTYPE_F32) ||
      FUNCTION(infiniopCreateTensorDescriptor)(&dst, 2, shape, transposed, INFINI_DTYPE_F32) ||
      FUNCTION(infiniopCreateRearrangeDescriptor)(handle, &op, dst, src))
    fail("creating failed");
  memset(y, 0, sizeof y);
  for (int run = 0; run < 20; ++run)
    if (FUNCTION(infiniopRearrange)(op, y, x, NULL)) fail("running failed");
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j)
      if (y[j * rows + i] != x[i * cols + j]) fail("wrong elements");
  FUNCTION(infiniopDestroyRearrangeDescriptor)(op);
  FUNCTION(infiniopDestroyTensorDescriptor)(dst);
  FUNCTION(infiniopDestroyTensorDescriptor)(src);
  FUNCTION(infiniopDestroyHandle)(handle);
}

static int threads_of_process(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) fail("/proc is missing");
  for (struct dirent* task; (task = readdir(tasks)) != NULL;) count += task->d_name[0] != '.';
  closedir(tasks);
  return count;
}

/* Runs after the destructors of everything that was opened later than this program. */
__attribute__((destructor)) static void use_it_late(void) {
  if (library == NULL) return;
  transpose();
  puts("passed");
}

int main(int count, char** arguments) {
  if (count != 2) return fail("usage: library_ends_test libinfini.so");
  for (int i = 0; i < rows * cols; ++i) x[i] = (float)i;
  const int before = threads_of_process();
  for (int turn = 0; turn < 5; ++turn) {
    library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return fail(dlerror());
    transpose();
    if (threads_of_process() != before + 3) return fail("it has not made three threads");
    if (dlclose(library) != 0) return fail(dlerror());
    if (dlopen(arguments[1], RTLD_NOLOAD | RTLD_NOW) == NULL)
      return fail("its threads have no code");
    if (threads_of_process() != before + 3) return fail("threads pile up");
  }
  library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  transpose();
  return 0;
}
