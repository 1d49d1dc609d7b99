// Layouts that some backend has a kernel for: every backend meets them.
#include "harness/rearrange/cases.h"

namespace infini::harness {
namespace {

constexpr const char* layouts[] = {
    "rearrange f32 40x50x60 perm=2,1,0",
    "rearrange f32 40x50x60 perm=2,0,1",
    "rearrange f16 4x100x8x64 perm=0,2,3,1",
    "rearrange f16 4x100x8x64 perm=0,2,1,3",
    "rearrange f32 8x8x8x8x8x8 perm=5,4,3,2,1,0",
    "rearrange u8 4x3x100x100 perm=0,2,3,1",
    "rearrange u8 4x100x100x3 perm=0,3,1,2",
    "rearrange f32 300x24 perm=1,0",
    "rearrange u8 24x3000 perm=1,0",
    "rearrange f32 5x3001 perm=1,0",
    "rearrange f32 200x300 dst=1,200 src=-300,-1",
    "rearrange f64 77x1301 dst=1,80 src=1310,1",
    "rearrange f32 2000x513 perm=1,0",
    "rearrange f16 1500x1030 perm=1,0",
    "rearrange u8 2112x1152 perm=1,0",
    "rearrange u8 1201x2051 perm=1,0",
    "rearrange f16 1088x2304 perm=1,0",
    "rearrange u8 2112x300 dst=1,2112 src=-320,1",
    // One tile of small words to a panel, of two lines and of four.
    "rearrange u8 1024x128 perm=1,0",
    "rearrange f16 1000x64 perm=1,0",
    "rearrange u8 640x256 perm=1,0",
    "rearrange f16 2x640x4x128 perm=0,2,3,1",
    "rearrange u8 641x257 perm=1,0",
    // Pairs of lines: all panels whole, the last one a line, a part of one, or a line and a part.
    "rearrange u8 1024x1152 perm=1,0",
    "rearrange u8 1088x640 perm=1,0",
    "rearrange f16 1056x1024 perm=1,0",
    "rearrange f32 1024x1072 perm=1,0",
    "rearrange f32 2x528x64 perm=0,2,1",
    "rearrange f64 504x520 perm=1,0",
    "rearrange c128 260x288 perm=1,0",
    "rearrange f32 296x500 dst=1,304",
    "rearrange f32 312x500 dst=1,320",
    "rearrange u8 700x300 dst=1,704",
    "rearrange f32 3001x320 perm=1,0",
    "rearrange f16 2501x320 perm=1,0",
    "rearrange u8 2601x320 perm=1,0",
    // Rows that join in dst within its lines: a few at a time, all, of one row of src, and longer than a buffer.
    "rearrange f32 32x20x25 perm=1,0,2",
    "rearrange f16 48x7x353 perm=1,0,2",
    "rearrange u8 33x64x70 perm=1,0,2",
    "rearrange f16 2000x35 src=40,1",
    "rearrange u8 97x100 src=0,1",
    "rearrange f32 17x5x300 perm=1,0,2",
    "rearrange f32 32x300x5x25 dst=37500,125,25,1 src=25,4000,800,1",
    // Blocks: short rows, dimensions that dst's and src's runs share, reversed ones, gaps, and runs that go on in the next.
    "rearrange f32 9x22x133 perm=0,2,1",
    "rearrange f64 10x892x6 perm=1,2,0",
    "rearrange f16 4x48x12x96 perm=0,2,3,1",
    "rearrange u8 14x4x311x4x10 perm=4,2,1,3,0",
    "rearrange u8 12x2x93x16x16 src=1,192,6144,12,384",
    "rearrange f64 4x3x114x4x9 src=-4,24696,24,1,2744",
    "rearrange f16 5x2x18x289x10 perm=4,3,1,0,2",
    "rearrange u8 4x36x64x53 perm=0,2,3,1",
    "rearrange f32 4x9897 perm=1,0",
    "rearrange c128 3x5x501 perm=2,0,1",
    "rearrange u8 7x11x1301 dst=16920,1,13 src=14311,1301,-1",
    "rearrange f16 9x2x2001 dst=2,1,20 src=4002,2001,1",
    // Rows of fewer than 16 bytes, and of fewer than a tile has, that follow each other in src.
    "rearrange u8 3001x12 perm=1,0",
    "rearrange u8 2001x87 perm=1,0",
    "rearrange f16 3001x11 perm=1,0",
    "rearrange f16 2001x49 perm=1,0",
    "rearrange u8 3001x12 src=13,1 dst=1,3001",
    "rearrange f32 2001x3 src=-3,1 dst=1,2001",
    // Blocks that lie far apart: rows side by side, more than a strip of them, at all skews, with a rest.
    "rearrange f32 70x60x11 perm=1,0,2",
    "rearrange u8 150x600x7 perm=1,0,2 dst_at=5",
    "rearrange f16 40x600x3x2 perm=1,0,3,2",
    "rearrange f16 33x70x20 dst=20,701,1 src=1400,20,1 dst_at=6",
    "rearrange f64 65x90x5 perm=1,0,2",
    "rearrange f32 17x100x25 perm=1,0,2",
    "rearrange f32 40x3x50x13 dst=13,26000,520,1 src=1950,650,13,1",
    "rearrange u8 64x530x12 perm=1,0,2",
    // Rows that compete for the same sets of the cache.
    "rearrange f32 96x100 dst=1,1024 src=16384,1",
    "rearrange f32 80x64 dst=1,1024 src=16384,1",
    "rearrange f16 340x200 dst=1,352",
    "rearrange f64 75x96 dst=1,80",
    // A small src and its ends; rows of fills, flips and slices that join within lines.
    "rearrange f64 3000x3 src=0,1",
    "rearrange u8 2x3000x2 src=1,0,-2",
    "rearrange f64 300x51 src=0,1 src_at=24",
    "rearrange u8 9000x3 src=0,1",
    "rearrange f16 3000x3 src=-3,1",
    "rearrange f32 20x12x132 src=1,20,0",
    "rearrange u8 4x59x411 src=0,1,0",
    "rearrange f32 76x163 src=-167,-1 dst_at=8",
    "rearrange u8 90x2x1392 src=2784,-1,2",
    "rearrange f32 90x301 src=301,-1",
    "rearrange f64 90x75 src=150,2 dst_at=16",
    "rearrange u8 80x271 src=271,-1 dst_at=3",
    "rearrange f16 90x301x3 src=903,1,301",
    // Runs that join from task to task, a line for two of them.
    "rearrange u8 90x2x375 src=750,1,2 dst_at=5",
    "rearrange f32 60x3x175 src=525,1,3",
    "rearrange f16 70x4x301 src=1204,1,4 dst_at=2",
    "rearrange f64 20x7x223 src=1561,1,7",
    "rearrange f32 3x20x2x100 src=9000,200,1,2",
    // Short rows written again and again: all windows reach over the ends of src.
    "rearrange f32 2x900x37 src=40000,0,1",
    "rearrange u8 3x700x75 src=-40000,0,-1",
    // Blocks that are written again and again, the first from src.
    "rearrange f64 9x1301 src=0,3",
    "rearrange f16 4x30x8x101 src=1,0,408,4 dst_at=6",
    "rearrange u8 40x9x230 src=0,-1,9",
    "rearrange f32 7x9x400 src=1,0,7 src_at=4",
    // Rows that share lines of src, a piece of each in turns; pieces that end with lines; short rows that lie apart.
    "rearrange u8 2x50001x3 src=3,6,1",
    "rearrange f32 4x10001x3 src=-3,12,1 dst_at=4",
    "rearrange f16 10x3001x16 src=16,160,1",
    "rearrange u8 12x3001x44 src=44,528,1",
    "rearrange u8 8x30030 src=1,8 dst_at=5",
    "rearrange f16 7x20011 src=1,7",
    "rearrange u8 5x20011 src=-1,-6",
    "rearrange f64 22x301x16 src=80,-1792,1",
    // Atoms of all sizes that are put together in blocks, reversed, too, and words with gaps between them.
    "rearrange u8 200x130x3 perm=1,0,2",
    "rearrange u8 130x200x3 src=-3,390,1 dst_at=7",
    "rearrange u8 90x80x5 perm=1,0,2",
    "rearrange f16 70x90x3 perm=1,0,2 dst_at=2",
    "rearrange u8 90x70x7 src=7,630,1",
    "rearrange f32 60x70x3 perm=1,0,2",
    "rearrange u8 50x60x35 perm=1,0,2",
    "rearrange f32 20x50x9 perm=1,0,2 dst_at=20",
    "rearrange u8 30x40x17 perm=1,0,2",
    "rearrange f32 7x40x9x43 perm=1,2,0,3",
    "rearrange u8 12x301x44 src=44,528,1",
    "rearrange u8 20x30x200 perm=1,0,2",
    "rearrange f16 8x6x3001 src=14,1,112",
    "rearrange u8 11x2x5001 src=4,1,44",
    "rearrange f32 54x3x701 src=5003,1,7",
    "rearrange u8 7x9001 src=-1,23",
    // Tiles that are cut at the ends, of every element size.
    "rearrange f32 200x300 perm=1,0",
    "rearrange u8 513x129 perm=1,0",
    "rearrange f16 7x64x50 perm=0,2,1",
    "rearrange u8 1000x3 perm=1,0",
    "rearrange u8 3x1000 perm=1,0",
    "rearrange f32 300x70 src=140,2",
    "rearrange u8 20000",
    "rearrange i16 9001 src=-1",
    "rearrange f64 9x999 src=0,1",
    "rearrange f64 999x9 src=1,0",
    "rearrange c128 40x50 perm=1,0",
    "rearrange u8 513x300 perm=1,0",
    "rearrange u8 9000x3 perm=1,0",
    "rearrange u8 3x9000 perm=1,0",
    "rearrange u8 50001",
    "rearrange c128 140x150 perm=1,0",
    "rearrange u8 2x2x2x2x2x2x2x2x2x2x2x2x2x2 perm=13,12,11,10,9,8,7,6,5,4,3,2,1,0",
    // Rows with odd pitches; planes of odd lengths; repeated elements, rows and blocks.
    "rearrange f32 4x10x16 dst=1000,20,1 src=1,64,4",
    "rearrange f32 7x500 dst=2000,2 src=1,7",
    "rearrange f32 100x50 dst=50,1 src=1,200",
    "rearrange f32 1000 dst=2 src=1",
    "rearrange f16 100x100 dst=100,1 src=0,1",
    "rearrange f16 100x100 dst=100,1 src=100,-1",
    "rearrange f32 100x50 dst=200,2 src=50,1",
    "rearrange f16 8x3x2144 src=143648,-1,67",
    "rearrange f32 8x4x8x16x32 perm=4,1,3,0,2",
    "rearrange f32 16x16x16x16x16 perm=4,3,2,1,0",
    "rearrange f32 96x96x96 perm=2,0,1",
    "rearrange f16 4x56x56x64 perm=0,3,1,2",
};

}  // namespace

std::vector<std::string> layout_cases() { return {std::begin(layouts), std::end(layouts)}; }

std::vector<std::string> long_run_cases() {
  std::vector<std::string> cases;
  for (const char* dtype : {"u8", "f16", "f32", "f64", "c128"})
    for (const char* shape :
         {"2x40001 src=40001,-1", "2x20001 src=40003,2", "2x9001 dst=27010,3", "20001x3 perm=1,0",
          "20032x3 perm=1,0", "9024x2 perm=1,0", "5x9024x4 perm=2,0,1", "3x20001 perm=1,0",
          "9001x7 perm=1,0", "2x20001 src=1,0"})
      for (const char* at : {"0", "16", "48"})
        cases.push_back(std::string("rearrange ") + dtype + " " + shape + " dst_at=" + at +
                        " src_at=7");
  return cases;
}

}  // namespace infini::harness
