// llama: runs a Llama of random weights, and says how fast it decodes.
//
//   example_llama [--layers N] [--width N] [--heads N] [--kv-heads N] [--inner N] [--vocabulary N] [--context N]
//                 [--prompt N] [--steps N] [--dtype f32|f16|bf16] [--device NAME] [--seed N]
//                 [--temperature X] [--topk N] [--topp X] [--results FILE] [--eager] [--describe]
//
// FILE gets what check.py compares with NumPy: tokens and logits of the prompt's end and of every step.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <random>

#include "model.h"

using namespace llama;

namespace {

constexpr int skipped = 77;

struct Settings {
  Config config;
  Size prompt = 7, steps = 12;
  float temperature = 0, topp = 1;
  int topk = 0;
  std::string results;
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

Settings parse(int count, char** words) {
  Settings s;
  std::map<std::string, Size*> sizes = {{"--layers", &s.config.layers},
                                        {"--width", &s.config.width},
                                        {"--heads", &s.config.heads},
                                        {"--kv-heads", &s.config.kv_heads},
                                        {"--inner", &s.config.inner},
                                        {"--vocabulary", &s.config.vocabulary},
                                        {"--context", &s.config.context},
                                        {"--prompt", &s.prompt},
                                        {"--steps", &s.steps}};
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--eager" || word == "--describe") {
      (word == "--eager" ? s.eager : s.describe) = true;
      continue;
    }
    if (i + 1 == count)
      throw std::runtime_error(word + " needs a value, or is none of the options");
    const std::string value = words[++i];
    if (const auto size = sizes.find(word); size != sizes.end())
      *size->second = std::strtoull(value.c_str(), nullptr, 10);
    else if (word == "--dtype")
      s.config.dtype = find_dtype(value);
    else if (word == "--device")
      s.config.device = find_device(value);
    else if (word == "--seed")
      s.config.seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (word == "--temperature")
      s.temperature = std::strtof(value.c_str(), nullptr);
    else if (word == "--topp")
      s.topp = std::strtof(value.c_str(), nullptr);
    else if (word == "--topk")
      s.topk = std::atoi(value.c_str());
    else if (word == "--results")
      s.results = value;
    else
      throw std::runtime_error(word + " is none of the options; see the top of main.cpp");
  }
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

int run(const Settings& s) {
  Model model(s.config);
  std::mt19937 random(static_cast<unsigned>(s.config.seed));
  const auto choose = [&](const Tensor& logits) {
    const float drawn = std::uniform_real_distribution<float>(0, 1)(random);
    const Tensor token =
        op::random_sample(logits, s.temperature == 0 ? 0 : drawn, s.topp, s.topk, s.temperature)
            ->to(Device::cpu());
    int32_t number;
    std::memcpy(&number, token->data(), sizeof number);
    return static_cast<int64_t>(number);
  };
  std::vector<int64_t> prompt;
  for (Size i = 0; i < s.prompt; ++i)
    prompt.push_back(static_cast<int64_t>((i * 37 + 11) % s.config.vocabulary));
  Results results(s.results);
  double start = seconds();
  Tensor logits = model.prefill(prompt);
  int64_t token = choose(logits);
  const double prefill_seconds = seconds() - start;
  results.add(token, logits);
  if (!s.eager) model.record();
  if (s.describe) std::cout << model.describe();
  std::cout << "tokens:";
  double decode_seconds = 0;
  for (Size i = 0; i < s.steps; ++i) {
    std::cout << " " << token << std::flush;
    start = seconds();
    logits = model.step(token);
    const int64_t next = choose(logits);             // it waits
    if (i > 0) decode_seconds += seconds() - start;  // the first one meets cold caches
    results.add(next, logits);
    token = next;
  }
  std::cout << "\n";
  const double step = decode_seconds / static_cast<double>(std::max<Size>(1, s.steps - 1));
  std::printf("prefill of %zu tokens %.2f ms; decoding %.1f tokens/s, %.3f ms a step%s\n", s.prompt,
              prefill_seconds * 1e3, 1 / step, step * 1e3, s.eager ? " (eager)" : "");
  // As far beyond the caches as the weights are.
  const double memory = copy_speed(s.config.device, std::min<Size>(model.bytes_of_step(), 1 << 28));
  std::printf("weights %.1f MB; a step reads %.1f GB/s, %.2f of a copy's %.1f GB/s\n",
              static_cast<double>(model.weight_bytes()) * 1e-6,
              static_cast<double>(model.bytes_of_step()) / step * 1e-9,
              static_cast<double>(model.bytes_of_step()) / step / memory, memory * 1e-9);
  if (!s.eager && s.steps > 0) {
    const double replay = replay_seconds(s.config.device, model);
    std::printf("the recorded step alone %.3f ms: %.2f of it at a copy's speed\n", replay * 1e3,
                static_cast<double>(model.bytes_of_step()) / memory / replay);
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
