// Deflated entries of archives, unpacked into memory files.
#pragma once

#include <memory>

#include "file/tensor_file.h"

namespace infini::file {

// Throws NOT_IMPLEMENTED where the library was built without zlib.
std::shared_ptr<const Descriptor> unpacked(const Descriptor& archive, const ZipEntry& entry);

}  // namespace infini::file
