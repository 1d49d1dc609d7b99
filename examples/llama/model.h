// A small Llama on infini's tensors: weights, a cache of keys and values, prefill and decoding.
#pragma once

#include <infinicore.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "weights.h"

namespace llama {

using namespace infinicore;

struct Config {
  Size layers = 2, width = 64, heads = 4, kv_heads = 2, inner = 128, vocabulary = 256;
  Size head = 0;      // elements of a head; 0: width / heads
  Size context = 64;  // slots of the cache; a decode step puts the token that it sees into the last
  float epsilon = 1e-5f, theta = 10000;
  DataType dtype = DataType::F32;
  Device device = Device::cpu();

  Size head_size() const { return head != 0 ? head : width / heads; }
  Size group() const { return heads / kv_heads; }  // heads that share their keys and values
};

struct Layer {
  Tensor attention_norm, qkv, out, mlp_norm, gate_up, down;
};

class Model {
 public:
  Model(const Config& config, const Weights& weights);

  // Logits of the token that follows the prompt; the cache holds the prompt then, and nothing else.
  Tensor prefill(const std::vector<int64_t>& prompt);
  // Records one decode step; from now on step() replays it.
  void record();
  // Logits of the token that follows `token`. Where nothing is recorded the same operators run one by one.
  Tensor step(int64_t token);
  // What a recorded step computes, again and on what is there: for measuring.
  void replay() { graph_->run(); }

  // What a step has to read: all weights but the embeddings, and the cache.
  size_t bytes_of_step() const { return weight_bytes_ + cache_->nbytes(); }
  size_t weight_bytes() const { return weight_bytes_; }
  std::string describe() const { return graph_ ? graph_->describe() : "not recorded\n"; }

 private:
  // What a layer adds to x [s, width], in place. The tokens' keys and values go to the slots from `slot` on; `seen` slots
  // are looked at, those with a mask where there is one, else causally.
  void add_attention(Size number, const Tensor& x, const Tensor& positions, Size slot, Size seen,
                     const Tensor& mask);
  void add_mlp(const Layer& layer, const Tensor& x);
  Tensor logits_of(const Tensor& x);
  Tensor run_layers(const Tensor& x, const Tensor& positions, Size slot, Size seen,
                    const Tensor& mask);
  Tensor embedding_of(int64_t token) const;
  void open_slot(Size slot);
  void close_slots();

  Config config_;
  std::vector<Layer> layers_;
  Tensor embeddings_, norm_, head_, sin_, cos_;
  Tensor cache_;  // [keys and values, layers, kv heads, slots, head]
  // What a recorded step reads: the token's row, where it stands, and which slots are taken (0, else -infinity).
  Tensor x_, position_, mask_;
  Tensor logits_;
  std::shared_ptr<graph::Graph> graph_;
  Size length_ = 0;  // tokens in the cache
  size_t weight_bytes_ = 0;
};

}  // namespace llama
