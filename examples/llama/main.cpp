// llama: runs a Llama, of random weights or from .safetensors, and says how fast it decodes.
//
//   example_llama --weights FOLDER --tokens 1,15043,3186 --dtype bf16 --device nvidia --context 512
//   example_llama --layers 1 --width 4096 --heads 32 --kv-heads 8 --inner 11008 --vocabulary 32000
//
// Model:   --weights PATH (a .safetensors, its index, or a folder with one of them; sizes are those of its config.json),
//          else random weights (--seed N) of --layers --width --heads --head --kv-heads --inner --vocabulary;
//          --context N slots of the cache, --dtype f32|f16|bf16, --device NAME
// Run:     --tokens N,N,... (or --prompt N of them, made up), --steps N, --temperature X, --topk N, --topp X,
//          --eager (no recorded graph), --describe (what was recorded)
// Results: --results FILE gets what check.py compares with NumPy: token and logits of the prompt's end and of every step.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "model.h"

using namespace llama;

namespace {

constexpr int skipped = 77;

struct Settings {
  Config config;
  std::vector<int64_t> tokens;
  Size prompt = 7, steps = 12, seed = 1;
  float temperature = 0, topp = 1;
  int topk = 0;
  std::string weights, results;
  bool eager = false, describe = false;
};

Device find_device(const std::string& name) {
  for (int i = 0; i < static_cast<int>(Device::Type::COUNT); ++i)
    if (const auto type = static_cast<Device::Type>(i); Device::toString(type) == name) {
      if (context::getDeviceCount(type) > 0) return Device(type);
      std::cout << "no " << name << " here\n";
      std::exit(skipped);
    }
  throw std::runtime_error("--device: there is no kind \"" + name + "\"");
}

DataType find_dtype(const std::string& name) {
  for (const DataType dtype : {DataType::F32, DataType::F16, DataType::BF16})
    if (toString(dtype) == name) return dtype;
  throw std::runtime_error("--dtype is \"" + name + "\"; expected f32, f16 or bf16");
}

std::vector<int64_t> parse_tokens(const std::string& text) {
  std::vector<int64_t> tokens;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) tokens.push_back(std::stoll(word));
  return tokens;
}

Settings parse(int count, char** words) {
  Settings s;
  Config& c = s.config;
  const std::map<std::string, Size*> sizes = {
      {"--layers", &c.layers},     {"--width", &c.width},
      {"--heads", &c.heads},       {"--head", &c.head},
      {"--kv-heads", &c.kv_heads}, {"--inner", &c.inner},
      {"--context", &c.context},   {"--vocabulary", &c.vocabulary},
      {"--prompt", &s.prompt},     {"--steps", &s.steps},
      {"--seed", &s.seed}};
  const std::map<std::string, std::function<void(const std::string&)>> others = {
      {"--weights", [&](const std::string& v) { s.weights = v; }},
      {"--results", [&](const std::string& v) { s.results = v; }},
      {"--tokens", [&](const std::string& v) { s.tokens = parse_tokens(v); }},
      {"--dtype", [&](const std::string& v) { c.dtype = find_dtype(v); }},
      {"--device", [&](const std::string& v) { c.device = find_device(v); }},
      {"--temperature", [&](const std::string& v) { s.temperature = std::stof(v); }},
      {"--topp", [&](const std::string& v) { s.topp = std::stof(v); }},
      {"--topk", [&](const std::string& v) { s.topk = std::stoi(v); }}};
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto size = sizes.find(word);
    const auto other = others.find(word);
    if (word == "--eager" || word == "--describe")
      (word == "--eager" ? s.eager : s.describe) = true;
    else if (size == sizes.end() && other == others.end())
      throw std::runtime_error(word + " is none of the options; see the top of main.cpp");
    else if (++i == count)
      throw std::runtime_error(word + " needs a value");
    else
      try {
        size != sizes.end() ? void(*size->second = std::stoull(words[i])) : other->second(words[i]);
      } catch (const std::logic_error&) {  // what std::stoull and its kin throw
        throw std::runtime_error(word + " is \"" + words[i] + "\"; expected a number");
      }
  }
  if (!s.weights.empty()) read_config(s.weights, c);
  const bool is_made_up = s.tokens.empty();
  for (Size i = 0; is_made_up && i < s.prompt; ++i)
    s.tokens.push_back(static_cast<int64_t>((i * 37 + 11) % c.vocabulary));
  return s;
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void wait(const Device& device) {
  context::setDevice(device);
  context::syncDevice();
}

