// infinicore/file.hpp.
#include "infinicore/file.hpp"

#include "file/jobs.h"
#include "tensor/edge.h"

namespace infinicore::file {

struct File::Impl {
  infini::file::Catalogue catalogue;
  std::vector<const infini::file::Descriptor*> parts;
  std::vector<Entry> entries;
};

File::File(const std::string& path) {
  detail::at_edge([&] {
    auto made = std::make_shared<Impl>();
    made->catalogue = infini::file::open_catalogue(path);
    for (const auto& part : made->catalogue.parts) made->parts.push_back(part.get());
    for (const infini::file::FileTensor& t : made->catalogue.tensors)
      made->entries.push_back(
          {t.name, static_cast<DataType>(t.dtype), t.e5m2, Shape(t.shape.begin(), t.shape.end())});
    impl_ = std::move(made);
  });
}

const std::vector<Entry>& File::tensors() const { return impl_->entries; }

Tensor File::read(Size tensor, const std::vector<Range>& ranges) const {
  return detail::at_edge([&] {
    infini::require(tensor < impl_->entries.size(), INFINI_STATUS_BAD_PARAM, "tensor is ", tensor,
                    "; the file has ", impl_->entries.size());
    infini::file::FileTensor from = impl_->catalogue.tensors[tensor];
    infini::require(ranges.size() == from.shape.size(), INFINI_STATUS_BAD_PARAM, "there are ",
                    ranges.size(), " ranges; '", from.name, "' has ", from.shape.size(), " dims");
    if (from.e5m2) from.dtype = INFINI_DTYPE_U8, from.e5m2 = false;
    std::vector<infini::file::Range> plain;
    Shape shape;
    for (size_t i = 0; i < ranges.size(); ++i) {
      const Range& r = ranges[i];
      const auto count = static_cast<int64_t>(r.count);
      int64_t reach = 0;
      const bool inside =
          count == 0 || (r.first >= 0 && r.first < from.shape[i] && count <= from.shape[i] &&
                         !__builtin_mul_overflow(count - 1, r.step, &reach) && reach >= -r.first &&
                         reach < from.shape[i] - r.first);
      infini::require(inside, INFINI_STATUS_BAD_PARAM, "range ", i, " (first ", r.first, ", count ",
                      r.count, ", step ", r.step, ") is not in the dim, which has ", from.shape[i]);
      plain.push_back({r.first, count, count <= 1 ? 1 : r.step});
      shape.push_back(r.count);
    }
    Tensor made = Tensor::empty(shape, static_cast<DataType>(from.dtype), Device::cpu());
    constexpr int64_t memory = 64 << 20;
    infini::file::read_transfer(infini::file::transfer_of(from, plain),
                                reinterpret_cast<char*>(made->data()), impl_->parts, memory);
    return made;
  });
}

}  // namespace infinicore::file
