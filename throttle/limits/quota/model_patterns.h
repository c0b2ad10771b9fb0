// ModelPattern: a pattern of model names that has one '*', which matches any text, also an empty text. ModelSet: a set
// of model names and patterns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"
#include "config/text/parse.h"
#include "throttle/limits/quota/quota.h"

namespace weir {

inline bool IsModelPattern(std::string_view name) { return name.find('*') != std::string_view::npos; }
// Returns an error unless `name` is a valid name (CheckName) with at most one '*'.
inline Status CheckModelName(std::string_view name) {
  if (Status checked = CheckName("model", name); !checked.ok()) return checked;
  if (std::ranges::count(name, '*') <= 1) return {};
  return Status::Error(Printable(name) + ": found more than one *, expected one at most");
}

class ModelPattern {
 public:
  // `text` must contain a '*'.
  explicit ModelPattern(std::string_view text)
      : begin_(text.substr(0, text.find('*'))), end_(text.substr(text.find('*') + 1)) {}

  bool Fits(std::string_view name) const {
    return name.size() >= begin_.size() + end_.size() && name.starts_with(begin_) && name.ends_with(end_);
  }
  // Returns how specific the pattern is: the number of bytes besides the '*', and the number of bytes before the '*'.
  // If several patterns fit a name, the pattern with the larger value is used.
  std::pair<size_t, size_t> stated() const { return {begin_.size() + end_.size(), begin_.size()}; }

 private:
  std::string begin_;
  std::string end_;
};

// ModelSet: a set of models, given by their names and by patterns.
class ModelSet {
 public:
  void Add(std::string_view name) {
    if (IsModelPattern(name)) {
      patterns_.emplace_back(name);
    } else {
      names_.emplace(name);
    }
  }
  bool empty() const { return names_.empty() && patterns_.empty(); }
  // Returns true if `name` is in the set or fits a pattern in the set.
  bool Contains(std::string_view name) const {
    return names_.contains(name) ||
           std::ranges::any_of(patterns_, [&](const ModelPattern& pattern) { return pattern.Fits(name); });
  }

 private:
  std::set<std::string, std::less<>> names_;
  std::vector<ModelPattern> patterns_;
};

}  // namespace weir
