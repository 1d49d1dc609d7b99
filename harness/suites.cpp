// The bench suites.
#include "harness/suites.h"

namespace infini::harness {

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {
      {"quick",
       "a few rearrangements of real-looking tensors",
       {{"copy", "rearrange f32 4096x4096"},
        {"transpose_f32", "rearrange f32 4096x4096 perm=1,0"},
        {"transpose_f16", "rearrange f16 4096x8192 perm=1,0"},
        {"transpose_u8", "rearrange u8 8192x8192 perm=1,0"},
        {"attention_heads_f16", "rearrange f16 4x2048x32x128 perm=0,2,1,3"},
        {"attention_keys_f16", "rearrange f16 4x2048x32x128 perm=0,2,3,1"},
        {"images_to_planes_u8", "rearrange u8 16x1024x1024x3 perm=0,3,1,2"},
        {"planes_to_images_u8", "rearrange u8 16x3x1024x1024 perm=0,2,3,1"},
        {"kv_append_f16", "rearrange f16 8x32x256x128 dst=16777216,524288,128,1 src=1048576,128,4096,1"},
        {"every_second_column", "rearrange f32 4096x4096 src=8192,2"},
        {"flip_rows", "rearrange f32 4096x4096 src=4096,-1"},
        {"broadcast_row", "rearrange f32 4096x4096 src=0,1"}}},
  };
  return all;
}

const Suite* find_suite(std::string_view name) {
  for (const Suite& suite : suites())
    if (name == suite.name) return &suite;
  return nullptr;
}

}  // namespace infini::harness
