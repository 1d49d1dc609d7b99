/* Reshardings over MPI beside what MPI itself offers, in the same run: MPI_Alltoallw with subarray types (which mpi4py-fft's
 * pencils are), and MPI_Alltoallv of the same bytes, already packed; ours through shared memory and, as between machines, by
 * messages.
 *   mpicc -O2 reshard_mpi.c -linfini -o reshard_mpi && mpirun -n 4 ./reshard_mpi [repeats] [part of a name] */
#include <infinireshard_mpi.h>
#include <stdio.h>
#include <string.h>

#include "mpi_timing.h"

static int rank, ranks;

typedef struct {
  const char* name;
  /* f32; rows by blocks become columns by blocks, within groups of ranks that share the outer dim or the depth between them. */
  int outer, rows, columns, depth;
  enum { one_group, outer_groups, depth_groups } groups;
  int back; /* columns become rows */
} Case;

/* What this rank exchanges with, and its part of the tensor while the rows are split and while the columns are. */
typedef struct {
  MPI_Comm comm;
  int ranks, of_rows[4], of_columns[4];
  char text[240];
} Group;

static int count_groups(const Case* one) {
  int groups = 1, i;
  for (i = 1; one->groups != one_group && i * i <= ranks; ++i)
    if (ranks % i == 0) groups = i;
  return groups;
}

static Group make_group(const Case* one) {
  Group group;
  const int groups = count_groups(one);
  const char* outer = one->groups == outer_groups ? "block@0" : "replicate";
  const char* depth = one->groups == depth_groups ? "block@0" : "replicate";
  const char* split[2] = {"block@1,replicate", "replicate,block@1"};
  group.ranks = ranks / groups;
  MPI_Comm_split(MPI_COMM_WORLD, rank / group.ranks, rank, &group.comm);
  group.of_rows[0] = group.of_columns[0] = one->outer / (*outer == 'b' ? groups : 1);
  group.of_rows[3] = group.of_columns[3] = one->depth / (*depth == 'b' ? groups : 1);
  group.of_rows[1] = one->rows / group.ranks, group.of_rows[2] = one->columns;
  group.of_columns[1] = one->rows, group.of_columns[2] = one->columns / group.ranks;
  sprintf(group.text, "f32 %dx%dx%dx%d (%dx%d: %s,%s,%s) -> (%dx%d: %s,%s,%s)", one->outer,
          one->rows, one->columns, one->depth, groups, group.ranks, outer, split[one->back], depth,
          groups, group.ranks, outer, split[!one->back], depth);
  return group;
}

static void subarrays(const Group* group, int back, MPI_Datatype* send, MPI_Datatype* receive) {
  int peer, i, pieces[4];
  for (i = 0; i < 4; ++i)
    pieces[i] = group->of_rows[i] < group->of_columns[i] ? group->of_rows[i] : group->of_columns[i];
  for (peer = 0; peer < group->ranks; ++peer) {
    const int from[4] = {0, 0, peer * pieces[2], 0}, to[4] = {0, peer * pieces[1], 0, 0};
    MPI_Type_create_subarray(4, group->of_rows, pieces, from, MPI_ORDER_C, MPI_FLOAT,
                             &(back ? receive : send)[peer]);
    MPI_Type_create_subarray(4, group->of_columns, pieces, to, MPI_ORDER_C, MPI_FLOAT,
                             &(back ? send : receive)[peer]);
    MPI_Type_commit(&send[peer]);
    MPI_Type_commit(&receive[peer]);
  }
}

enum { ways = 4, most_ranks = 64, most_repeats = 101 };

static void print(const Case* one, size_t elements, double times[ways][most_repeats], int repeats) {
  const double ours = median(times[0], repeats), w = median(times[1], repeats),
               v = median(times[2], repeats), m = median(times[3], repeats);
  printf(
      "%-28s %8.1f MB a rank  infini %7.2f ms  Alltoallw %7.2f (%.2fx)  Alltoallv %7.2f (%.2f of "
      "it)  by messages %7.2f (%.2f)\n",
      one->name, (double)elements * 4e-6, ours * 1e3, w * 1e3, w / ours, v * 1e3, v / ours, m * 1e3,
      v / m);
  fflush(stdout);
}

