// The curated cases.
#include "harness/rearrange/cases.h"

namespace infini::harness {
namespace {

// One per line, written for f32; `$` stands for the dtype in those that are tried with all sizes.
constexpr const char* fixed[] = {
    // ranks, empty and size-1 dims
    "rearrange f32 scalar",
    "rearrange u8 1",
    "rearrange f64 0",
    "rearrange f32 0x4",
    "rearrange f32 4x0x9223372036854775807",
    "rearrange f32 1x1x1x1",
    "rearrange f32 1x5x1 dst=9223372036854775807,1,-9223372036854775808 src=-7,1,123456789",
    "rearrange f32 2x2x2x2x2x2x2x2x2x2 perm=9,8,7,6,5,4,3,2,1,0",
    "rearrange u8 2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2 perm=15,0,14,1,13,2,12,3,11,4,10,5,9,6,8,7",
    ("rearrange u8 "
     "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"
     "x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x3"),
    // vector widths that one stride alone would get wrong
    "rearrange f32 2x3x8 dst=64,9,1 src=64,8,1",
    "rearrange f16 2x3x16 dst=48,16,1 src=272,17,1",
    "rearrange u8 5x34 dst=34,1 src=40,1",
    "rearrange u8 9x32 dst=34,1 src=34,1",
    // transposes of several elements at a time, padded by one: their columns, or only their batches, lie at no
    // multiple of what is moved
    "rearrange u8 40x140x4 dst=561,4,1 src=4,160,1",
    "rearrange u8 40x140x4 dst=562,4,1 src=4,160,1",
    "rearrange u8 3x33x140x4 dst=18481,560,4,1 src=18480,4,132,1",
    "rearrange u8 3x33x140x4 dst=18482,560,4,1 src=18480,4,132,1",
    "rearrange u8 33x300x2 dst=601,2,1 src=2,66,1",
    "rearrange u8 70x90x8 dst=722,8,1 src=8,560,1",
    "rearrange f16 40x150x2 dst=301,2,1 src=2,80,1 dst_at=2",
    "rearrange f16 33x100x4 dst=401,4,1 src=4,132,1",
    "rearrange f16 2x33x100x8 dst=26401,800,8,1 src=26400,8,264,1",
    "rearrange u8 33x64x16 dst=1025,16,1 src=16,528,1",
    "rearrange f16 700x700x2 dst=1401,2,1 src=2,1400,1",
    "rearrange u8 3x600x600x4 dst=1440001,2400,4,1 src=1440000,4,2400,1",
    // interleaved but disjoint destinations
    "rearrange f32 3x2 dst=2,3 src=2,1",
    "rearrange u8 4x4 dst=5,7 src=4,1",
    "rearrange f32 100 dst=2 src=3",
    "rearrange f16 64x64 dst=130,2 src=130,2",
    // flips
    "rearrange f32 7x9 dst=-9,1 src=9,1",
    "rearrange f32 7x9 dst=9,-1 src=-9,-1",
    "rearrange u8 33x65 src=65,-1",
    "rearrange f16 33x65 src=-65,1",
    "rearrange f64 9 src=-1",
    // broadcasts
    "rearrange f32 15x1075 src=0,1",
    "rearrange f32 15x1075 src=1,0",
    "rearrange u8 300x70 src=0,0",
    "rearrange f32 4x5x6 src=0,1,0",
    "rearrange f16 128x3x9 src=3,1,0",
    // stepped slices, scatters, pitches
    "rearrange f32 64x100 src=400,2",
    "rearrange f32 64x100 dst=400,2",
    "rearrange u8 2x9001 dst=18010,2",
    "rearrange f16 2x5000 dst=15010,3",
    "rearrange f16 100x4001 src=4096,1",
    "rearrange f16 100x401 dst=512,1",
    "rearrange u8 64x64x3 dst=12288,192,3 src=16384,256,4",
    // many dims
    "rearrange f32 6x7x8x9 perm=3,2,1,0",
    "rearrange f32 4x3x6x5x4x7 perm=5,4,3,2,1,0",
    "rearrange f32 8x3x16x5x12x7x6 perm=6,0,5,1,4,2,3",
    "rearrange f32 6x4x6x4x4 perm=4,1,3,0,2",
    "rearrange f16 2x2x2x2x16x8x4x8 perm=7,0,5,1,4,2,6,3",
    // attention and images
    "rearrange f16 2x64x4x32 perm=0,2,1,3",
    "rearrange f16 2x64x4x32 perm=0,2,3,1",
    "rearrange u8 2x50x60x3 perm=0,3,1,2",
    "rearrange u8 2x3x50x60 perm=0,2,3,1",
    "rearrange f16 4x4x128x16 dst=32768,8192,16,1 src=8192,16,64,1",
    // little moves innermost: permuted or reversed within blocks, repeated, short rows with gaps, a few planes
    "rearrange u8 46x51x3x10x4 perm=0,1,2,4,3",
    "rearrange f16 20001x2 src=2,-1",
    "rearrange f16 45x16x110 src=1760,110,0",
    "rearrange f64 13x83x4x3 src=996,12,3,0",
    "rearrange f32 40x2x41x2x4 src=164,0,4,0,1",
    "rearrange u8 60x2x61x2x3 src=183,0,3,0,1",
    "rearrange f32 3001x7 src=8,1",
    "rearrange u8 9001x9 src=12,1",
    "rearrange f32 1003x25 src=32,1",
    "rearrange f32 3001x7 dst=8,1",
    "rearrange u8 9001x9 dst=12,1",
    "rearrange f16 3001x3x2 dst=8,2,1 src=6,1,3",
    "rearrange f32 503x100 dst=128,1",
    "rearrange f32 503x100 dst=101,1",
    "rearrange f32 4x9001 perm=1,0",
    "rearrange u8 8x8x4x550 perm=2,1,3,0",
    "rearrange f32 100x60x5x2 perm=1,0,3,2",
    "rearrange f16 300x70x20 perm=1,0,2",
};

// Shapes that are tried with every element size and misalignment.
constexpr const char* shapes[] = {"1000",
                                  "37x53 perm=1,0",
                                  "64x64 perm=1,0",
                                  "128x256 perm=1,0",
                                  "16x16 perm=1,0",
                                  "3x500 perm=1,0",
                                  "500x3 perm=1,0",
                                  "2x300 perm=1,0",
                                  "300x4 perm=1,0",
                                  "65x33x17 perm=2,1,0",
                                  "33x20x40 perm=1,0,2",
                                  "20x33x40 perm=0,2,1",
                                  "1030x70 perm=1,0",
                                  "70x1030 perm=1,0",
                                  "40x50 src=-50,-1",
                                  "64x48 src=96,2",
                                  "64x48 dst=96,2",
                                  "64x48 src=0,1",
                                  "64x48 src=1,0",
                                  "100x7 dst=9,1",
                                  "256x300 perm=1,0",
                                  "3x8208 perm=1,0",
                                  "8208x3 perm=1,0",
                                  "517x389 perm=1,0"};
constexpr const char* sizes[] = {"u8", "f16", "f32", "f64", "c128"};
constexpr const char* places[] = {"",
                                  " dst_at=1",
                                  " src_at=2",
                                  " dst_at=4 src_at=8",
                                  " dst_at=8 src_at=4",
                                  " dst_at=16 src_at=48"};

}  // namespace

std::vector<std::string> curated_rearrange_cases() {
  std::vector<std::string> cases(std::begin(fixed), std::end(fixed));
  for (const char* shape : shapes)
    for (const char* size : sizes)
      for (const char* place : places)
        cases.push_back(std::string("rearrange ") + size + " " + shape + place);
  return cases;
}

}  // namespace infini::harness
