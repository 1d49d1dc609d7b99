// infinicore/io.hpp: how tensors are printed.
//
//   print_options::set_precision(3);                       // everywhere
//   std::cout << print_options::edge_items(2) << tensor;   // on this stream
#pragma once

#include <iosfwd>

#include "tensor.hpp"

namespace infinicore::print_options {

// For all streams without one of their own. Columns of a line: 0 is no limit. Tensors of more elements than the threshold
// show so many edge items of each dim. Digits: -1 is the stream's own. Scientific: 1 always, 0 never, -1 where it is shorter.
INFINI_EXPORT void set_line_width(int columns);
INFINI_EXPORT void set_threshold(int elements);
INFINI_EXPORT void set_edge_items(int items);
INFINI_EXPORT void set_precision(int digits);
INFINI_EXPORT void set_sci_mode(int mode);

// For one stream, by <<.
struct line_width {
  explicit line_width(int columns) : value(columns) {}
  int value;
};
struct threshold {
  explicit threshold(int elements) : value(elements) {}
  int value;
};
struct edge_items {
  explicit edge_items(int items) : value(items) {}
  int value;
};
struct precision {
  explicit precision(int digits) : value(digits) {}
  int value;
};
struct sci_mode {
  explicit sci_mode(int mode) : value(mode) {}
  int value;
};
INFINI_EXPORT std::ostream& operator<<(std::ostream& out, line_width option);
INFINI_EXPORT std::ostream& operator<<(std::ostream& out, threshold option);
INFINI_EXPORT std::ostream& operator<<(std::ostream& out, edge_items option);
INFINI_EXPORT std::ostream& operator<<(std::ostream& out, precision option);
INFINI_EXPORT std::ostream& operator<<(std::ostream& out, sci_mode option);

}  // namespace infinicore::print_options
