// Where a model's tensors come from: files as Hugging Face's Llamas are kept in, or numbers that look random.
#pragma once

#include <infinicore.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace llama {

struct Config;

// The tensor of this name in memory of the host, e.g. "model.layers.0.self_attn.q_proj.weight"; of any float type. Throws
// where there is none, or one of another shape.
using Weights =
    std::function<infinicore::Tensor(const std::string& name, const infinicore::Shape& shape)>;

// Of a .safetensors file, of an index of several (.safetensors.index.json), or of the folder that has one of them.
Weights weights_in(const std::string& path);
// f32, by name and seed alone. check.py makes the same.
Weights random_weights(uint64_t seed);

// Sizes as config.json has them, in this folder or beside this file; where there is none, `config` stays as it is.
void read_config(const std::string& path, Config& config);

}  // namespace llama
