// The model: every line of it is an operator or a view.
#include "model.h"

#include <cmath>
#include <limits>

namespace llama {
namespace {

Tensor slice(const Tensor& x, Size dim, Size start, Size length) {
  return x->narrow({{dim, start, length}});
}

Tensor from_values(const Shape& shape, const std::vector<float>& values, const Config& config) {
  return op::cast(Tensor::from_vector(values, shape, Device::cpu()), config.dtype)
      ->to(config.device);
}

// Row `position`: the angles of all pairs of a head.
Tensor rope_table(const Config& config, double (*function)(double)) {
  const Size half = config.head_size() / 2;
  std::vector<float> values;
  for (Size position = 0; position < config.context; ++position)
    for (Size i = 0; i < half; ++i)
      values.push_back(static_cast<float>(
          function(static_cast<double>(position) *
                   std::pow(config.theta, -static_cast<double>(i) / static_cast<double>(half)))));
  return from_values({config.context, half}, values, config);
}

// One matrix of several, one below the other: what multiplies the same rows is one product.
struct Part {
  const char* name;
  Size rows;
};
Tensor stacked(const Config& c, const Weights& weights, const std::string& prefix,
               const std::vector<Part>& parts, Size columns) {
  Size rows = 0;
  for (const Part& part : parts) rows += part.rows;
  const Tensor all = Tensor::empty({rows, columns}, c.dtype, c.device);
  rows = 0;
  for (const Part& part : parts) {
    const Tensor one = weights(prefix + part.name + ".weight", {part.rows, columns});
    slice(all, 0, rows, part.rows)->copy_from(op::cast(one, c.dtype));
    rows += part.rows;
  }
  return all;
}

}  // namespace

Model::Model(const Config& c, const Weights& weights) : config_(c) {
  if (c.heads == 0 || c.kv_heads == 0 || c.heads % c.kv_heads != 0)
    throw std::runtime_error("the number of heads must be a multiple of that of kv-heads");
  const auto vector = [&](const std::string& name) {
    return op::cast(weights(name, {c.width}), c.dtype)->to(c.device);
  };
  const auto matrix = [&](const std::string& name, Size rows, Size columns) {
    return op::cast(weights(name, {rows, columns}), c.dtype)->to(c.device);
  };
  const Size all_heads = c.heads * c.head_size(), kv = c.kv_heads * c.head_size();
  for (Size i = 0; i < c.layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    layers_.push_back({
        .attention_norm = vector(layer + "input_layernorm.weight"),
        .qkv = stacked(c, weights, layer + "self_attn.",
                       {{"q_proj", all_heads}, {"k_proj", kv}, {"v_proj", kv}}, c.width),
        .out = matrix(layer + "self_attn.o_proj.weight", c.width, all_heads),
        .mlp_norm = vector(layer + "post_attention_layernorm.weight"),
        .gate_up = stacked(c, weights, layer + "mlp.",
                           {{"gate_proj", c.inner}, {"up_proj", c.inner}}, c.width),
        .down = matrix(layer + "mlp.down_proj.weight", c.width, c.inner),
    });
  }
  embeddings_ = matrix("model.embed_tokens.weight", c.vocabulary, c.width);
  norm_ = vector("model.norm.weight");
  head_ = matrix("lm_head.weight", c.vocabulary, c.width);
  weight_bytes_ = norm_->nbytes() + head_->nbytes();
  for (const Layer& layer : layers_)
    for (const Tensor& t :
         {layer.attention_norm, layer.qkv, layer.out, layer.mlp_norm, layer.gate_up, layer.down})
      weight_bytes_ += t->nbytes();
  sin_ = rope_table(c, std::sin);
  cos_ = rope_table(c, std::cos);
  cache_ = Tensor::zeros({2, c.layers, c.kv_heads, c.context, c.head_size()}, c.dtype, c.device);
  x_ = Tensor::zeros({1, c.width}, c.dtype, c.device);
  position_ = Tensor::zeros({1}, DataType::I64, c.device);
  mask_ = Tensor::empty({c.context}, c.dtype, c.device);
  close_slots();
}

void Model::close_slots() {
  const std::vector<float> closed(config_.context, -std::numeric_limits<float>::infinity());
  mask_->copy_from(from_values({config_.context}, closed, config_));
  open_slot(config_.context - 1);
}

void Model::open_slot(Size slot) { op::zeros_(slice(mask_, 0, slot, 1)); }

void Model::add_attention(Size number, const Tensor& x, const Tensor& positions, Size slot,
                          Size seen, const Tensor& mask) {
  const Config& c = config_;
  const Layer& layer = layers_[number];
  const Size s = x->size(0), head = c.head_size(), groups = c.kv_heads, rows = c.group() * s;
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
                                 ->view({s, c.heads * head});
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

Tensor Model::embedding_of(int64_t token) const {
  if (token < 0 || static_cast<Size>(token) >= config_.vocabulary)
    throw std::runtime_error("token " + std::to_string(token) + " is none of 0 to " +
                             std::to_string(config_.vocabulary - 1));
  return slice(embeddings_, 0, static_cast<Size>(token), 1);
}

Tensor Model::prefill(const std::vector<int64_t>& prompt) {
  const Size s = prompt.size();
  if (s == 0 || s >= config_.context)
    throw std::runtime_error("the prompt has " + std::to_string(s) + " tokens; expected 1 to " +
                             std::to_string(config_.context - 1) + " (--context less one)");
  const Tensor x = Tensor::empty({s, config_.width}, config_.dtype, config_.device);
  close_slots();
  std::vector<int64_t> places;
  for (Size i = 0; i < s; ++i) {
    places.push_back(static_cast<int64_t>(i));
    op::rearrange_(slice(x, 0, i, 1), embedding_of(prompt[i]));
    open_slot(i);
  }
  length_ = s;
  return run_layers(x, Tensor::from_vector(places, {s}, config_.device), 0, s, Tensor());
}

void Model::record() {
  context::GraphRecording recording;
  logits_ = run_layers(x_, position_, config_.context - 1, config_.context, mask_);
  graph_ = recording.stop();
}

Tensor Model::step(int64_t token) {
  const Size last = config_.context - 1;
  if (length_ >= last) throw std::runtime_error("the cache is full");
  op::rearrange_(x_, embedding_of(token));
  position_->copy_from(
      Tensor::from_vector<int64_t>({static_cast<int64_t>(length_)}, {1}, Device::cpu()));
  if (graph_)
    graph_->run();
  else
    logits_ = run_layers(x_, position_, last, config_.context, mask_);
  // The token moves on to a slot of its own, in all layers at once.
  op::rearrange_(slice(cache_, 3, length_, 1), slice(cache_, 3, last, 1));
  open_slot(length_++);
  return logits_;
}

}  // namespace llama
