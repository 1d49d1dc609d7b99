/* Products over a grid of MPI processes beside the same work without messages, in the same run: every rank multiplies its rows of A
 * by its columns of B, both whole, which is what its processors can do.
 *   mpicc -O2 product_mpi.c -linfini -o product_mpi && mpirun -n 4 ./product_mpi [n] [repeats] [panel] */
#include <infiniop.h>
#include <infiniproduct.h>
#include <infinireshard_mpi.h>
#include <stdio.h>
#include <string.h>

#include "mpi_timing.h"

static int rank, ranks;

static void check(infiniStatus_t status, const char* what) {
  if (status == INFINI_STATUS_SUCCESS) return;
  printf("rank %d: %s: %s\n", rank, what, infiniGetLastErrorString());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static float* numbers(size_t count, size_t seed) {
  float* made = malloc((count + 1) * sizeof *made);
  size_t i;
  for (i = 0; i < count; ++i) made[i] = (float)((i * 7 + seed) % 13) - 6;
  return made;
}

/* What this rank alone takes for an m x k by k x n product. */
typedef struct {
  infiniopGemmDescriptor_t gemm;
  void* workspace;
  size_t bytes;
  float *a, *b, *c;
} Local;

static void make_local(Local* local, size_t m, size_t n, size_t k) {
  const size_t shapes[3][2] = {{m, n}, {m, k}, {k, n}};
  infiniopTensorDescriptor_t layouts[3];
  infiniopHandle_t handle;
  int i;
  check(infiniopCreateHandle(&handle), "handle");
  for (i = 0; i < 3; ++i)
    check(infiniopCreateTensorDescriptor(&layouts[i], 2, shapes[i], NULL, INFINI_DTYPE_F32),
          "layout");
  check(infiniopCreateGemmDescriptor(handle, &local->gemm, layouts[0], layouts[1], layouts[2]),
        "gemm");
  check(infiniopGetGemmWorkspaceSize(local->gemm, &local->bytes), "workspace");
  local->workspace = aligned_alloc(64, (local->bytes / 64 + 1) * 64);
  local->c = numbers(m * n, 0), local->a = numbers(m * k, 1), local->b = numbers(k * n, 2);
}

int main(int argc, char** argv) {
  enum { most_repeats = 101 };
  const size_t n = argc > 1 ? (size_t)atol(argv[1]) : 2048;
  const int repeats = argc > 2 ? atoi(argv[2]) : 5;
  double times[2][most_repeats];
  infiniMpiTransport_t mpi;
  infiniProductPlan_t plan;
  Local local;
  size_t cs[2], as[2], bs[2];
  float *a, *b, *c;
  char text[300];
  int p = 1, level, i, way;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  infiniMpiTransportInit(&mpi, MPI_COMM_WORLD);
  for (i = 1; i * i <= ranks; ++i)
    if (ranks % i == 0) p = i;
  sprintf(text,
          "f32 %zux%zu (%dx%d: block,block) * %zux%zu (%dx%d: block,block) -> (%dx%d: block,block) "
          "panel=%s",
          n, n, p, ranks / p, n, n, p, ranks / p, p, ranks / p, argc > 3 ? argv[3] : "0");
  check(infiniProductCreatePlan(&plan, text), text);
  check(infiniProductGetShapes(plan, rank, cs, as, bs), "shapes");
  a = numbers(as[0] * as[1], 3), b = numbers(bs[0] * bs[1], 4), c = numbers(cs[0] * cs[1], 5);
  make_local(&local, cs[0], cs[1], n);
  for (i = -1; i < repeats; ++i)
    for (way = 0; way < 2; ++way) {
      const double start = barrier_time();
      double time;
      if (way == 0)
        check(infiniProduct(plan, c, NULL, a, NULL, b, NULL, 1, 0, &mpi.transport, NULL),
              "product");
      else
        check(infiniopGemm(local.gemm, local.workspace, local.bytes, local.c, local.a, local.b, 1,
                           0, NULL),
              "gemm");
      time = all_since(start);
      if (i >= 0) times[way][i] = time;
    }
  if (rank == 0) {
    const double over = median(times[0], repeats), alone = median(times[1], repeats);
    const double work = 2e-9 * (double)n * (double)n * (double)n;
    printf(
        "%zu^3 f32 on %dx%d ranks: %.1f ms, %.0f Gflop/s; without messages %.1f ms, %.0f Gflop/s: "
        "%.2f of it\n",
        n, p, ranks / p, over * 1e3, work / over, alone * 1e3, work / alone, alone / over);
  }
  infiniProductDestroyPlan(plan);
  infiniMpiTransportFree(&mpi);
  MPI_Finalize();
  return 0;
}
