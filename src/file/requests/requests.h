// Pieces of files read and written, several requests in flight.
#pragma once

#include <cstdint>
#include <vector>

#include "file/descriptor.h"

namespace infini::file {

// Contiguous in its file and in memory.
struct Piece {
  const Descriptor* file;
  int64_t offset, bytes;
  char* memory;
};

// All of them, in any order; throws the first error.
void read_pieces(const std::vector<Piece>& pieces);
void write_pieces(const std::vector<Piece>& pieces);

}  // namespace infini::file
