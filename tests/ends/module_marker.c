/* A stand-in for a backend module that tells, when it is loaded, which file it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

__attribute__((constructor)) static void tell(void) {
  Dl_info info;
  if (dladdr((const void*)&tell, &info)) fprintf(stderr, "LOADED %s\n", info.dli_fname);
}
