// Jobs on whole files: what every tensor of the result is made of.
#include "file/jobs.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <unordered_map>

#include "base/dtype.h"
#include "base/error.h"
#include "file/output.h"
#include "runtime/registry.h"

namespace infini::file {
namespace {

using Parts = std::vector<std::shared_ptr<const Descriptor>>;

// The files that a job makes, all with the same tensors, and how these are filled.
struct Job {
  Parts inputs;
  std::vector<std::string> paths;
  std::vector<FileTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
  struct Fill {
    size_t tensor;
    Transfer transfer;  // dst_offset counts from the tensor's beginning
  };
  std::vector<Fill> fills;
};

std::string header_of(const std::string& path, Job& job) {
  switch (kind_of(path)) {
    case FileKind::safetensors: return safetensors_header(job.tensors, job.metadata);
    case FileKind::npy: {
      require(job.tensors.size() == 1, INFINI_STATUS_BAD_PARAM, path,
              ": a .npy file holds 1 tensor, "
              "not ",
              job.tensors.size(), "; choose one by --tensor, or write .safetensors");
      std::string header = npy_header(job.tensors[0]);
      job.tensors[0].offset = static_cast<int64_t>(header.size());
      return header;
    }
    default: fail(INFINI_STATUS_BAD_PARAM, path, ": can only be read; write .npy or .safetensors");
  }
}

int64_t bytes_of(const Transfer& t) {
  int64_t bytes = dtype_bytes(t.dst_dtype);
  for (const TransferDim& d : t.dims) bytes *= d.extent;
  return bytes;
}

void run_job(Job job, const JobOptions& options) {
  Device& device = open_device(options.device, options.device_id);
  Outputs outputs;
  std::vector<const Descriptor*> dst, src;
  for (const auto& part : job.inputs) src.push_back(part.get());
  const std::string header = header_of(job.paths[0], job);
  auto size = static_cast<int64_t>(header.size());
  for (const FileTensor& tensor : job.tensors) size += tensor.bytes();
  for (const std::string& path : job.paths) {
    dst.push_back(&outputs.add(path, size, options.replace, job.inputs));
    dst.back()->write(header.data(), static_cast<int64_t>(header.size()), 0);
  }
  int64_t done = 0, all = 0;
  for (const Job::Fill& fill : job.fills) all += bytes_of(fill.transfer);
  for (Job::Fill& fill : job.fills) {
    fill.transfer.dst_offset += job.tensors[fill.tensor].offset;
    run_transfer(fill.transfer, dst, src, options.memory, device, [&](int64_t bytes) {
      if (options.progress) options.progress(done + bytes, all);
    });
    done += bytes_of(fill.transfer);
  }
  outputs.finish();
}

void set_type(FileTensor& tensor, const JobOptions& options) {
  if (options.dtype.empty()) return;
  const bool e5m2 = options.dtype == "f8_e5m2";
  const bool f8 = e5m2 || options.dtype == "f8_e4m3";
  tensor.dtype = f8 ? INFINI_DTYPE_F8 : dtype_from_name(options.dtype);
  tensor.e5m2 = e5m2;
  require(
      tensor.dtype != INFINI_DTYPE_INVALID, INFINI_STATUS_BAD_PARAM, "--dtype ", options.dtype,
      " is no element type; expected f16, bf16, f32, f64, i8 ... u64, bool, f8_e4m3 or f8_e5m2");
}

// A new tensor like `from`, row-major and without its place.
FileTensor like(const FileTensor& from) {
  FileTensor made = from;
  made.fortran = false;
  made.part = 0;
  return made;
}

Job job_on(const Catalogue& in, const std::string& out) {
  Job job;
  job.inputs = in.parts;
  job.paths = {out};
  job.metadata = in.metadata;
  return job;
}

std::vector<Range> all_of(const std::vector<int64_t>& shape) {
  std::vector<Range> ranges;
  for (const int64_t extent : shape) ranges.push_back({0, extent, 1});
  return ranges;
}

void add(Job& job, FileTensor target, Transfer transfer) {
  transfer.dst_dtype = target.dtype;
  transfer.dst_e5m2 = target.e5m2;
  job.tensors.push_back(std::move(target));
  job.fills.push_back({job.tensors.size() - 1, std::move(transfer)});
}

// Steps of a row-major destination.
void set_dst_steps(Transfer& transfer, infiniDtype_t dtype) {
  int64_t step = dtype_bytes(dtype);
  for (size_t i = transfer.dims.size(); i-- > 0;) {
    transfer.dims[i].dst_step = step;
    step *= transfer.dims[i].extent;
  }
}

// A tensor as it is, but for its type where it is meant.
void add_plain(Job& job, const FileTensor& from, const JobOptions* options) {
  FileTensor target = like(from);
  if (options != nullptr) set_type(target, *options);
  Transfer transfer = transfer_of(from, all_of(from.shape));
  set_dst_steps(transfer, target.dtype);
  add(job, std::move(target), std::move(transfer));
}

// Calls body for the tensors that are meant, and copies the others where the result can hold them.
template <class Body>
void for_meant(Job& job, const Catalogue& in, const JobOptions& options, const Body& body) {
  size_t meant = 0;
  const bool alone = kind_of(job.paths[0]) == FileKind::npy;
  for (const FileTensor& tensor : in.tensors) {
    if (glob_matches(options.glob, tensor.name)) {
      ++meant;
      body(tensor);
    } else if (!alone) {
      add_plain(job, tensor, nullptr);
    }
  }
  require(meant > 0, INFINI_STATUS_BAD_PARAM, in.path, ": has no tensor whose name is ",
          options.glob);
}

int64_t checked_dim(const FileTensor& tensor, int64_t dim) {
  const auto rank = static_cast<int64_t>(tensor.shape.size());
  require(dim >= -rank && dim < rank, INFINI_STATUS_BAD_PARAM, "'", tensor.name, "' has ", rank,
          " dims; --dim is ", dim);
  return dim < 0 ? dim + rank : dim;
}

}  // namespace

bool glob_matches(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0, star = glob.npos, back = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || (glob[g] == text[t] && glob[g] != '*'))) {
      ++g, ++t;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      back = t;
    } else if (star != glob.npos) {
      g = star + 1;
      t = ++back;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

Transfer transfer_of(const FileTensor& tensor, const std::vector<Range>& ranges) {
  Transfer transfer;
  transfer.src_dtype = transfer.dst_dtype = tensor.dtype;
  transfer.src_e5m2 = transfer.dst_e5m2 = tensor.e5m2;
  transfer.src_offset = tensor.part * file_step + tensor.offset;
  const std::vector<int64_t> strides = tensor.strides();
  const int64_t bytes = dtype_bytes(tensor.dtype);
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    transfer.src_offset += ranges[i].count > 0 ? ranges[i].first * strides[i] * bytes : 0;
    transfer.dims.push_back({ranges[i].count, 0, ranges[i].step * strides[i] * bytes});
  }
  set_dst_steps(transfer, tensor.dtype);
  return transfer;
}