// Bytes read and written a second by a large copy: what memory gives.
double copy_speed(const Device& device, Size bytes) {
  const Tensor from = Tensor::zeros({bytes}, DataType::U8, device), to = op::rearrange(from);
  constexpr int times = 5;
  wait(device);
  double best = 1e9;
  for (int i = 0; i < times; ++i) {
    const double start = seconds();
    op::rearrange_(to, from);
    wait(device);
    best = std::min(best, seconds() - start);
  }
  return 2.0 * static_cast<double>(from->nbytes()) / best;
}

// Of a replay of the recorded step, many after one another: neither the host nor the choice of a token in between.
double replay_seconds(const Device& device, Model& model) {
  constexpr int times = 50;
  model.replay();
  wait(device);
  const double start = seconds();
  for (int i = 0; i < times; ++i) model.replay();
  wait(device);
  return (seconds() - start) / times;
}

class Results {
 public:
  explicit Results(const std::string& path) {
    if (!path.empty()) file_.open(path, std::ios::binary);
  }
  // The token that was chosen from these logits.
  void add(int64_t token, const Tensor& logits) {
    if (!file_.is_open()) return;
    const Tensor wide = op::cast(logits->to(Device::cpu()), DataType::F32);
    file_.write(reinterpret_cast<const char*>(&token), sizeof token);
    file_.write(reinterpret_cast<const char*>(wide->data()),
                static_cast<std::streamsize>(wide->nbytes()));
  }

 private:
  std::ofstream file_;
};

// Draws tokens from logits; on the host it is one number.
class Sampler {
 public:
  explicit Sampler(const Settings& s) : s_(s), random_(static_cast<unsigned>(s.seed)) {}
  int64_t operator()(const Tensor& logits) {
    const float drawn = std::uniform_real_distribution<float>(0, 1)(random_);
    return op::random_sample(logits, s_.temperature == 0 ? 0 : drawn, s_.topp, s_.topk,
                             s_.temperature)
        ->item<int32_t>();
  }

 private:
  const Settings& s_;
  std::mt19937 random_;
};

// Seconds of a step, by what it was told to do.
struct Times {
  double prefill = 0, step = 0;
};

Times generate(const Settings& s, Model& model) {
  Times times;
  Sampler choose(s);
  Results results(s.results);
  model.prefill(s.tokens);  // what is slow once: kernels are loaded and chosen
  wait(s.config.device);
  double start = seconds();
  Tensor logits = model.prefill(s.tokens);
  int64_t token = choose(logits);
  times.prefill = seconds() - start;
  results.add(token, logits);
  if (!s.eager) model.record();
  if (s.describe) std::cout << model.describe();
  std::cout << "tokens:";
  for (Size i = 0; i < s.steps; ++i) {
    std::cout << " " << token << std::flush;
    start = seconds();
    logits = model.step(token);
    const int64_t next = choose(logits);         // it waits
    if (i > 0) times.step += seconds() - start;  // the first one meets cold caches
    results.add(next, logits);
    token = next;
  }
  std::cout << "\n";
  times.step /= static_cast<double>(std::max<Size>(1, s.steps - 1));
  return times;
}

int run(const Settings& s) {
  Model model(s.config, s.weights.empty() ? random_weights(s.seed) : weights_in(s.weights));
  const Times times = generate(s, model);
  std::printf("prefill of %zu tokens: %.2f ms, %.0f tokens/s\n", s.tokens.size(),
              times.prefill * 1e3, static_cast<double>(s.tokens.size()) / times.prefill);
  if (s.steps < 2) return 0;
  // As far beyond the caches as the weights are.
  const double memory = copy_speed(s.config.device, std::min<Size>(model.bytes_of_step(), 1 << 28));
  const auto bytes = static_cast<double>(model.bytes_of_step());
  std::printf("decoding%s: %.3f ms a step, %.1f tokens/s\n", s.eager ? ", eager" : "",
              times.step * 1e3, 1 / times.step);
  std::printf("  reads %.1f MB of weights and %.1f MB of cache: %.1f GB/s, %.2f of a copy's %.1f\n",
              static_cast<double>(model.weight_bytes()) * 1e-6,
              (bytes - static_cast<double>(model.weight_bytes())) * 1e-6, bytes / times.step * 1e-9,
              bytes / times.step / memory, memory * 1e-9);
  if (!s.eager) {
    const double replay = replay_seconds(s.config.device, model);
    std::printf("  the recorded step alone: %.3f ms, %.2f of a copy's speed\n", replay * 1e3,
                bytes / memory / replay);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(parse(count, words));
  } catch (const std::exception& error) {
    std::cerr << "llama: " << error.what() << "\n";
    return 1;
  }
}
