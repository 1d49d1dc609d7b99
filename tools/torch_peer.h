// PyTorch as a peer of `infini bench`.
#pragma once

#include <string>

namespace infini::tools {

// Runs bench/peers_torch.py, which is part of this program, over the results in `json`; it prints its
// own table. Throws NOT_IMPLEMENTED when python3 or PyTorch with CUDA is missing.
void run_torch_peer(const std::string& json, bool compiled);

}  // namespace infini::tools
