/* What `infini reshard --simulate` asks for, measured between the processes of one run and printed as it takes it: the latency of a
 * small message, the bytes a second of each process while all exchange long ones, and those by which each of them copies.
 *   mpicc -O2 network_mpi.c -o network_mpi && mpirun -n 4 ./network_mpi */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_timing.h"

enum { repeats = 9, small_messages = 1000 };

/* Every process sends `bytes` to the next and takes as many from the one before. */
static double exchange(char* to, char* from, int bytes, int times, int rank, int ranks) {
  double seconds[repeats];
  int i, j;
  for (i = -1; i < repeats; ++i) {
    const double start = barrier_time();
    double time;
    for (j = 0; j < times; ++j)
      MPI_Sendrecv(from, bytes, MPI_BYTE, (rank + 1) % ranks, 0, to, bytes, MPI_BYTE,
                   (rank - 1 + ranks) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    time = all_since(start);
    if (i >= 0) seconds[i] = time / times;
  }
  return median(seconds, repeats);
}

static double copy(char* to, const char* from, size_t bytes) {
  double seconds[repeats];
  int i;
  for (i = -1; i < repeats; ++i) {
    const double start = barrier_time();
    double time;
    memcpy(to, from, bytes);
    time = all_since(start);
    if (i >= 0) seconds[i] = time;
  }
  return median(seconds, repeats);
}

int main(int argc, char** argv) {
  const int bytes = 1 << 25;
  char *from = malloc((size_t)bytes), *to = malloc((size_t)bytes);
  double latency, whole, copied;
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memset(from, 1, (size_t)bytes), memset(to, 2, (size_t)bytes);
  latency = exchange(to, from, 8, small_messages, rank, ranks);
  whole = exchange(to, from, bytes, 1, rank, ranks);
  copied = copy(to, from, (size_t)bytes);
  if (rank == 0)
    printf("latency=%.2fus bandwidth=%.2fGB/s memory=%.2fGB/s\n", latency * 1e6,
           bytes / whole * 1e-9, bytes / copied * 1e-9);
  free(from), free(to);
  MPI_Finalize();
  return 0;
}