static void measure(const Case* one, infiniMpiTransport_t* mpi, int repeats) {
  MPI_Datatype send[most_ranks], receive[most_ranks];
  int ones[most_ranks], zeros[most_ranks] = {0}, counts[most_ranks], places[most_ranks], i, way;
  double times[ways][most_repeats];
  infiniTransport_t messages = mpi->transport;
  infiniReshardPlan_t plan;
  Group group = make_group(one);
  const size_t elements = (size_t)group.of_rows[0] * (size_t)group.of_rows[1] *
                          (size_t)group.of_rows[2] * (size_t)group.of_rows[3];
  float *src = malloc(elements * 4), *dst = malloc(elements * 4), *again = malloc(elements * 4);
  messages.shared = NULL;
  if (infiniReshardCreatePlan(&plan, group.text)) {
    printf("%s\n", infiniGetLastErrorString());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  subarrays(&group, one->back, send, receive);
  for (i = 0; i < group.ranks; ++i) {
    ones[i] = 1;
    counts[i] = (int)(elements / (size_t)group.ranks);
    places[i] = i * counts[i];
  }
  for (i = 0; (size_t)i < elements; ++i) src[i] = (float)(i % 8191 + rank), dst[i] = again[i] = 0;
  for (i = -2; i < repeats; ++i) {
    for (way = 0; way < ways; ++way) {
      const double start = barrier_time();
      double time;
      if (way == 0) infiniReshard(plan, dst, NULL, src, NULL, &mpi->transport, NULL);
      if (way == 1) MPI_Alltoallw(src, ones, zeros, send, again, ones, zeros, receive, group.comm);
      if (way == 2)
        MPI_Alltoallv(src, counts, places, MPI_FLOAT, again, counts, places, MPI_FLOAT, group.comm);
      if (way == 3) infiniReshard(plan, dst, NULL, src, NULL, &messages, NULL);
      time = all_since(start);
      if (way == 1 && memcmp(dst, again, elements * 4)) printf("rank %d: results differ\n", rank);
      if (i >= 0) times[way][i] = time;
    }
  }
  if (rank == 0) print(one, elements, times, repeats);
  for (i = 0; i < group.ranks; ++i) MPI_Type_free(&send[i]), MPI_Type_free(&receive[i]);
  MPI_Comm_free(&group.comm);
  infiniReshardDestroyPlan(plan);
  free(src), free(dst), free(again);
}

int main(int argc, char** argv) {
  const Case cases[] = {{"short runs", 1, 1 << 20, 16, 1, one_group, 0},
                        {"short runs, back", 1, 1 << 20, 16, 1, one_group, 1},
                        {"runs of 32 bytes", 1, 1 << 20, 128, 1, one_group, 0},
                        {"runs of 64 bytes", 1, 1 << 19, 256, 1, one_group, 0},
                        {"runs of 64 bytes, back", 1, 1 << 19, 256, 1, one_group, 1},
                        {"runs of 2 KB", 1, 8192, 8192, 1, one_group, 0},
                        {"slab to pencil", 1, 512, 256, 256, one_group, 0},
                        {"small, runs of 64 bytes", 1, 1 << 16, 256, 1, one_group, 0},
                        {"runs of 256 bytes", 1, 1 << 16, 256, 1, one_group, 0},
                        {"runs of some KB", 1, 4096, 4096, 1, one_group, 0},
                        {"slab to pencil, 256^3", 1, 256, 256, 256, one_group, 0},
                        {"pencils 512^3 f64, z to y", 512, 512, 512, 2, outer_groups, 0},
                        {"pencils 512^3 f64, y to x", 1, 512, 512, 1024, depth_groups, 1},
                        {"pencils 512^3 f64, y to z", 512, 512, 512, 2, outer_groups, 1},
                        {"pencils 256^3 c128, z to y", 256, 256, 256, 4, outer_groups, 0}};
  infiniMpiTransport_t mpi;
  size_t i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  infiniMpiTransportInit(&mpi, MPI_COMM_WORLD);
  for (i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (argc < 3 || strstr(cases[i].name, argv[2]))
      measure(&cases[i], &mpi, argc > 1 ? atoi(argv[1]) : 11);
  infiniMpiTransportFree(&mpi);
  MPI_Finalize();
  return 0;
}
