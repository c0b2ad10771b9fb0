// Names of models that may be patterns: one '*' in a name stands for any text, even none.
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
#include "throttle/quota/quota.h"

namespace weir {

inline bool IsModelPattern(std::string_view name) { return name.find('*') != std::string_view::npos; }
// Accepts a name or a pattern.
inline Status CheckModelName(std::string_view name) {
  if (Status checked = CheckName("model", name); !checked.ok()) return checked;
  if (std::ranges::count(name, '*') <= 1) return {};
  return Status::Error(Printable(name) + ": found more than one *, expected one at most");
}

class ModelPattern {
 public:
  explicit ModelPattern(std::string_view text)
      : begin_(text.substr(0, text.find('*'))), end_(text.substr(text.find('*') + 1)) {}

  bool Fits(std::string_view name) const {
    return name.size() >= begin_.size() + end_.size() && name.starts_with(begin_) && name.ends_with(end_);
  }
  // How much of a name it states: if several patterns fit, the one with the most comes first.
  std::pair<size_t, size_t> stated() const { return {begin_.size() + end_.size(), begin_.size()}; }

 private:
  std::string begin_;
  std::string end_;
};

// A set of models, by name and by pattern.
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
  bool Contains(std::string_view name) const {
    return names_.contains(name) ||
           std::ranges::any_of(patterns_, [&](const ModelPattern& pattern) { return pattern.Fits(name); });
  }

 private:
  std::set<std::string, std::less<>> names_;
  std::vector<ModelPattern> patterns_;
};

}  // namespace weir
