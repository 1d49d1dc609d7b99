/* Times of what all MPI processes do together, for the benches in C: from the barrier on, of the slowest of them. */
#ifndef INFINI_BENCH_MPI_TIMING_H
#define INFINI_BENCH_MPI_TIMING_H

#include <mpi.h>
#include <stdlib.h>

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}
static double median(double* times, int n) {
  qsort(times, (size_t)n, sizeof *times, compare);
  return times[n / 2];
}
static double barrier_time(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime();
}
static double all_since(double start) {
  double mine = MPI_Wtime() - start, most;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

#endif
