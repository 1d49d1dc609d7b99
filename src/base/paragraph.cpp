// Breaking lines.
#include "base/paragraph.h"

#include <algorithm>
#include <sstream>

namespace infini {

std::string paragraph(const std::string& start, const std::string& text) {
  const std::string margin(start.size(), ' ');
  std::istringstream words(text);
  std::string all, line = start, word;
  bool begun = false;
  while (std::getline(words, word, ' ')) {
    std::replace(word.begin(), word.end(), unbroken_space, ' ');
    if (begun && line.size() + 1 + word.size() > terminal_width) {
      all += line + "\n";
      line = margin;
      begun = false;
    }
    line += (begun ? " " : "") + word;
    begun = true;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return all + line + "\n";
}

std::string labelled(const std::string& label, const std::string& text) {
  constexpr size_t column = 14;
  std::string start = "  " + label;
  start.resize(start.size() < column ? column : start.size() + 1, ' ');
  return paragraph(start, text);
}

}  // namespace infini
