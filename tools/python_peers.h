// NumPy and PyTorch as peers of `infini bench`.
#pragma once

#include <string>

namespace infini::tools {

// Runs one of the scripts that are part of this program over the results in `json`; it prints its own
// table. Throws NOT_IMPLEMENTED when python3 is missing or the script fails.

// bench/peers_torch.py: PyTorch on CUDA; products also on the CPU.
void run_torch_peer(const std::string& json, bool compiled);

// bench/cpu_peers.py: NumPy and PyTorch on the CPU, whichever of them is installed.
void run_cpu_peers(const std::string& json);

}  // namespace infini::tools
