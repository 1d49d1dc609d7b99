/* Reshardings over MPI beside what MPI itself offers, in the same run: MPI_Alltoallw with subarray types, and MPI_Alltoallv of
 * the same bytes, already packed; ours through shared memory and, as between machines, by messages.
 *   mpicc -O2 reshard_mpi.c -linfini -o reshard_mpi && mpirun -n 4 ./reshard_mpi [repeats] */
#include <infinireshard_mpi.h>
#include <stdio.h>
#include <string.h>

#include "mpi_timing.h"

static int rank, ranks;

typedef struct {
  const char* name;
  int rows, columns, depth; /* f32; rows by blocks become columns by blocks */
} Case;

static void subarrays(const Case* one, MPI_Datatype* send, MPI_Datatype* receive) {
  const int sizes[3] = {one->rows / ranks, one->columns, one->depth};
  const int pieces[3] = {one->rows / ranks, one->columns / ranks, one->depth};
  const int wide[3] = {one->rows, one->columns / ranks, one->depth};
  int peer;
  for (peer = 0; peer < ranks; ++peer) {
    const int from[3] = {0, peer * pieces[1], 0}, to[3] = {peer * pieces[0], 0, 0};
    MPI_Type_create_subarray(3, sizes, pieces, from, MPI_ORDER_C, MPI_FLOAT, &send[peer]);
    MPI_Type_create_subarray(3, wide, pieces, to, MPI_ORDER_C, MPI_FLOAT, &receive[peer]);
    MPI_Type_commit(&send[peer]);
    MPI_Type_commit(&receive[peer]);
  }
}

static void measure(const Case* one, infiniMpiTransport_t* mpi, int repeats) {
  enum { most_ranks = 64, most_repeats = 101 };
  MPI_Datatype send[most_ranks], receive[most_ranks];
  int ones[most_ranks], zeros[most_ranks] = {0}, counts[most_ranks], places[most_ranks], i, way;
  double times[4][most_repeats];
  infiniTransport_t messages = mpi->transport;
  char text[160];
  infiniReshardPlan_t plan;
  const size_t elements =
      (size_t)one->rows / (size_t)ranks * (size_t)one->columns * (size_t)one->depth;
  float *src = malloc(elements * 4), *dst = malloc(elements * 4), *again = malloc(elements * 4);
  messages.shared = NULL;
  sprintf(text, "f32 %dx%dx%d (%d: block,replicate,replicate) -> (%d: replicate,block,replicate)",
          one->rows, one->columns, one->depth, ranks, ranks);
  if (infiniReshardCreatePlan(&plan, text)) {
    printf("%s\n", infiniGetLastErrorString());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  subarrays(one, send, receive);
  for (i = 0; i < ranks; ++i) {
    ones[i] = 1;
    counts[i] = (int)(elements / (size_t)ranks);
    places[i] = i * counts[i];
  }
  for (i = 0; (size_t)i < elements; ++i) src[i] = (float)(i % 8191 + rank), dst[i] = again[i] = 0;
  for (i = -2; i < repeats; ++i) {
    for (way = 0; way < 4; ++way) {
      const double start = barrier_time();
      double time;
      if (way == 0) infiniReshard(plan, dst, NULL, src, NULL, &mpi->transport, NULL);
      if (way == 1)
        MPI_Alltoallw(src, ones, zeros, send, again, ones, zeros, receive, MPI_COMM_WORLD);
      if (way == 1 && memcmp(dst, again, elements * 4)) printf("rank %d: results differ\n", rank);
      if (way == 2)
        MPI_Alltoallv(src, counts, places, MPI_FLOAT, again, counts, places, MPI_FLOAT,
                      MPI_COMM_WORLD);
      if (way == 3) infiniReshard(plan, dst, NULL, src, NULL, &messages, NULL);
      time = all_since(start);
      if (i >= 0) times[way][i] = time;
    }
  }
  if (rank == 0) {
    const double ours = median(times[0], repeats), w = median(times[1], repeats),
                 v = median(times[2], repeats), m = median(times[3], repeats);
    printf(
        "%-28s %8.1f MB a rank  infini %7.2f ms  Alltoallw %7.2f (%.2fx)  Alltoallv %7.2f (%.2f of "
        "it)  by messages %7.2f (%.2f)\n",
        one->name, (double)elements * 4e-6, ours * 1e3, w * 1e3, w / ours, v * 1e3, v / ours,
        m * 1e3, v / m);
  }
  for (i = 0; i < ranks; ++i) MPI_Type_free(&send[i]), MPI_Type_free(&receive[i]);
  infiniReshardDestroyPlan(plan);
  free(src), free(dst), free(again);
}

int main(int argc, char** argv) {
  const Case cases[] = {
      {"short runs", 1 << 20, 16, 1},          {"runs of 32 bytes", 1 << 20, 128, 1},
      {"runs of 64 bytes", 1 << 19, 256, 1},   {"runs of 2 KB", 8192, 8192, 1},
      {"slab to pencil", 512, 256, 256},       {"small, runs of 64 bytes", 1 << 16, 256, 1},
      {"runs of 256 bytes", 1 << 16, 256, 1},  {"runs of some KB", 4096, 4096, 1},
      {"slab to pencil, 256^3", 256, 256, 256}};
  infiniMpiTransport_t mpi;
  size_t i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  infiniMpiTransportInit(&mpi, MPI_COMM_WORLD);
  for (i = 0; i < sizeof cases / sizeof *cases; ++i)
    measure(&cases[i], &mpi, argc > 1 ? atoi(argv[1]) : 11);
  infiniMpiTransportFree(&mpi);
  MPI_Finalize();
  return 0;
}
