/* A client of the library: goes to another folder, then asks for a device for the first time. */
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "infinirt.h"

int main(int count, char** values) {
  int devices = -1;
  if (count > 1 && chdir(values[1]) != 0) return 3;
  if (infinirtGetDeviceCount(INFINI_DEVICE_QY, &devices) != INFINI_STATUS_SUCCESS) return 4;
  printf("devices %d privileged %lu\n", devices, getauxval(AT_SECURE));
  return 0;
}
