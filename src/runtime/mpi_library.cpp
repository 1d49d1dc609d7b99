// Finding an MPI library, telling its ABI, and calling it with its own handles.
#include "runtime/mpi_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <vector>

namespace infini {
namespace {

enum class Abi { open_mpi, mpich, standard, by_name };

// What each ABI has for a constant; Open MPI's are addresses of symbols, but for plain numbers.
struct Constant {
  MpiConstant what;
  const char* open_mpi;
  uintptr_t mpich, standard;
};
constexpr uintptr_t open_mpi_thread_multiple = 3;
constexpr Constant constants[] = {
    {MpiConstant::world, "ompi_mpi_comm_world", 0x44000000, 0x101},
    {MpiConstant::errors_return, "ompi_mpi_errors_return", 0x54000001, 0x143},
    {MpiConstant::thread_multiple, nullptr, 3, 4096},
    {MpiConstant::byte, "ompi_mpi_byte", 0x4c00010d, 0x247},
    {MpiConstant::long_long, "ompi_mpi_long_long_int", 0x4c000809, 0x20b},
    {MpiConstant::int8, "ompi_mpi_int8_t", 0x4c000137, 0x240},
    {MpiConstant::int16, "ompi_mpi_int16_t", 0x4c000238, 0x248},
    {MpiConstant::int32, "ompi_mpi_int32_t", 0x4c000439, 0x250},
    {MpiConstant::int64, "ompi_mpi_int64_t", 0x4c00083a, 0x258},
    {MpiConstant::uint8, "ompi_mpi_uint8_t", 0x4c00013b, 0x241},
    {MpiConstant::uint16, "ompi_mpi_uint16_t", 0x4c00023c, 0x249},
    {MpiConstant::uint32, "ompi_mpi_uint32_t", 0x4c00043d, 0x251},
    {MpiConstant::uint64, "ompi_mpi_uint64_t", 0x4c00083e, 0x259},
    {MpiConstant::f32, "ompi_mpi_float", 0x4c00040a, 0x210},
    {MpiConstant::f64, "ompi_mpi_double", 0x4c00080b, 0x214},
    {MpiConstant::sum, "ompi_mpi_op_sum", 0x58000003, 0x21},
    {MpiConstant::product, "ompi_mpi_op_prod", 0x58000004, 0x24},
    {MpiConstant::largest, "ompi_mpi_op_max", 0x58000001, 0x23},
    {MpiConstant::least, "ompi_mpi_op_min", 0x58000002, 0x22}};

// An argument of ours as MPI takes it: where ours has numbers, handles of the library's own type.
template <class Handle>
Handle handle_of(MpiHandle ours) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(ours.number);
  else
    return static_cast<Handle>(static_cast<uint32_t>(ours.number));
}
template <class Handle>
MpiHandle number_of(Handle theirs) {
  if constexpr (std::is_pointer_v<Handle>)
    return {reinterpret_cast<uintptr_t>(theirs)};
  else
    return {static_cast<uint32_t>(theirs)};
}
template <class Handle, class T>
struct Passed {
  using Type = T;
  T value;
  T get() const { return value; }
};
template <class Handle>
struct Passed<Handle, MpiHandle> {
  using Type = Handle;
  MpiHandle value;
  Handle get() const { return handle_of<Handle>(value); }
};
template <class Handle>
struct Passed<Handle, MpiHandle*> {
  using Type = Handle*;
  explicit Passed(MpiHandle* place) : place_(place), own_(handle_of<Handle>(*place)) {}
  ~Passed() { *place_ = number_of(own_); }  // at the end of the call
  Handle* get() { return &own_; }

 private:
  MpiHandle* place_;
  Handle own_;
};

template <class Handle>
class Opener {
 public:
  Opener(void* library, MpiLibrary& mpi) : library_(library), mpi_(mpi) {}

  template <class... Arguments>
  void take(std::function<int(Arguments...)>& call, const char* name) {
    const auto function = reinterpret_cast<int (*)(typename Passed<Handle, Arguments>::Type...)>(
        dlsym(library_, name));
    if (function == nullptr && mpi_.why_not.empty()) mpi_.why_not = mpi_.name + " has no " + name;
    call = [function](Arguments... arguments) {
      return function(Passed<Handle, Arguments>{arguments}.get()...);
    };
  }
  void take_all() {
    take(mpi_.initialized, "MPI_Initialized");
    take(mpi_.init_thread, "MPI_Init_thread");
    take(mpi_.finalize, "MPI_Finalize");
    take(mpi_.finalized, "MPI_Finalized");
    take(mpi_.comm_size, "MPI_Comm_size");
    take(mpi_.comm_rank, "MPI_Comm_rank");
    take(mpi_.comm_split, "MPI_Comm_split");
    take(mpi_.comm_free, "MPI_Comm_free");
    take(mpi_.comm_set_errhandler, "MPI_Comm_set_errhandler");
    take(mpi_.error_string, "MPI_Error_string");
    take(mpi_.test, "MPI_Test");
    take(mpi_.get_count, "MPI_Get_count");
    take(mpi_.iallreduce, "MPI_Iallreduce");
    take(mpi_.ibcast, "MPI_Ibcast");
    take(mpi_.iallgatherv, "MPI_Iallgatherv");
    take(mpi_.isend, "MPI_Isend");
    take(mpi_.irecv, "MPI_Irecv");
  }