void convert_file(const std::string& in, const std::string& out, const JobOptions& options) {
  const Catalogue from = open_catalogue(in);
  Job job = job_on(from, out);
  for_meant(job, from, options, [&](const FileTensor& t) { add_plain(job, t, &options); });
  run_job(std::move(job), options);
}

void rearrange_file(const std::string& in, const std::string& out, const std::string& pattern,
                    const std::vector<std::pair<std::string, int64_t>>& sizes,
                    const JobOptions& options) {
  const Catalogue from = open_catalogue(in);
  const Pattern parsed = parse_pattern(pattern);
  std::vector<AxisSize> axes;
  for (const auto& [name, size] : sizes) axes.push_back({name, size});
  Job job = job_on(from, out);
  for_meant(job, from, options, [&](const FileTensor& tensor) {
    const PatternWalk walk = walk_of(parsed, static_cast<int>(tensor.shape.size()),
                                     tensor.shape.data(), {axes.data(), axes.size()});
    FileTensor target = like(tensor);
    target.shape.assign(walk.shape, walk.shape + walk.rank);
    set_type(target, options);
    const std::vector<int64_t> from_strides = tensor.strides(), to_strides = target.strides();
    Transfer transfer = transfer_of(tensor, all_of(tensor.shape));
    const bool empty = tensor.count() == 0;
    transfer.dims.clear();
    if (empty) transfer.dims.push_back({0, 1, 1});
    for (int i = 0; i < walk.axes && !empty; ++i) {
      const PatternWalk::Axis& axis = walk.walk[i];
      transfer.dims.push_back({axis.extent,
                               to_strides[static_cast<size_t>(axis.dst_dim)] * axis.dst_scale *
                                   dtype_bytes(target.dtype),
                               axis.src_dim < 0 ? 0
                                                : from_strides[static_cast<size_t>(axis.src_dim)] *
                                                      axis.src_scale * dtype_bytes(tensor.dtype)});
    }
    add(job, std::move(target), std::move(transfer));
  });
  run_job(std::move(job), options);
}

