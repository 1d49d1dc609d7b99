// NumPy and PyTorch as peers of `infini bench`.
#pragma once

#include <string>

namespace infini::tools {

// Runs one of the scripts that are part of this program over the results in `json`; it prints its own
// table. Throws NOT_IMPLEMENTED when python3 is missing or the script fails.

// bench/peers/peers_torch.py: PyTorch on CUDA; products also on the CPU.
void run_torch_peer(const std::string& json, bool compiled);

// bench/peers/pages_torch.py: PyTorch's copies of pages, or between pinned memory and CUDA; `which` is pages or transfer.
void run_copies_peer(const std::string& which);

// bench/peers/cpu_peers.py: NumPy and PyTorch on the CPU, whichever of them is installed.
void run_cpu_peers(const std::string& json);
// Whether python3 is there and has one of them.
bool has_cpu_peers();

// A file for what a script reads; gone with the object.
class TemporaryFile {
 public:
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace infini::tools
