/* Reshardings over MPI: every element is where it belongs, and a rank that does not come is told to the others.
 *   mpirun -n 4 reshard_mpi_test */
#include <infinireshard_mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int rank, ranks;

static int failed(const char* what) {
  printf("rank %d of %d: %s: %s\n", rank, ranks, what, infiniGetLastErrorString());
  return 1;
}

/* Rows by blocks of `rows` in turns become blocks of columns, transposed on the way. */
static int transpose(infiniMpiTransport_t* mpi, size_t m, size_t n, size_t rows, size_t piece) {
  char text[200];
  infiniReshardPlan_t plan;
  infiniReshardOptions_t options;
  size_t src_shape[2], dst_shape[2], i, j, wrong = 0;
  int32_t *src, *dst;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.piece_bytes = piece;
  sprintf(text, "i32 %zux%zu (%d: cyclic:%zu,replicate) -> perm=1,0 (%d: block,replicate)", m, n,
          ranks, rows, ranks);
  if (infiniReshardCreatePlan(&plan, text)) return failed(text);
  if (infiniReshardGetShapes(plan, rank, dst_shape, src_shape)) return failed("shapes");
  src = (int32_t*)malloc((src_shape[0] * src_shape[1] + 1) * sizeof *src);
  dst = (int32_t*)malloc((dst_shape[0] * dst_shape[1] + 1) * sizeof *dst);
  for (i = 0; i < src_shape[0]; ++i)
    for (j = 0; j < n; ++j) {
      const size_t row = (i / rows * (size_t)ranks + (size_t)rank) * rows + i % rows;
      src[i * n + j] = (int32_t)(row * n + j);
    }
  memset(dst, -1, dst_shape[0] * dst_shape[1] * sizeof *dst);
  if (infiniReshard(plan, dst, NULL, src, NULL, &mpi->transport, &options)) return failed(text);
  for (i = 0; i < dst_shape[0]; ++i)
    for (j = 0; j < m; ++j) {
      const size_t first = (size_t)rank * ((n + (size_t)ranks - 1) / (size_t)ranks);
      wrong += dst[i * m + j] != (int32_t)(j * n + first + i);
    }
  if (wrong) printf("rank %d: %s: %zu elements are wrong\n", rank, text, wrong);
  infiniReshardDestroyPlan(plan);
  free(src), free(dst);
  return wrong != 0;
}

/* The last rank stays away: the others say so, and nobody hangs. */
static int missing_rank(void) {
  infiniMpiTransport_t mpi; /* never freed: its messages are lost */
  infiniReshardPlan_t plan;
  infiniReshardOptions_t options;
  char text[100];
  int32_t src[64], dst[64 * 8];
  infiniStatus_t status = INFINI_STATUS_INTERNAL_ERROR;
  infiniMpiTransportInit(&mpi, MPI_COMM_WORLD);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.timeout = 0.2;
  sprintf(text, "i32 %d (%d: block) -> (%d: replicate)", 8 * ranks, ranks, ranks);
  if (infiniReshardCreatePlan(&plan, text)) return failed(text);
  memset(src, 0, sizeof src);
  if (rank != ranks - 1)
    status = infiniReshard(plan, dst, NULL, src, NULL, &mpi.transport, &options);
  infiniReshardDestroyPlan(plan);
  if (status == INFINI_STATUS_SUCCESS) printf("rank %d missed nobody\n", rank);
  return status == INFINI_STATUS_SUCCESS;
}

int main(int argc, char** argv) {
  infiniMpiTransport_t mpi;
  int bad = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  infiniMpiTransportInit(&mpi, MPI_COMM_WORLD);
  bad |= transpose(&mpi, 7, 5, 2, 0);
  bad |= transpose(&mpi, 240, 36, 4, 100);
  bad |= transpose(&mpi, 1000, 777, 33, 64 << 10);
  infiniMpiTransportFree(&mpi);
  if (ranks > 1 && ranks <= 8) bad |= missing_rank();
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks: %s\n", ranks, all ? "FAILED" : "all elements in their places");
  MPI_Finalize();
  return all;
}