void slice_file(const std::string& in, const std::string& out, const std::string& ranges,
                const JobOptions& options) {
  const Catalogue from = open_catalogue(in);
  Job job = job_on(from, out);
  for_meant(job, from, options, [&](const FileTensor& tensor) {
    const std::vector<Range> parsed = parse_ranges(ranges, tensor.shape);
    FileTensor target = like(tensor);
    for (size_t i = 0; i < parsed.size(); ++i) target.shape[i] = parsed[i].count;
    set_type(target, options);
    Transfer transfer = transfer_of(tensor, parsed);
    set_dst_steps(transfer, target.dtype);
    add(job, std::move(target), std::move(transfer));
  });
  run_job(std::move(job), options);
}

std::string shard_path(const std::string& path, int64_t rank, int64_t ranks) {
  const size_t name = path.rfind('/') + 1;  // 0 where there is no folder
  const size_t ending = path.substr(name).rfind('.');
  const size_t dot = ending == std::string::npos ? path.size() : name + ending;
  return path.substr(0, dot) + "-rank-" + std::to_string(rank) + "-of-" + std::to_string(ranks) +
         path.substr(dot);
}

void shard_file(const std::string& in, const std::string& out, int64_t ranks, int64_t dim,
                const JobOptions& options) {
  const Catalogue from = open_catalogue(in);
  Job job = job_on(from, out);
  job.paths.clear();
  for (int64_t rank = 0; rank < ranks; ++rank) job.paths.push_back(shard_path(out, rank, ranks));
  for_meant(job, from, options, [&](const FileTensor& tensor) {
    const auto at = static_cast<size_t>(checked_dim(tensor, dim));
    require(tensor.shape[at] % ranks == 0, INFINI_STATUS_BAD_PARAM, "'", tensor.name, "': dim ", at,
            " has ", tensor.shape[at], " indices, which are not cut into ", ranks, " equal parts");
    FileTensor target = like(tensor);
    target.shape[at] /= ranks;
    set_type(target, options);
    Transfer transfer = transfer_of(tensor, all_of(tensor.shape));
    transfer.dims[at].extent /= ranks;
    set_dst_steps(transfer, target.dtype);
    transfer.dims.push_back({ranks, file_step, transfer.dims[at].src_step * target.shape[at]});
    add(job, std::move(target), std::move(transfer));
  });
  // What is not cut is read once and written to every file.
  for (Job::Fill& fill : job.fills) {
    const auto cut = [](const TransferDim& d) { return d.dst_step == file_step; };
    auto& dims = fill.transfer.dims;
    if (std::none_of(dims.begin(), dims.end(), cut)) dims.push_back({ranks, file_step, 0});
  }
  run_job(std::move(job), options);
}

