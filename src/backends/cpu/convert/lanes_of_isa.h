// Conversions over the compilers' vectors: included once per instruction set, after `Native` is defined there.
#pragma once

#include <cstring>

#include "backends/cpu/convert/formats_of_isa.h"
#include "backends/cpu/convert/lanes.h"
#include "backends/cpu/convert/wide_of_isa.h"
#include "backends/cpu/machine/store_past.h"

namespace infini::cpu {
namespace {

// What is read is asked for so many bytes ahead.
constexpr int64_t ahead_bytes = 4096;

template <class V>
inline void ask(const char* at) {
  for (size_t line = 0; line < sizeof(V); line += 64)
    __builtin_prefetch(at + ahead_bytes + line, 0, 3);
}

// out[i] = body(in[i], i) for vectors of `lanes` elements, the last one by way of a buffer.
template <class To, class From, class Body>
inline void each(void* out, const void* in, int64_t count, Flow flow, Body body) {
  auto* to = static_cast<char*>(out);
  auto* from = static_cast<const char*>(in);
  constexpr auto alignment = sizeof(Vector<To>) < 64 ? sizeof(Vector<To>) : 64;
  const bool past = flow.past && reinterpret_cast<uintptr_t>(to) % alignment == 0;
  int64_t i = 0;
  // (One loop: what differs is foreseen by the processor, and there are many of these.)
  for (; i + lanes <= count; i += lanes) {
    const char* const at = from + i * int64_t{sizeof(From)};
    if (flow.far) ask<Vector<From>>(at);
    const Vector<To> v = body(load_lanes<Vector<From>>(at), i);
    char* const out_at = to + i * int64_t{sizeof(To)};
    if (past)
      store_past(out_at, v);
    else
      __builtin_memcpy(out_at, &v, sizeof v);
  }
  if (i == count) return;
  Vector<From> rest{};
  std::memcpy(&rest, from + i * int64_t{sizeof(From)},
              static_cast<size_t>(count - i) * sizeof(From));
  const Vector<To> v = body(rest, i);
  std::memcpy(to + i * int64_t{sizeof(To)}, &v, static_cast<size_t>(count - i) * sizeof(To));
}

template <class F>
void widen_wide_of(double* out, const void* in, int64_t count, Flow flow) {
  each<double, typename F::type>(out, in, count, flow, [](auto v, int64_t) {
    return __builtin_convertvector(F::widen(v), Doubles);
  });
}
template <class F>
void narrow_wide_of(void* out, const double* in, bool saturates, int64_t count, Flow flow) {
  each<typename F::type, double>(
      out, in, count, flow, [=](Doubles v, int64_t) { return F::narrow(to_odd(v), saturates); });
}
template <class Integer>
void widen_integers(double* out, const void* in, int64_t count, Flow flow) {
  each<double, Integer>(out, in, count, flow,
                        [](auto v, int64_t) { return __builtin_convertvector(v, Doubles); });
}
void narrow_i32(void* out, const double* in, bool, int64_t count, Flow flow) {
  each<int32_t, double>(out, in, count, flow,
                        [](Doubles v, int64_t) { return whole_wide<int32_t>(v); });
}
void narrow_u32(void* out, const double* in, bool, int64_t count, Flow flow) {
  each<uint32_t, double>(out, in, count, flow,
                         [](Doubles v, int64_t) { return whole_wide<uint32_t>(v); });
}
void narrow_f32(void* out, const double* in, bool saturates, int64_t count, Flow flow) {
  each<float, double>(out, in, count, flow, [=](Doubles v, int64_t) {
    return F32::narrow(__builtin_convertvector(v, Floats), saturates);
  });
}
void widen_f64(double* out, const void* in, int64_t count, Flow flow) {
  each<double, double>(out, in, count, flow, [](Doubles v, int64_t) { return v; });
}
void narrow_f64(void* out, const double* in, bool saturates, int64_t count, Flow flow) {
  each<double, double>(out, in, count, flow, [=](Doubles v, int64_t) {
    const Longs bits = reinterpret_cast<Longs>(v), magnitude = bits & INT64_MAX;
    const Longs infinite = magnitude == 0x7ff0000000000000;  // all ones: one less
    return saturates ? reinterpret_cast<Doubles>(bits + infinite) : v;
  });
}

// One number, or a table of `count`: vectors of it from any element on.
struct WideNumbers {
  WideNumbers(const double* numbers, int step, int64_t count)
      : table(step == 0 ? nullptr : numbers), count(count) {
    for (double& each : one) each = *numbers;
  }
  Doubles at(int64_t i) const {
    if (table == nullptr) return load_lanes<Doubles>(one);
    if (i + lanes <= count) return load_lanes<Doubles>(table + i);
    Doubles rest{};
    std::memcpy(&rest, table + i, static_cast<size_t>(count - i) * sizeof(double));
    return rest;
  }
  const double* table;
  int64_t count;
  double one[lanes];
};
void scale_wide_of(double* out, const double* x, const double* a, int a_step, const double* b,
                   int b_step, int64_t count, Flow flow) {
  const WideNumbers scale(a, a_step, count), shift(b, b_step, count);
  each<double, double>(out, x, count, flow, [&](Doubles v, int64_t i) {
    return fused<double>(v, scale.at(i), shift.at(i));
  });
}

// What is done to a vector from element i of a row on.
template <class To, class From, bool scales>
struct RowConversion {
  Floats number[2];
  const float* table[2];  // or null: the number
  bool saturates;

