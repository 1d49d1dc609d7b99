// Random rearrange problems whose structure and alignment are drawn on purpose.
//
// random_problem() shuffles and pads dims at random: that both sides end with the same few elements (which then move as
// one word), that a run is long, or that just one of several steps is no multiple of what is moved hardly ever happens.
// Here they happen in most problems, and lengths lie on both sides of powers of two.
#pragma once

#include "harness/rearrange/random_problems.h"

namespace infini::harness {

// What the innermost dims do.
enum class Structure {
  transpose,  // rows of dst are columns of src
  copy,       // long runs of src
  fill,       // of one element
  flip,       // backwards
  step,       // of every n-th element
  spread,     // to every n-th place
  weave,      // of a few planes in turns
  unweave,    // the other way round
  block,      // a few short dims in another order on each side, along a long one
  repeat,     // dims of src that stand still anywhere
  any         // one of them, transposes more often
};

// What is drawn; 0: anything. Alignments are bytes: 64 means a multiple of it, what is less a multiple of exactly that.
struct PaddedShape {
  int64_t most_bytes = 64 << 10;  // written, about
  Structure structure = Structure::any;
  int64_t word = 0;  // of elements that lie together on both sides, bytes
  int64_t base = 0;  // of dst
  // The steps of dst outside of its runs: the first of them, and all others. -1: there are no others.
  int64_t columns = 0, outer = 0;
  int64_t least_side = 2;  // words: rows and columns of a transpose at least
};

// Elements that lie together in both tensors and so move as one, the structure, and dims around it. Every base, and the step of
// every dim outside of a run, lies at any of the alignments that whole elements allow, each as likely as any other.
RearrangeProblem random_padded_problem(Random& random, const PaddedShape& shape);

// Dims everywhere: ranks up to the greatest, most of them of size 1, 2 and 3, in any order, reversed and standing still.
RearrangeProblem random_deep_problem(Random& random);

// Any of all kinds of problems; about so many bytes, each magnitude as likely as any other.
RearrangeProblem random_mixed_problem(Random& random, int64_t least_bytes, int64_t most_bytes);

}  // namespace infini::harness
