/* Faults of real MPI processes, one a run: every rank that is still there gets an error in time, and none hangs.
 *   mpirun -n 3 reshard_faults_mpi_test dead|late|short|count|plan [messages]
 * Each waits until all must have been told: mpirun ends the others with the first that leaves.
 * dead: the last rank ends in the middle of a run, or before it where memory is shared; late: it comes after the others have
 * given up; short: it sends half of a message; count: its tensor has other extents; plan: it runs another plan. "messages":
 * nothing goes through shared memory. */
#include <infinireshard_mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static int rank, ranks, (*post_send)(void*, int, int, const void*, size_t, void**);
static const char* fault;
static int sends;

static int faulty(void) { return rank == ranks - 1; }
static int is(const char* what) { return strcmp(fault, what) == 0; }

static int send_badly(void* context, int peer, int tag, const void* data, size_t bytes,
                      void** request) {
  if (faulty() && ++sends == 2) {
    if (is("dead")) _exit(0);
    if (is("short")) bytes /= 2;
  }
  return post_send(context, peer, tag, data, bytes, request);
}

int main(int argc, char** argv) {
  infiniMpiTransport_t mpi; /* never freed: its messages are lost */
  infiniReshardOptions_t options;
  infiniReshardPlan_t plan;
  infiniStatus_t status;
  double start, seconds;
  const double timeout = 0.3;
  char text[160];
  int32_t* memory = (int32_t*)calloc(1 << 20, sizeof *memory);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  fault = argc > 1 ? argv[1] : "plan";
  infiniMpiTransportInit(&mpi, MPI_COMM_WORLD);
  if (argc > 2) mpi.transport.shared = NULL;
  post_send = mpi.transport.post_send;
  mpi.transport.post_send = send_badly;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.timeout = timeout;
  sprintf(text, "i32 600x%d (%d: block,replicate) -> (%d: replicate,%s)",
          is("count") && faulty() ? 601 : 600, ranks, ranks,
          is("plan") && faulty() ? "cyclic:1" : "block");
  if (infiniReshardCreatePlan(&plan, text)) return 2;
  if (faulty() && is("late")) usleep((useconds_t)(4 * timeout * 1e6));
  start = MPI_Wtime();
  /* In shared memory nothing is posted before the end: the rank dies there instead. */
  if (faulty() && is("dead") && mpi.transport.shared != NULL) _exit(0);
  status = infiniReshard(plan, memory + (1 << 19), NULL, memory, NULL, &mpi.transport, &options);
  seconds = MPI_Wtime() - start;
  printf("rank %d %s after %.2f s: %s\n", rank, status ? "was told" : "noticed nothing", seconds,
         status ? infiniGetLastErrorString() : "");
  fflush(stdout);
  if (seconds > 3 * timeout + 10) printf("rank %d waited too long\n", rank);
  fflush(stdout);
  usleep((useconds_t)(7 * timeout * 1e6));
  _exit(status == INFINI_STATUS_SUCCESS); /* MPI_Finalize would wait for who is gone */
}
