// The bench suites.
#include "harness/rearrange/suites.h"

namespace infini::harness {

static std::vector<Suite> rearrange_suites() {
  return {
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
        {"kv_append_f16",
         "rearrange f16 8x32x256x128 dst=16777216,524288,128,1 src=1048576,128,4096,1"},
        {"every_second_column", "rearrange f32 4096x4096 src=8192,2"},
        {"flip_rows", "rearrange f32 4096x4096 src=4096,-1"},
        {"broadcast_row", "rearrange f32 4096x4096 src=0,1"}}},
      {"large",
       "large tensors for accelerators: 36 layouts, most over 200 MB",
       {{"t2d_8192x8192_f32", "rearrange f32 8192x8192 perm=1,0"},
        {"t2d_16384x16384_f32", "rearrange f32 16384x16384 perm=1,0"},
        {"t2d_8191x8193_f32", "rearrange f32 8191x8193 perm=1,0"},
        {"t2d_16384x16384_f16", "rearrange f16 16384x16384 perm=1,0"},
        {"t2d_8191x8193_f16", "rearrange f16 8191x8193 perm=1,0"},
        {"t2d_16384x16384_u8", "rearrange u8 16384x16384 perm=1,0"},
        {"t2d_8192x8192_f64", "rearrange f64 8192x8192 perm=1,0"},
        {"t2d_64x2000000_f32", "rearrange f32 64x2000000 perm=1,0"},
        {"t2d_2000000x64_f32", "rearrange f32 2000000x64 perm=1,0"},
        {"t2d_2000000x3_f32", "rearrange f32 2000000x3 perm=1,0"},
        {"t2d_3x2000000_f32", "rearrange f32 3x2000000 perm=1,0"},
        {"t2d_40000000x3_u8", "rearrange u8 40000000x3 perm=1,0"},
        {"t2d_3x40000000_u8", "rearrange u8 3x40000000 perm=1,0"},
        {"nchw2nhwc_64x64x112x112_f16", "rearrange f16 64x64x112x112 perm=0,2,3,1"},
        {"nhwc2nchw_64x112x112x64_f16", "rearrange f16 64x112x112x64 perm=0,3,1,2"},
        {"nchw2nhwc_64x3x512x512_f32", "rearrange f32 64x3x512x512 perm=0,2,3,1"},
        {"nhwc2nchw_64x512x512x3_u8", "rearrange u8 64x512x512x3 perm=0,3,1,2"},
        {"bshd2bhsd_8x2048x32x128_f16", "rearrange f16 8x2048x32x128 perm=0,2,1,3"},
        {"bshd2bhds_8x2048x32x128_f16", "rearrange f16 8x2048x32x128 perm=0,2,3,1"},
        {"p3_021_512_f32", "rearrange f32 512x512x512 perm=0,2,1"},
        {"p3_102_512_f32", "rearrange f32 512x512x512 perm=1,0,2"},
        {"p3_201_512_f32", "rearrange f32 512x512x512 perm=2,0,1"},
        {"p3_210_512_f32", "rearrange f32 512x512x512 perm=2,1,0"},
        {"p3_120_512_f32", "rearrange f32 512x512x512 perm=1,2,0"},
        {"p4_3210_odd_f32", "rearrange f32 61x127x67x129 perm=3,2,1,0"},
        {"p5_41302_f32", "rearrange f32 48x28x48x28x28 perm=4,1,3,0,2"},
        {"p6_rev_16_f32", "rearrange f32 16x16x16x16x16x16 perm=5,4,3,2,1,0"},
        {"p6_rev_upstream_f32", "rearrange f32 3x4x50x50x5x7 perm=5,4,3,2,1,0"},
        {"p7_small_dims_f32", "rearrange f32 8x3x16x5x12x7x64 perm=6,0,5,1,4,2,3"},
        {"p8_swap_f16", "rearrange f16 2x2x2x2x128x64x16x32 perm=7,0,5,1,4,2,6,3"},
        {"bcast_row_4096x65536_f32", "rearrange f32 4096x65536 src=0,1"},
        {"bcast_col_4096x65536_f32", "rearrange f32 4096x65536 src=1,0"},
        {"slice2_8192x16384_f32", "rearrange f32 8192x8192 src=16384,2"},
        {"kv_append_f16",
         "rearrange f16 32x32x512x128 dst=16777216,524288,128,1 src=2097152,128,4096,1"},
        {"copy_contig_f32", "rearrange f32 16384x8192"},
        {"copy_rows_padded_32768x4001_f16", "rearrange f16 32768x4001 src=4096,1"}}},
  };
}