 private:
  void* library_;
  MpiLibrary& mpi_;
};

MpiHandle constant_of(MpiConstant what, Abi abi, void* library) {
  for (const Constant& constant : constants)
    if (constant.what == what) {
      if (abi == Abi::mpich) return {constant.mpich};
      if (abi == Abi::standard) return {constant.standard};
      if (constant.open_mpi == nullptr) return {open_mpi_thread_multiple};
      return {reinterpret_cast<uintptr_t>(dlsym(library, constant.open_mpi))};
    }
  return {};
}

// The first line of what it says about itself; MPICH's goes on for pages.
std::string name_of(void* library) {
  constexpr size_t longest = 8192;  // MPI_MAX_LIBRARY_VERSION_STRING of every ABI, or more
  const auto version =
      reinterpret_cast<int (*)(char*, int*)>(dlsym(library, "MPI_Get_library_version"));
  std::vector<char> text(longest + 1);
  int length = 0;
  if (version == nullptr || version(text.data(), &length) != 0) return "a library without a name";
  std::string name(text.data());
  name.resize(std::min(name.find_first_of("\n,"), name.size()));
  std::replace(name.begin(), name.end(), '\t', ' ');
  const auto is_gap = [](char a, char b) { return a == ' ' && b == ' '; };
  name.erase(std::unique(name.begin(), name.end(), is_gap), name.end());
  return name;
}

// Of what `library` is; by_name: of none that is known.
Abi abi_of(Abi expected, void* library, const std::string& name) {
  if (dlsym(library, "ompi_mpi_comm_world") != nullptr) return Abi::open_mpi;
  if (expected == Abi::standard) return expected;
  for (const char* const kin : {"MPICH", "Intel(R) MPI", "MVAPICH"})
    if (name.find(kin) != std::string::npos) return Abi::mpich;
  return Abi::by_name;
}

struct File {
  const char* name;
  Abi abi;
};
constexpr File files[] = {{"libmpi.so.40", Abi::open_mpi},    {"libmpi_abi.so.1", Abi::standard},
                          {"libmpi_abi.so.0", Abi::standard}, {"libmpi.so.12", Abi::mpich},
                          {"libmpich.so.12", Abi::mpich},     {"libmpi.so", Abi::by_name}};

// What a launcher tells its processes by, and whose it is.
struct Launcher {
  const char* variable;
  Abi abi;
};
constexpr Launcher launchers[] = {{"OMPI_COMM_WORLD_SIZE", Abi::open_mpi},
                                  {"PMIX_RANK", Abi::open_mpi},
                                  {"PMI_RANK", Abi::mpich}};

Abi launched_by() {
  for (const Launcher& launcher : launchers)
    if (std::getenv(launcher.variable) != nullptr) return launcher.abi;
  return Abi::by_name;
}

struct Found {
  void* library = nullptr;
  Abi abi = Abi::by_name;
};

Found find_library() {
  // Two in one process would each wait for the other's messages. Plugins look for their library's symbols: RTLD_GLOBAL.
  for (const File& file : files)
    if (void* const there = dlopen(file.name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD))
      return {there, file.abi};
  const Abi launcher = launched_by();
  for (const bool others : {false, true})
    for (const File& file : files)
      if ((file.abi != launcher && file.abi != Abi::standard) == others)
        if (void* const opened = dlopen(file.name, RTLD_NOW | RTLD_GLOBAL))
          return {opened, file.abi};
  return {};
}

}  // namespace

bool is_launched_by_mpi() { return launched_by() != Abi::by_name; }

MpiLibrary open_mpi_library() {
  MpiLibrary mpi;
  const Found found = find_library();
  if (found.library == nullptr) {
    mpi.why_not = "neither Open MPI nor MPICH is here (libmpi.so.40, libmpi_abi.so, libmpi.so.12)";
    return mpi;
  }
  mpi.name = name_of(found.library);
  const Abi abi = abi_of(found.abi, found.library, mpi.name);
  if (abi == Abi::by_name) {
    mpi.why_not = "libmpi is " + mpi.name +
                  ", whose handles are not known here; Open MPI, MPICH (and what shares its ABI) "
                  "and the ABI of MPI 5 are";
    return mpi;
  }
  mpi.constant = [abi, library = found.library](MpiConstant what) {
    return constant_of(what, abi, library);
  };
  if (abi == Abi::mpich)
    Opener<int>(found.library, mpi).take_all();
  else
    Opener<void*>(found.library, mpi).take_all();
  return mpi;
}

}  // namespace infini
