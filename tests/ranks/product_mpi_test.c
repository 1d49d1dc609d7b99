/* Products over MPI: every element of C is exact, and a rank that does not come is told to the others.
 *   mpirun -n 4 product_mpi_test */
#include <infiniproduct.h>
#include <infinireshard_mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, ranks;

static int failed(const char* what) {
  printf("rank %d of %d: %s: %s\n", rank, ranks, what, infiniGetLastErrorString());
  return 1;
}

/* Small integers, so that every sum is exact. */
static float of_a(size_t i, size_t j) { return (float)((i * 5 + j * 3) % 7) - 3; }
static float of_b(size_t i, size_t j) { return (float)((i * 2 + j * 11) % 5) - 2; }

/* Where part `part` of n, cut into blocks, begins. */
static size_t begin(size_t n, size_t parts, size_t part) {
  const size_t block = (n + parts - 1) / parts;
  return part * block < n ? part * block : n;
}

/* C = A·B over a p x q grid; B lies transposed in memory where `columns` is set. */
static int multiply(infiniMpiTransport_t* mpi, size_t p, size_t m, size_t n, size_t k, size_t panel,
                    int columns) {
  const size_t q = (size_t)ranks / p, row = (size_t)rank / q, column = (size_t)rank % q;
  char text[300];
  infiniProductPlan_t plan;
  size_t cs[2], as[2], bs[2], i, j, l, wrong = 0;
  float *a, *b, *c;
  ptrdiff_t b_strides[2];
  sprintf(text,
          "f32 %zux%zu (%zux%zu: block,block) * %zux%zu (%zux%zu: block,block) -> (%zux%zu: "
          "block,block) panel=%zu",
          m, k, p, q, k, n, p, q, p, q, panel);
  if (infiniProductCreatePlan(&plan, text)) return failed(text);
  if (infiniProductGetShapes(plan, rank, cs, as, bs)) return failed("shapes");
  a = (float*)malloc((as[0] * as[1] + 1) * sizeof *a);
  b = (float*)malloc((bs[0] * bs[1] + 1) * sizeof *b);
  c = (float*)malloc((cs[0] * cs[1] + 1) * sizeof *c);
  b_strides[0] = columns ? 1 : (ptrdiff_t)bs[1], b_strides[1] = columns ? (ptrdiff_t)bs[0] : 1;
  for (i = 0; i < as[0]; ++i)
    for (j = 0; j < as[1]; ++j)
      a[i * as[1] + j] = of_a(begin(m, p, row) + i, begin(k, q, column) + j);
  for (i = 0; i < bs[0]; ++i)
    for (j = 0; j < bs[1]; ++j)
      b[(ptrdiff_t)i * b_strides[0] + (ptrdiff_t)j * b_strides[1]] =
          of_b(begin(k, p, row) + i, begin(n, q, column) + j);
  for (i = 0; i < cs[0] * cs[1]; ++i) c[i] = 1;
  if (infiniProduct(plan, c, NULL, a, NULL, b, b_strides, 2, 3, &mpi->transport, NULL))
    return failed(text);
  for (i = 0; i < cs[0]; ++i)
    for (j = 0; j < cs[1]; ++j) {
      float sum = 0;
      for (l = 0; l < k; ++l)
        sum += of_a(begin(m, p, row) + i, l) * of_b(l, begin(n, q, column) + j);
      wrong += c[i * cs[1] + j] != 2 * sum + 3;
    }
  if (wrong) printf("rank %d: %s: %zu elements are wrong\n", rank, text, wrong);
  infiniProductDestroyPlan(plan);
  free(a), free(b), free(c);
  return wrong != 0;
}

/* The last rank stays away: the others say so, and nobody hangs. */
static int missing_rank(void) {
  infiniMpiTransport_t mpi; /* never freed: its messages are lost */
  infiniProductPlan_t plan;
  infiniReshardOptions_t options;
  char text[200];
  float a[64], b[64], c[64];
  infiniStatus_t status = INFINI_STATUS_INTERNAL_ERROR;
  infiniMpiTransportInit(&mpi, MPI_COMM_WORLD);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.timeout = 0.2;
  sprintf(text,
          "f32 %dx8 (%d: block,replicate) * 8x8 (%d: block,replicate) -> (%d: block,replicate)",
          ranks, ranks, ranks, ranks);
  if (infiniProductCreatePlan(&plan, text)) return failed(text);
  memset(a, 0, sizeof a), memset(b, 0, sizeof b);
  if (rank != ranks - 1)
    status = infiniProduct(plan, c, NULL, a, NULL, b, NULL, 1, 0, &mpi.transport, &options);
  infiniProductDestroyPlan(plan);
  if (status == INFINI_STATUS_SUCCESS) printf("rank %d missed nobody\n", rank);
  return status == INFINI_STATUS_SUCCESS;
}

int main(int argc, char** argv) {
  infiniMpiTransport_t mpi;
  size_t p;
  int bad = 0, all = 0, level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  infiniMpiTransportInit(&mpi, MPI_COMM_WORLD);
  for (p = 1; p <= (size_t)ranks; ++p) {
    if ((size_t)ranks % p) continue;
    bad |= multiply(&mpi, p, 37, 29, 61, 8, 0);
    bad |= multiply(&mpi, p, 130, 70, 200, 0, 1);
    mpi.transport.any_thread = 0; /* as after MPI_Init */
    bad |= multiply(&mpi, p, 300, 200, 100, 16, 0);
    mpi.transport.any_thread = level >= MPI_THREAD_SERIALIZED;
  }
  infiniMpiTransportFree(&mpi);
  if (ranks > 1 && ranks <= 8) bad |= missing_rank();
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks: %s\n", ranks, all ? "FAILED" : "all sums exact");
  MPI_Finalize();
  return all;
}