namespace {

// The shapes of a model of 4096 numbers a token: 8192 tokens, 32 heads, 11008 inside.
std::vector<Suite> operator_suites() {
  return {{"operators",
           "norms, softmax, rope, elementwise, sampling: 64 MB and more a tensor",
           {{"rms_norm_8192x4096_bf16", "rms_norm bf16 8192x4096"},
            {"rms_norm_8192x4096_f32", "rms_norm f32 8192x4096"},
            {"swiglu_4096x11008_bf16", "swiglu bf16 4096x11008"},
            {"add_8192x4096_bf16", "add bf16 8192x4096"},
            {"add_8192x4096_f32", "add f32 8192x4096"},
            {"silu_8192x4096_bf16", "silu bf16 8192x4096"},
            {"gelu_8192x4096_bf16", "gelu bf16 8192x4096"},
            {"cast_8192x4096_f32_bf16", "cast bf16 8192x4096 x_dtype=f32"},
            {"rope_8192x32x128_bf16", "rope bf16 8192x32x128 algo=neox"},
            {"causal_softmax_32x1024x1024_bf16", "causal_softmax bf16 32x1024x1024"},
            {"causal_softmax_512x1x32768_f32", "causal_softmax f32 512x1x32768"},
            {"random_sample_128000_bf16",
             "random_sample bf16 128000 topk=50 topp=0.8 temperature=0.7 random_val=0.3"}}},
          {"convert",
           "conversions in order, transposed and of images: 130 MB and more read and written",
           {{"f32_bf16", "convert bf16 8192x4096 x_dtype=f32"},
            {"bf16_f32", "convert f32 8192x4096 x_dtype=bf16"},
            {"f32_f16", "convert f16 8192x4096 x_dtype=f32"},
            {"f16_f32", "convert f32 8192x4096 x_dtype=f16"},
            {"f32_f8", "convert f8 8192x4096 x_dtype=f32 saturates=1"},
            {"f8_bf16", "convert bf16 8192x8192 x_dtype=f8"},
            {"f32_i8_scaled", "convert i8 8192x4096 x_dtype=f32 along=0"},
            {"i8_f32_scaled", "convert f32 8192x4096 x_dtype=i8 along=1"},
            {"u8_f16_scaled", "convert f16 8192x8192 x_dtype=u8 scale=0.0039215689"},
            {"i32_f32", "convert f32 8192x4096 x_dtype=i32"},
            {"f64_f32", "convert f32 8192x2048 x_dtype=f64"},
            {"f32_f64", "convert f64 8192x2048 x_dtype=f32"},
            {"f32_bf16_transposed", "convert bf16 8192x4096 x_dtype=f32 x=1,8192"},
            {"bf16_f32_transposed", "convert f32 8192x4096 x_dtype=bf16 x=1,8192"},
            {"f16_bf16_transposed", "convert bf16 6000x7000 x_dtype=f16 x=1,6000"},
            {"f32_u8_transposed", "convert u8 6000x7000 x_dtype=f32 x=1,6000 saturates=1"},
            {"f64_f32_transposed", "convert f32 4000x5000 x_dtype=f64 x=1,4000"},
            {"heads_f32_f16", "convert f16 4x32x2048x128 x_dtype=f32 x=8388608,128,4096,1"},
            {"heads_bf16_f32", "convert f32 4x2048x32x128 x_dtype=bf16 x=8388608,128,262144,1"},
            {"hwc_chw_u8_f32", "convert f32 8x3x1200x1600 x_dtype=u8 x=5760000,1,4800,3 along=1"},
            {"chw_hwc_f32_u8",
             "convert u8 8x1200x1600x3 x_dtype=f32 x=5760000,1600,1,1920000 "
             "along=3"},
            {"rows_cut_f32_bf16", "convert bf16 8192x4000 x_dtype=f32 x=4096,1"},
            {"every_second_f32_bf16", "convert bf16 8192x4096 x_dtype=f32 x=8192,2"}}}};
}

}  // namespace

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = [] {
    std::vector<Suite> list = rearrange_suites();
    for (const Suite& suite : cpu_suites()) list.push_back(suite);
    for (const Suite& suite : gemm_suites()) list.push_back(suite);
    for (const Suite& suite : operator_suites()) list.push_back(suite);
    return list;
  }();
  return all;
}

const Suite* find_suite(std::string_view name) {
  for (const Suite& suite : suites())
    if (name == suite.name) return &suite;
  return nullptr;
}

}  // namespace infini::harness
