// The model: every line of it is an operator or a view.
#include "model.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace llama {
namespace {

using Numbers = std::vector<float>;

Tensor host_tensor(const Shape& shape, const Numbers& values, DataType dtype) {
  Tensor wide = Tensor::empty(shape, DataType::F32, Device::cpu());
  std::memcpy(wide->data(), values.data(), wide->nbytes());
  return op::cast(wide, dtype);
}

Tensor slice(const Tensor& x, Size dim, Size start, Size length) {
  return x->narrow({{dim, start, length}});
}

// Row `position`: the angles of all pairs of a head.
Tensor rope_table(const Config& config, double (*function)(double)) {
  const Size half = config.head() / 2;
  Numbers values;
  for (Size position = 0; position < config.context; ++position)
    for (Size i = 0; i < half; ++i)
      values.push_back(static_cast<float>(
          function(static_cast<double>(position) *
                   std::pow(config.theta, -static_cast<double>(i) / static_cast<double>(half)))));
  return host_tensor({config.context, half}, values, config.dtype)->to(config.device);
}

}  // namespace

Tensor random_weights(const Config& config, const Shape& shape, uint64_t number, double scale) {
  Size count = 1;
  for (const Size extent : shape) count *= extent;
  Numbers values(count);
  const uint64_t start = (config.seed << 32 | number) * 0x9e3779b97f4a7c15u;
  for (Size i = 0; i < count; ++i) {
    uint64_t bits = (start + i) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 31) * 0x94d049bb133111ebu;
    values[i] = static_cast<float>((static_cast<double>(bits >> 40) / 0x1p23 - 1) * scale);
  }
  return host_tensor(shape, values, config.dtype)->to(config.device);
}

Tensor Model::weights(const Shape& shape, double scale) {
  Tensor made = random_weights(config_, shape, ++made_, scale);
  weight_bytes_ += made->nbytes();
  return made;
}

Model::Model(const Config& c) : config_(c) {
  const double scale = std::sqrt(3.0 / static_cast<double>(c.width));
  embeddings_ = random_weights(c, {c.vocabulary, c.width}, 0, 1);
  for (Size i = 0; i < c.layers; ++i) {
    Layer layer;
    layer.attention_norm = weights({c.width}, 1);
    layer.qkv = weights({(c.heads + 2 * c.kv_heads) * c.head(), c.width}, scale);
    layer.out = weights({c.width, c.width}, scale);
    layer.mlp_norm = weights({c.width}, 1);
    layer.gate_up = weights({2 * c.inner, c.width}, scale);
    layer.down = weights({c.width, c.inner}, std::sqrt(3.0 / static_cast<double>(c.inner)));
    layers_.push_back(layer);
  }
  norm_ = weights({c.width}, 1);
  head_ = weights({c.vocabulary, c.width}, scale);
  sin_ = rope_table(c, std::sin);
  cos_ = rope_table(c, std::cos);
  cache_ = Tensor::zeros({2, c.layers, c.kv_heads, c.context, c.head()}, c.dtype, c.device);
  x_ = Tensor::zeros({1, c.width}, c.dtype, c.device);
  position_ = Tensor::zeros({1}, DataType::I64, c.device);
  const Numbers closed(c.context, -std::numeric_limits<float>::infinity());
  mask_ = host_tensor({c.context}, closed, c.dtype)->to(c.device);
  open_slot(c.context - 1);
}

void Model::open_slot(Size slot) { op::zeros_(slice(mask_, 0, slot, 1)); }

void Model::set_position(int64_t position) {
  position_->copy_from(Tensor::from_blob(&position, {1}, DataType::I64, Device::cpu()));
}

