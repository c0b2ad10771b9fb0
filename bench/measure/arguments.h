// Arguments: reads the arguments of a small benchmark, which have a fixed order. Prints the usage and ends the program
// if there are too many arguments, if the first begins with "-" (such as --help), or if one is not a positive number
// where such a number is needed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

class Arguments {
 public:
  Arguments(int argc, char** argv, const char* usage, size_t most) : given_(argv + 1, argv + argc), usage_(usage) {
    if (given_.size() > most || (!given_.empty() && given_[0].starts_with("-"))) EndWithUsage();
  }

  // Returns the argument with this index as a number, which must be above 0; `otherwise` if there is no such argument.
  double Number(size_t place, double otherwise) const {
    if (place >= given_.size()) return otherwise;
    const std::string text(given_[place]);
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (*end != '\0' || !(number > 0)) EndWithUsage();
    return number;
  }
  size_t Count(size_t place, size_t otherwise) const {
    const double number = Number(place, static_cast<double>(otherwise));
    if (number < 1) EndWithUsage();
    return static_cast<size_t>(number);
  }
  std::string Text(size_t place, const char* otherwise) const {
    return place < given_.size() ? std::string(given_[place]) : otherwise;
  }

 private:
  [[noreturn]] void EndWithUsage() const {
    const bool asked = !given_.empty() && given_[0] == "--help";
    std::fprintf(asked ? stdout : stderr, "usage: %s\n", usage_);
    std::exit(asked ? 0 : 2);
  }

  const std::vector<std::string_view> given_;
  const char* const usage_;
};

}  // namespace weir
