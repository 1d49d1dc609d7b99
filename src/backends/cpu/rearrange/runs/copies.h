// Copies past the cache for registers of any width. `Wide` holds a line of 64 bytes:
// Wide::load(src), stream(dst), and Wide::copy_part(dst, src, bytes) for fewer than 64.
//
// Included by the files that are compiled for one instruction set each.
#pragma once

#include <cstdint>
#include <cstring>

#include "backends/cpu/rearrange/runs/kernels.h"

namespace infini::cpu {
namespace {

// Bytes up to the next whole line.
inline int64_t head_of(const char* dst) {
  return static_cast<int64_t>(-reinterpret_cast<uintptr_t>(dst) % 64);
}

// Four pages in turns, four lines of each while its next four are fetched, keep more reads under way
// than one ascending stream does.
template <class Wide>
int64_t copy_pages(char* dst, const char* src, int64_t bytes) {
  constexpr int64_t page = 4096, group = 4 * page, visit = 256;
  int64_t done = 0;
  for (; done + group <= bytes; done += group)
    for (int64_t at = done; at < done + page; at += visit)
      for (int64_t i = at; i < at + group; i += page) {
        Wide v[visit / 64];
        for (int64_t line = 0; line < visit; line += 64) __builtin_prefetch(src + i + visit + line);
        for (int64_t line = 0; line < visit; line += 64) v[line / 64] = Wide::load(src + i + line);
        for (int64_t line = 0; line < visit; line += 64) v[line / 64].stream(dst + i + line);
      }
  return done;
}

// Whole lines, then the rest. Short runs mostly follow one another in src: fetched ahead as if they were one.
template <class Wide>
void copy_lines(char* dst, const char* src, int64_t bytes, int64_t ahead) {
  for (; bytes >= 64; bytes -= 64, dst += 64, src += 64) {
    __builtin_prefetch(src + ahead);
    Wide::load(src).stream(dst);
  }
  Wide::copy_part(dst, src, bytes);
}

// One run; `in_pages` where it is long and comes from memory.
template <class Wide, bool in_pages>
void copy_run(const Line& line) {
  char* dst = line.dst + line.begin;
  const char* src = line.src + line.begin;
  int64_t done = head_of(dst);
  Wide::copy_part(dst, src, done);
  if constexpr (in_pages) done += copy_pages<Wide>(dst + done, src + done, line.count - done);
  copy_lines<Wide>(dst + done, src + done, line.count - done, line.ahead);
}

// Short rows that do not follow one another: their lines are asked for some rows before, and so are those of dst in which
// they begin and end, if those are not `whole`: they have to be fetched before they are written. All others are streamed.
template <class Wide, bool whole>
void copy_short_rows(const Line& line) {
  const int64_t ahead = 2048 / line.count + 1, count = line.count;
  char* dst = line.dst + line.begin;
  const char* src = line.src + line.begin;
  for (int64_t turn = 0; turn < line.repeat;
       ++turn, dst += line.repeat_dst, src += line.repeat_src) {
    if constexpr (!whole) {
      __builtin_prefetch(dst + ahead * line.repeat_dst, 1);
      __builtin_prefetch(dst + ahead * line.repeat_dst + count - 1, 1);
    }
    for (int64_t i = 0; i < count; i += 64) __builtin_prefetch(src + ahead * line.repeat_src + i);
    int64_t i = head_of(dst);
    Wide::copy_part(dst, src, i);
    for (; i + 64 <= count; i += 64) Wide::load(src + i).stream(dst + i);
    Wide::copy_part(dst + i, src + i, count - i);
  }
}

// Four runs side by side, for the same reason as four pages; each has its own edges.
template <class Wide>
void copy_four(const Line& line) {
  char* dst[4];
  const char* src[4];
  int64_t left[4], common = line.count;
  for (int q = 0; q < 4; ++q) {
    dst[q] = line.dst + line.begin + q * line.repeat_dst;
    src[q] = line.src + line.begin + q * line.repeat_src;
    const int64_t head = head_of(dst[q]);
    Wide::copy_part(dst[q], src[q], head);
    dst[q] += head;
    src[q] += head;
    left[q] = line.count - head;
    common = left[q] < common ? left[q] : common;
  }
  int64_t i = 0;
  for (; i + 64 <= common; i += 64)
    for (int q = 0; q < 4; ++q) Wide::load(src[q] + i).stream(dst[q] + i);
  for (int q = 0; q < 4; ++q) {
    int64_t at = i;
    for (; at + 64 <= left[q]; at += 64) Wide::load(src[q] + at).stream(dst[q] + at);
    Wide::copy_part(dst[q] + at, src[q] + at, left[q] - at);
  }
}

// Runs of bytes, one after another or four at a time. Ordinary stores are memcpy's business.
template <class Wide>
void run_copy(const Line& line) {
  // Where rows end within lines, the lines at their ends are waited for: four rows at once already when shorter.
  const int64_t least_side_by_side = line.count % 64 == 0 ? 2048 : 512;
  constexpr int64_t most_short = 2048, least_long = 16 << 10;
  if (!line.streamed || line.count < 128) return line_kernel_portable(LineKind::copy, 1)(line);
  const bool whole = line.count % 64 == 0 && line.repeat_dst % 64 == 0 && head_of(line.dst) == 0;
  if (line.repeat > 1 && line.count < most_short) {
    if (!whole) return copy_short_rows<Wide, false>(line);
    if (line.repeat_src != line.count && line.repeat_src != 0)
      return copy_short_rows<Wide, true>(line);
  }
  Line next = line;
  int64_t turn = 0;
  const auto advance = [&](int64_t turns) {
    turn += turns;
    next.dst += turns * line.repeat_dst;
    next.src += turns * line.repeat_src;
  };
  const bool broadcast = line.repeat > 1 && line.repeat_src == 0;  // reads from L1
  if (broadcast || line.places == 1 || line.count < least_side_by_side) {
    for (; turn < line.repeat; advance(1)) copy_run<Wide, false>(next);
    return;
  }
  if (line.count < least_long)
    for (; turn + 4 <= line.repeat; advance(4)) copy_four<Wide>(next);
  for (; turn < line.repeat; advance(1)) copy_run<Wide, true>(next);
}

}  // namespace
}  // namespace infini::cpu