void Model::add_attention(size_t number, const Tensor& x, const Tensor& positions, Size slot,
                          Size seen, const Tensor& mask) {
  const Config& c = config_;
  const Layer& layer = layers_[number];
  const Size s = x->size(0), head = c.head(), groups = c.kv_heads, rows = c.group() * s;
  const Tensor all = op::linear(op::rms_norm(x, layer.attention_norm, c.epsilon), layer.qkv)
                         ->view({s, c.heads + 2 * groups, head});
  const Tensor turned = slice(all, 1, 0, c.heads + groups);  // queries and keys
  op::rope_(turned, turned, positions, sin_, cos_, INFINIOP_ROPE_ALGO_GPT_NEOX);
  // Keys and values of the tokens into their slots, in one copy.
  const Tensor own = slice(cache_, 1, number, 1)->squeeze(1);  // [2, kv heads, slots, head]
  const Tensor fresh = slice(all, 1, c.heads, 2 * groups)->view({s, 2, groups, head});
  op::rearrange_(slice(own, 2, slot, s), fresh->permute({1, 2, 0, 3}));
  const Tensor known = slice(own, 2, 0, seen), keys = slice(known, 0, 0, 1)->squeeze(0),
               values = slice(known, 0, 1, 1)->squeeze(0);  // [kv heads, seen, head]
  // The heads of a group share their keys: they are more rows.
  const Tensor queries = slice(all, 1, 0, c.heads)
                             ->view({s, groups, c.group(), head})
                             ->permute({1, 2, 0, 3})
                             ->contiguous()
                             ->view({groups, rows, head});
  const Tensor scores =
      op::gemm(queries, keys->permute({0, 2, 1}), 1 / std::sqrt(static_cast<double>(head)));
  if (mask) op::add_(scores, scores, mask);
  const Tensor matrices = scores->view({groups * c.group(), s, seen});
  op::causal_softmax_(matrices, matrices);
  const Tensor seen_values = op::gemm(scores, values)
                                 ->view({groups, c.group(), s, head})
                                 ->permute({2, 0, 1, 3})
                                 ->contiguous()
                                 ->view({s, c.width});
  op::gemm_(x, seen_values, layer.out->permute({1, 0}), 1, 1);
}

void Model::add_mlp(const Layer& layer, const Tensor& x) {
  const Tensor both = op::linear(op::rms_norm(x, layer.mlp_norm, config_.epsilon), layer.gate_up);
  const Tensor hidden =
      op::swiglu(slice(both, 1, config_.inner, config_.inner), slice(both, 1, 0, config_.inner));
  op::gemm_(x, hidden, layer.down->permute({1, 0}), 1, 1);
}

Tensor Model::logits_of(const Tensor& x) {
  const Tensor last = slice(x, 0, x->size(0) - 1, 1);
  return op::linear(op::rms_norm(last, norm_, config_.epsilon), head_)->squeeze(0);
}

Tensor Model::run_layers(const Tensor& x, const Tensor& positions, Size slot, Size seen,
                         const Tensor& mask) {
  for (size_t i = 0; i < layers_.size(); ++i) {
    add_attention(i, x, positions, slot, seen, mask);
    add_mlp(layers_[i], x);
  }
  return logits_of(x);
}

Tensor Model::prefill(const std::vector<int64_t>& prompt) {
  const Size s = prompt.size();
  Tensor x = Tensor::empty({s, config_.width}, config_.dtype, config_.device);
  std::vector<int64_t> places(s);
  for (Size i = 0; i < s; ++i) {
    places[i] = static_cast<int64_t>(i);
    op::rearrange_(slice(x, 0, i, 1), slice(embeddings_, 0, static_cast<Size>(prompt[i]), 1));
    open_slot(i);
  }
  const Tensor positions =
      Tensor::from_blob(places.data(), {s}, DataType::I64, Device::cpu())->to(config_.device);
  length_ = s;
  return run_layers(x, positions, 0, s, Tensor());
}

void Model::record() {
  context::GraphRecording recording;
  logits_ = run_layers(x_, position_, config_.context - 1, config_.context, mask_);
  graph_ = recording.stop();
}

Tensor Model::step(int64_t token) {
  const Size last = config_.context - 1;
  if (length_ >= last) throw std::runtime_error("the cache is full");
  op::rearrange_(x_, slice(embeddings_, 0, static_cast<Size>(token), 1));
  set_position(static_cast<int64_t>(length_));
  if (graph_)
    graph_->run();
  else
    logits_ = run_layers(x_, position_, last, config_.context, mask_);
  // The token moves on to a slot of its own, in all layers at once.
  op::rearrange_(slice(cache_, 3, length_, 1), slice(cache_, 3, last, 1));
  open_slot(length_++);
  return logits_;
}

size_t Model::bytes_of_step() const { return weight_bytes_ + cache_->nbytes(); }

}  // namespace llama
