// A libmpi of one process with MPICH's handles, or (FAKE_MPI=unknown) of an implementation that nobody knows. The world has
// two ranks; the other one does at every moment what this one does. A handle that is not MPICH's is an error.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int world = 0x44000000, made = static_cast<int>(0x84000000), done = 0x2c000000,
              pending = static_cast<int>(0x98000001);
constexpr int success = 0, bad_handle = 5;
bool is_initialized = false, is_finalized = false;
std::vector<char> message;
int received = 0;

bool is_comm(int comm) { return comm == world || comm == made; }
// MPICH's types say how long they are.
bool is_type(int type) { return (type & ~0xffff) == 0x4c000000; }
int bytes_of(int type) { return type >> 8 & 0xff; }
constexpr int f32 = 0x4c00040a, i64 = 0x4c000809, sum = 0x58000003, largest = 0x58000001;

template <class T>
void add(const void* send, void* recv, int count, bool doubles) {
  for (int i = 0; i < count; ++i)
    static_cast<T*>(recv)[i] = static_cast<const T*>(send)[i] * static_cast<T>(doubles ? 2 : 1);
}

}  // namespace

extern "C" {

int MPI_Get_library_version(char* text, int* length) {
  const char* const kind = std::getenv("FAKE_MPI");
  *length = std::snprintf(text, 256, "%s",
                          kind && std::strcmp(kind, "unknown") == 0
                              ? "Imaginary MPI 7.1\nmade up"
                              : "MPICH Version:      4.0.2\nMPICH Release date: never");
  return success;
}
int MPI_Initialized(int* flag) { return *flag = is_initialized, success; }
int MPI_Finalized(int* flag) { return *flag = is_finalized, success; }
int MPI_Init_thread(int*, char***, int required, int* provided) {
  is_initialized = true;
  *provided = required;
  return required == 3 ? success : bad_handle;
}
int MPI_Finalize() { return is_finalized = true, success; }
int MPI_Comm_size(int comm, int* size) { return *size = 2, is_comm(comm) ? success : bad_handle; }
int MPI_Comm_rank(int comm, int* rank) { return *rank = 0, is_comm(comm) ? success : bad_handle; }
int MPI_Comm_split(int comm, int, int, int* out) {
  return *out = made, comm == world ? success : bad_handle;
}
int MPI_Comm_free(int* comm) {
  const bool well = *comm == made;
  *comm = 0x04000000;
  return well ? success : bad_handle;
}
int MPI_Comm_set_errhandler(int comm, int handler) {
  return is_comm(comm) && handler == 0x54000001 ? success : bad_handle;
}
int MPI_Error_string(int, char* text, int* length) {
  return *length = std::snprintf(text, 256, "a handle that is not MPICH's"), success;
}
int MPI_Test(int* request, int* flag, void*) {
  const bool well = *request == pending;
  *request = done;
  *flag = 1;
  return well ? success : bad_handle;
}
int MPI_Get_count(const void*, int type, int* count) {
  return *count = received / bytes_of(type), is_type(type) ? success : bad_handle;
}
int MPI_Iallreduce(const void* send, void* recv, int count, int type, int op, int comm,
                   int* request) {
  if (!is_comm(comm) || (type != f32 && type != i64) || (op != sum && op != largest))
    return bad_handle;
  type == f32 ? add<float>(send, recv, count, op == sum)
              : add<int64_t>(send, recv, count, op == sum);
  return *request = pending, success;
}
int MPI_Ibcast(void*, int, int type, int, int comm, int* request) {
  return *request = pending, is_comm(comm) && is_type(type) ? success : bad_handle;
}
int MPI_Iallgatherv(const void* send, int count, int type, void* recv, const int* counts,
                    const int* places, int other, int comm, int* request) {
  if (!is_comm(comm) || type != other || !is_type(type)) return bad_handle;
  for (int r = 0; r < 2; ++r)
    if (counts[r] == count)
      std::memcpy(static_cast<char*>(recv) + places[r] * bytes_of(type), send,
                  static_cast<size_t>(count * bytes_of(type)));
  return *request = pending, success;
}
int MPI_Isend(const void* data, int count, int type, int, int, int comm, int* request) {
  const auto* from = static_cast<const char*>(data);
  message.assign(from, from + count * bytes_of(type));
  return *request = pending, is_comm(comm) && is_type(type) ? success : bad_handle;
}
int MPI_Irecv(void* data, int count, int type, int, int, int comm, int* request) {
  received = std::min(count * bytes_of(type), static_cast<int>(message.size()));
  std::memcpy(data, message.data(), static_cast<size_t>(received));
  return *request = pending, is_comm(comm) && is_type(type) ? success : bad_handle;
}
}
