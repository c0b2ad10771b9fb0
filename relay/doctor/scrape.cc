#include "relay/doctor/scrape.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace weir {
namespace {

// Returns the part of a sample's name between the braces.
std::string_view LabelsOf(std::string_view sample) {
  const size_t begin = sample.find('{');
  return begin == sample.npos || !sample.ends_with('}') ? std::string_view()
                                                        : sample.substr(begin + 1, sample.size() - begin - 2);
}

// Takes the first pair of a label and its value, such as `class="bulk"`, from the labels. The pair ends at the quote
// that ends its value; a backslash hides the character after it.
std::string_view TakePair(std::string_view* labels) {
  size_t end = std::min(labels->find('"'), labels->size());
  for (++end; end < labels->size() && (*labels)[end] != '"'; ++end)
    if ((*labels)[end] == '\\') ++end;
  const std::string_view pair = labels->substr(0, end + 1);
  labels->remove_prefix(std::min(pair.size() + 1, labels->size()));  // together with the comma
  return pair;
}

// Returns true if the pair is one of the labels, or is empty.
bool HasPair(std::string_view labels, std::string_view pair) {
  bool has = pair.empty();
  while (!has && !labels.empty()) has = TakePair(&labels) == pair;
  return has;
}

bool HasName(std::string_view sample, std::string_view name) {
  return sample.starts_with(name) && (sample.size() == name.size() || sample[name.size()] == '{');
}

}  // namespace

Scrape::Scrape(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    // Splits at the last blank, because labels may have blanks, but a value has none.
    const size_t blank = line.rfind(' ');
    if (line.starts_with('#') || blank == line.npos || blank == 0) continue;
    const std::string value(line.substr(blank + 1));
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (end != value.c_str() && *end == '\0' && std::isfinite(number))
      samples_[std::string(line.substr(0, blank))] = number;
  }
}

std::optional<double> Scrape::Find(std::string_view sample) const {
  const auto found = samples_.find(sample);
  if (found == samples_.end()) return std::nullopt;
  return found->second;
}

double Scrape::Sum(std::string_view name, std::string_view label) const {
  double sum = 0;
  for (auto at = samples_.lower_bound(name); at != samples_.end() && at->first.starts_with(name); ++at)
    if (HasName(at->first, name) && HasPair(LabelsOf(at->first), label)) sum += at->second;
  return sum;
}

std::string Scrape::Label(std::string_view name, std::string_view label, std::string_view with) const {
  const std::string begin = std::string(label) + "=\"";
  for (auto at = samples_.lower_bound(name); at != samples_.end() && at->first.starts_with(name); ++at) {
    std::string_view labels = LabelsOf(at->first);
    if (at->second <= 0 || !HasName(at->first, name) || !HasPair(labels, with)) continue;
    while (!labels.empty()) {
      const std::string_view pair = TakePair(&labels);
      if (!pair.starts_with(begin)) continue;
      const std::string_view value = pair.substr(begin.size());
      return std::string(value.substr(0, value.rfind('"')));
    }
  }
  return "";
}

}  // namespace weir
