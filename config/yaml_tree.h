// YamlTree: a YAML document as a tree that knows the place of each value in the file. It is a part of yaml_reader.cc.
//
// The parser stops at the first value beyond the bounds. An alias counts as all values that it stands for, so a small
// file that unfolds to billions of values is refused. An alias within the value that it stands for is refused, too.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"
#include "config/yaml_reader.h"

namespace weir {

inline constexpr size_t kMaxYamlScalarBytes = size_t{64} << 10;
inline constexpr size_t kMaxYamlDepth = 32;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  int line = 1;                           // from 1, as in editors
  int column = 1;                         // from 1
  bool plain = true;                      // true for a scalar without quotes
  std::string text;                       // a scalar's text
  std::vector<const YamlNode*> children;  // a list's items; a map's key, value, key, value…

  size_t values = 1;  // values in this subtree, with aliases unfolded
  size_t depth = 1;   // levels in this subtree
};

class YamlTree {
 public:
  // Returns the tree of `text`, or an error of one line that begins with file:line:column.
  static Result<YamlTree> Parse(std::string_view text, std::string_view file, const YamlBounds& bounds);

  // Returns the root, which lives as long as the tree. It is of kind kNull if the file has no value.
  const YamlNode& root() const { return *root_; }

 private:
  friend class YamlTreeBuilder;

  std::deque<YamlNode> nodes_;  // never moves its elements
  const YamlNode* root_ = nullptr;
};

}  // namespace weir
