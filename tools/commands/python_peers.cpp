// Handing a peer's script to python3.
#include "tools/commands/python_peers.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "bench/interrupt.h"
#include "peer_scripts.h"

namespace infini::tools {
namespace {

void run_python(const char* script, const std::string& json, const char* option,
                const char* failure) {
  require(json.find('\'') == std::string::npos, INFINI_STATUS_BAD_PARAM, "--json ", json,
          ": no quotes, please");
  const std::string command = "python3 - '" + json + "'" + option;
  std::fflush(stdout);
  std::FILE* python = popen(command.c_str(), "w");
  require(python != nullptr, INFINI_STATUS_NOT_IMPLEMENTED, "--peer: cannot start python3");
  std::fputs(script, python);
  const bool done = pclose(python) == 0;
  if (bench::interrupted()) return;  // python3 was, too, and has said so
  require(done, INFINI_STATUS_NOT_IMPLEMENTED, "--peer: ", failure);
}

}  // namespace

void run_torch_peer(const std::string& json, bool compiled) {
  run_python(peers_torch_script, json, compiled ? " --compiled" : "",
             "python3 could not run PyTorch there (see above)");
}

void run_copies_peer(const std::string& which) {
  run_python(pages_torch_script, which, "", "python3 could not run PyTorch there (see above)");
}

void run_cpu_peers(const std::string& json) {
  run_python(cpu_peers_script, json, "", "python3 could not run its script (see above)");
}

bool has_cpu_peers() {
  return std::system(
             "python3 -c 'import importlib.util as u, sys; "
             "sys.exit(not (u.find_spec(\"numpy\") or u.find_spec(\"torch\")))' "
             ">/dev/null 2>&1") == 0;
}

TemporaryFile::TemporaryFile()
    : path_(std::filesystem::temp_directory_path() / "infini-bench-XXXXXX") {
  const int file = mkstemp(path_.data());
  require(file >= 0, INFINI_STATUS_INTERNAL_ERROR, "cannot create ", path_);
  close(file);
}

TemporaryFile::~TemporaryFile() { unlink(path_.c_str()); }

}  // namespace infini::tools
