// A YAML document as a tree that knows where each value stands in the file. Private to the reader (yaml_reader.h).
//
// The cost of the tree is bounded before it is built: an alias counts as all that it stands for, so a small file that
// unfolds to billions of values is refused. So is an alias within its own anchor.
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
  int line = 1;  // both from 1, as editors count
  int column = 1;
  bool plain = true;                      // a scalar without quotes or tag
  std::string text;                       // a scalar's text
  std::vector<const YamlNode*> children;  // a list's items; a map's key, value, key, value…

  size_t values = 1;  // in this subtree, aliases unfolded
  size_t depth = 1;
};

class YamlTree {
 public:
  // The error is one line that begins with file:line:column.
  static Result<YamlTree> Parse(std::string_view text, std::string_view file, const YamlBounds& bounds);

  // A file without any value has a null root.
  const YamlNode& root() const { return *root_; }

 private:
  friend class YamlTreeBuilder;

  std::deque<YamlNode> nodes_;  // never moves its elements
  const YamlNode* root_ = nullptr;
};

}  // namespace weir
