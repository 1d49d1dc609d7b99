// Tensors by their names: from files, or drawn.
#include "weights.h"

#include <infinicore/file.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <unordered_map>

#include "model.h"

namespace llama {
namespace {

namespace fs = std::filesystem;

std::string file_of(const std::string& path) {
  if (!fs::is_directory(path)) return path;
  for (const char* const name : {"model.safetensors", "model.safetensors.index.json"})
    if (fs::exists(fs::path(path) / name)) return fs::path(path) / name;
  throw std::runtime_error(path + " has neither model.safetensors nor its index");
}

std::string text_of(const Shape& shape) {
  std::string text;
  for (const Size extent : shape) text += (text.empty() ? "[" : ", ") + std::to_string(extent);
  return text + "]";
}

// A number of config.json, wherever in it; `otherwise` where there is none.
double number_in(const std::string& json, const std::string& key, double otherwise) {
  std::smatch found;
  const std::regex pattern("\"" + key + "\"\\s*:\\s*([-+0-9.eE]+)");
  return std::regex_search(json, found, pattern) ? std::stod(found[1]) : otherwise;
}

uint64_t hash_of(const std::string& name) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

Weights weights_in(const std::string& path) {
  const file::File opened(file_of(path));
  std::unordered_map<std::string, Size> places;
  for (Size i = 0; i < opened.tensors().size(); ++i) places[opened.tensors()[i].name] = i;
  return [opened, places](const std::string& name, const Shape& shape) {
    auto place = places.find(name);
    if (place == places.end() && name == "lm_head.weight")  // shared with the embeddings, then
      place = places.find("model.embed_tokens.weight");
    if (place == places.end()) throw std::runtime_error("the file has no " + name);
    const Shape& found = opened.tensors()[place->second].shape;
    if (found != shape)
      throw std::runtime_error(name + " is " + text_of(found) + "; expected " + text_of(shape));
    std::vector<file::Range> all;
    for (const Size extent : shape) all.push_back({0, extent, 1});
    return opened.read(place->second, all);
  };
}

Weights random_weights(uint64_t seed) {
  return [seed](const std::string& name, const Shape& shape) {
    const double scale = shape.size() == 1 ? 1 : std::sqrt(3.0 / static_cast<double>(shape.back()));
    const Tensor made = Tensor::empty(shape, DataType::F32, Device::cpu());
    auto* values = made->data<float>();
    const uint64_t start = hash_of(name) + seed * 0x9e3779b97f4a7c15u;
    for (Size i = 0; i < made->numel(); ++i) {
      uint64_t bits = (start + i) * 0xbf58476d1ce4e5b9u;
      bits = (bits ^ bits >> 31) * 0x94d049bb133111ebu;
      values[i] = static_cast<float>((static_cast<double>(bits >> 40) / 0x1p23 - 1) * scale);
    }
    return made;
  };
}

void read_config(const std::string& path, Config& config) {
  const fs::path folder = fs::is_directory(path) ? fs::path(path) : fs::path(path).parent_path();
  std::ifstream file(folder / "config.json");
  if (!file) return;
  std::stringstream text;
  text << file.rdbuf();
  const std::string json = text.str();
  if (std::regex_search(json, std::regex("\"rope_type\"\\s*:\\s*\"(?!default)")))
    throw std::runtime_error(
        "config.json scales its positions (rope_type), which is not done here");
  const auto size = [&](const char* key, Size otherwise) {
    return static_cast<Size>(number_in(json, key, static_cast<double>(otherwise)));
  };
  config.layers = size("num_hidden_layers", config.layers);
  config.width = size("hidden_size", config.width);
  config.heads = size("num_attention_heads", config.heads);
  config.kv_heads = size("num_key_value_heads", config.heads);
  config.head = size("head_dim", 0);
  config.inner = size("intermediate_size", config.inner);
  config.vocabulary = size("vocab_size", config.vocabulary);
  config.epsilon = static_cast<float>(number_in(json, "rms_norm_eps", 1e-6));
  config.theta = static_cast<float>(number_in(json, "rope_theta", 10000));
}

}  // namespace llama