namespace {

// What shard_path() made a path of; no ranks where it did not.
struct ShardName {
  std::string path;
  int64_t rank = 0, ranks = 0;
};
ShardName parse_shard_path(const std::string& path) {
  const size_t rank = path.rfind("-rank-"), of = path.rfind("-of-");
  ShardName name;
  int end = 0;
  if (rank == path.npos || of == path.npos || of < rank ||
      std::sscanf(path.c_str() + rank, "-rank-%9" SCNd64 "-of-%9" SCNd64 "%n", &name.rank,
                  &name.ranks, &end) != 2)
    return {};
  name.path = path.substr(0, rank) + path.substr(rank + static_cast<size_t>(end));
  return shard_path(name.path, name.rank, name.ranks) == path ? name : ShardName{};
}

// Shards of one file by their ranks, all of them: shells put 10 before 2. Others stay as they are.
std::vector<std::string> by_rank(const std::vector<std::string>& paths) {
  const ShardName first = parse_shard_path(paths[0]);
  std::vector<std::string> ordered(static_cast<size_t>(first.ranks));
  for (const std::string& path : paths) {
    const ShardName name = parse_shard_path(path);
    if (name.ranks == 0 || name.ranks != first.ranks || name.path != first.path) return paths;
    require(name.rank < name.ranks, INFINI_STATUS_BAD_PARAM, path, ": is rank ", name.rank, " of ",
            name.ranks);
    std::string& place = ordered[static_cast<size_t>(name.rank)];
    require(place.empty(), INFINI_STATUS_BAD_PARAM, path, ": is there twice");
    place = path;
  }
  for (size_t rank = 0; rank < ordered.size(); ++rank)
    require(!ordered[rank].empty(), INFINI_STATUS_BAD_PARAM,
            shard_path(first.path, static_cast<int64_t>(rank), first.ranks),
            ": is missing, one of ", first.ranks, " shards");
  return ordered;
}

}  // namespace

void unshard_files(const std::vector<std::string>& given, const std::string& out, int64_t dim,
                   const JobOptions& options) {
  const std::vector<std::string> in = by_rank(given);
  std::vector<Catalogue> from;
  for (const std::string& path : in) {
    from.push_back(open_catalogue(path));
    // The tensor of a .npy is called as its file.
    if (from.back().kind == FileKind::npy && from[0].kind == FileKind::npy)
      from.back().tensors[0].name = from[0].tensors[0].name;
  }
  Job job = job_on(from[0], out);
  job.inputs.clear();
  for (Catalogue& part : from) {  // numbered through all of them
    for (FileTensor& tensor : part.tensors) tensor.part += static_cast<int>(job.inputs.size());
    job.inputs.insert(job.inputs.end(), part.parts.begin(), part.parts.end());
  }
  std::vector<std::unordered_map<std::string_view, const FileTensor*>> names(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    for (const FileTensor& tensor : from[i].tensors) names[i].emplace(tensor.name, &tensor);
  for_meant(job, from[0], options, [&](const FileTensor& tensor) {
    const auto at = static_cast<size_t>(checked_dim(tensor, dim));
    FileTensor target = like(tensor);
    set_type(target, options);
    target.shape[at] = 0;
    std::vector<const FileTensor*> parts;
    for (size_t i = 0; i < from.size(); ++i) {
      const Catalogue& part = from[i];
      const auto place = names[i].find(tensor.name);
      require(place != names[i].end(), INFINI_STATUS_BAD_PARAM, part.path, ": has no '",
              tensor.name, "'");
      const FileTensor* const found = place->second;
      std::vector<int64_t> expected = tensor.shape;
      if (found->shape.size() == expected.size()) expected[at] = found->shape[at];
      require(
          found->shape == expected && found->dtype == tensor.dtype && found->e5m2 == tensor.e5m2,
          INFINI_STATUS_BAD_PARAM, part.path, ": '", tensor.name,
          "' has another shape or type than in ", in[0]);
      target.shape[at] += found->shape[at];
      parts.push_back(found);
    }
    const std::vector<int64_t> strides = target.strides();
    const int64_t bytes = dtype_bytes(target.dtype);
    job.tensors.push_back(target);
    int64_t first = 0;
    for (const FileTensor* part : parts) {
      Transfer transfer = transfer_of(*part, all_of(part->shape));
      transfer.dst_dtype = target.dtype;
      transfer.dst_e5m2 = target.e5m2;
      for (size_t i = 0; i < strides.size(); ++i) transfer.dims[i].dst_step = strides[i] * bytes;
      transfer.dst_offset = first * strides[at] * bytes;
      first += part->shape[at];
      job.fills.push_back({job.tensors.size() - 1, std::move(transfer)});
    }
  });
  run_job(std::move(job), options);
}

}  // namespace infini::file
