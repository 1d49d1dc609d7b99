// Handing the peer's script to python3.
#include "tools/torch_peer.h"

#include <cstdio>

#include "base/error.h"
#include "peers_torch.h"

namespace infini::tools {

void run_torch_peer(const std::string& json, bool compiled) {
  require(json.find('\'') == std::string::npos, INFINI_STATUS_BAD_PARAM, "--json ", json,
          ": no quotes, please");
  const std::string command = "python3 - '" + json + "'" + (compiled ? " --compiled" : "");
  std::fflush(stdout);
  std::FILE* python = popen(command.c_str(), "w");
  require(python != nullptr, INFINI_STATUS_NOT_IMPLEMENTED, "--peer: cannot start python3");
  std::fputs(peers_torch_script, python);
  require(pclose(python) == 0, INFINI_STATUS_NOT_IMPLEMENTED,
          "--peer: python3 could not run PyTorch on CUDA (see above)");
}

}  // namespace infini::tools
