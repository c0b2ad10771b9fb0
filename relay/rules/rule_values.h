// Reads the values that rules of weir.yaml have in common: texts, keys, kinds, times and rungs. A wrong value adds an
// error with its place (config/yaml_reader.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/yaml_reader.h"
#include "relay/rules/key_set.h"
#include "relay/rules/kind_set.h"
#include "relay/rules/rung.h"

namespace weir {

// The files beside weir.yaml that rules name.
struct RuleFiles {
  std::string directory;            // that of weir.yaml
  std::vector<std::string>& names;  // gets the path of each file that is asked for
};

// Some kinds, and their place in the file.
struct OfKinds {
  YamlValue value;
  KindSet kinds;
};
using KindItems = std::vector<OfKinds>;

// Returns `found "…", which …`.
std::string NotExpected(std::string_view found, std::string_view why);

// Calls `read` with the text of each item of a list. An empty list is an error.
template <typename Read>
void ReadTexts(const YamlValue& list, Read read) {
  size_t items = 0;
  list.List([&](const YamlValue& item) {
    ++items;
    std::string text;
    item.Read(&text);
    if (!text.empty()) read(item, text);
  });
  if (list.is_list() && items == 0) list.Error("found an empty list, expected at least one item");
}

// Reads the keys of `name`, npub or hex, and of the file that `name`_file names, with one key a line.
KeySet ReadKeys(YamlMap& map, const std::string& name, const RuleFiles& files);
// Reads a list such as [7, 30000-39999] and adds its kinds to `kinds` and its items to `items`.
void ReadKinds(const YamlValue& list, KindSet* kinds, KindItems* items);
// Reads a time such as 30d, 12h, 15m or 90s, of at most ten years. Returns false if there is none; a wrong one reads
// as 0, so that it is not also missing.
bool ReadSpan(const YamlValue& value, std::optional<uint64_t>* seconds);
// Reads the name of one of the four rungs that rules can name; the lowest, "reported", has none below it.
void ReadRung(const YamlValue& value, std::optional<Rung>* rung);

}  // namespace weir