  Floats at(int k, int64_t i) const {
    return table[k] == nullptr ? number[k] : load_lanes<Floats>(table[k] + i);
  }
  Vector<typename To::type> operator()(Vector<typename From::type> v, int64_t i) const {
    Floats f = From::widen(v);
    if constexpr (scales) f = fused<float>(f, at(0, i), at(1, i));
    return To::narrow(f, saturates);
  }
};

// Two vectors at a time, a group of columns.
constexpr int64_t group = 2 * lanes;
template <class To, class From, bool asks, class Body>
inline void convert_row(char* to, const char* from, int64_t columns, Flow flow,
                        const Body& shared) {
  using Out = Vector<typename To::type>;
  using In = Vector<typename From::type>;
  const Body body = shared;  // the stores might change anything that is read through a reference
  for (int64_t i = 0; i < columns; i += group, from += 2 * sizeof(In), to += 2 * sizeof(Out)) {
    if (asks && flow.far)
      for (size_t line = 0; line < 2 * sizeof(In); line += 64)
        __builtin_prefetch(from + ahead_bytes + line, 0, 3);
    const Out low = body(load_lanes<In>(from), i),
              high = body(load_lanes<In>(from + sizeof(In)), i + lanes);
    if (asks && flow.past) {
      store_past(to, low);
      store_past(to + sizeof(Out), high);
    } else {
      __builtin_memcpy(to, &low, sizeof(Out));
      __builtin_memcpy(to + sizeof(Out), &high, sizeof(Out));
    }
  }
}

template <class To, class From, bool scales>
void lines_of(const ConvertLines& lines) {
  constexpr auto alignment =
      sizeof(Vector<typename To::type>) < 64 ? sizeof(Vector<typename To::type>) : 64;
  const int64_t rows = lines.rows, columns = lines.columns, y_step = lines.y_step,
                row_bytes = columns * int64_t{sizeof(typename From::type)};
  const char *const x = lines.x, *const ask = lines.ask;
  const int64_t *const x_of_row = lines.x_of_row, *const ask_of_row = lines.ask_of_row;
  const float* number[2] = {lines.number[0], lines.number[1]};
  RowConversion<To, From, scales> body{{}, {}, lines.saturates};
  char* y = lines.y;
  for (int64_t r = 0; r < rows; ++r, y += y_step) {
    // (Where rows begin within lines the first one is there already, with what lies before it.)
    if (ask != nullptr)
      for (int64_t byte = 63; byte < row_bytes + 63; byte += 64)
        __builtin_prefetch(ask + ask_of_row[r] + byte, 0, 3);
    for (int k = 0; scales && k < 2; ++k) {
      if (lines.column_step[k] == 0)
        body.number[k] = Floats{} + *number[k];
      else
        body.table[k] = number[k];
      number[k] += lines.row_step[k];
    }
    Flow flow = lines.flow;
    flow.past = flow.past && reinterpret_cast<uintptr_t>(y) % alignment == 0;
    const char* const from = x + (x_of_row == nullptr ? 0 : x_of_row[r]);
    if (flow.far || flow.past)
      convert_row<To, From, true>(y, from, columns, flow, body);
    else
      convert_row<To, From, false>(y, from, columns, flow, body);
  }
}

// By Format, from x's, each one's lines to y's.
template <bool scales, class To, class... From>
constexpr void fill_row(ConvertLanes::Lines* row) {
  int x = 0;
  ((row[x++] = lines_of<To, From, scales>), ...);
}
template <bool scales, class... All>
constexpr void fill_all(ConvertLanes::Lines (&lines)[narrow_format_count][narrow_format_count]) {
  int y = 0;
  (fill_row<scales, All, All...>(lines[y++]), ...);
}
constexpr ConvertLanes make_table() {
  ConvertLanes t{group,
                 {},
                 {widen_wide_of<U8>, widen_wide_of<I8>, widen_wide_of<U16>, widen_wide_of<I16>,
                  widen_wide_of<E4M3>, widen_wide_of<E5M2>, widen_wide_of<F16>, widen_wide_of<BF16>,
                  widen_wide_of<F32>, widen_integers<int32_t>, widen_integers<uint32_t>, widen_f64},
                 {narrow_wide_of<U8>, narrow_wide_of<I8>, narrow_wide_of<U16>, narrow_wide_of<I16>,
                  narrow_wide_of<E4M3>, narrow_wide_of<E5M2>, narrow_wide_of<F16>,
                  narrow_wide_of<BF16>, narrow_f32, narrow_i32, narrow_u32, narrow_f64},
                 scale_wide_of};
  fill_all<false, U8, I8, U16, I16, E4M3, E5M2, F16, BF16, F32>(t.lines[0]);
  fill_all<true, U8, I8, U16, I16, E4M3, E5M2, F16, BF16, F32>(t.lines[1]);
  return t;
}
constexpr ConvertLanes table = make_table();

}  // namespace
}  // namespace infini::cpu
