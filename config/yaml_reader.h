// Reads limits with structure from YAML. Every error says where it is, what was found and what was expected. A file
// with an error is refused whole: the caller must throw away what it read before.
//
//   struct Endpoint {
//     std::string name;
//     double rate = 10;
//     Duration timeout = std::chrono::seconds(5);
//     OnFault on_fault = OnFault::kHold;
//     std::vector<std::string> keys;
//   };
//
//   Result<std::vector<Endpoint>> ReadEndpoints(const std::string& path) {
//     std::vector<Endpoint> endpoints;
//     Status status = ReadYamlFile(path, [&](YamlMap& root) {
//       root.Required("endpoints").List([&](YamlValue item) {
//         Endpoint& e = endpoints.emplace_back();
//         item.Map([&](YamlMap& map) {
//           map.Required("name").Read(&e.name);
//           map.Optional("rate").Read(&e.rate, {.min = 0.001, .max = 1e6, .unit = "requests/s"});
//           map.Optional("timeout").ReadSeconds(&e.timeout, {.min = 0.001, .max = 3600});
//           map.Optional("on_fault").Read(&e.on_fault, {{"hold", OnFault::kHold}, {"open", OnFault::kOpen}});
//           map.Optional("keys").List([&](YamlValue key) { key.Read(&e.keys.emplace_back()); });
//         });
//       });
//     });
//     if (!status.ok()) return status;
//     return endpoints;
//   }
//
//   weir.yaml:7:11: endpoints[1].rate: found "fast", expected a number within 0.001..1000000 (requests/s)
//   weir.yaml:8:5: endpoints[1]: found the key "timeot", expected one of name, rate, timeout, on_fault, keys; did you
//   mean "timeout"?
//
// A key that the map's callback did not ask for is an error, and so is a key that stands there twice. A YamlValue must
// not be kept beyond the callback of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "config/text/parse.h"

namespace weir {

struct YamlNode;
class YamlErrors;
class YamlMap;

// Bounds of the whole file; `values` counts with aliases unfolded. More is refused. The defaults suit files that people
// write.
struct YamlBounds {
  size_t file_bytes = size_t{4} << 20;
  size_t values = 100'000;
};

// One value of the file, or none if an optional key is absent or empty: then every call does nothing.
class YamlValue {
 public:
  explicit operator bool() const { return node_ != nullptr; }

  // Each leaves the variable alone if the value is absent or wrong.
  void Read(bool* variable) const;
  void Read(double* variable, const NumberRange& range) const;
  void Read(int64_t* variable, const NumberRange& range) const;
  void Read(uint64_t* variable, const NumberRange& range) const;
  void Read(std::string* variable) const;  // not empty
  void ReadSeconds(Duration* variable, NumberRange range) const;
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Read(Enum* variable, const std::vector<std::pair<std::string, Enum>>& words) const;

  bool is_map() const;
  void List(const std::function<void(YamlValue item)>& read) const;
  // Reads a map whose keys the program knows.
  void Map(const std::function<void(YamlMap& map)>& read) const;
  // Reads a map whose keys the user chooses. The errors show keys that are secrets as "…".
  enum class Keys : uint8_t { kNames, kSecrets };
  void Entries(const std::function<void(std::string_view key, YamlValue value)>& read, Keys keys = Keys::kNames) const;

  // Adds an error at this value, one that only the caller can find.
  void Error(std::string_view what) const;

 private:
  friend class YamlMap;
  friend Status ReadYaml(std::string_view, std::string_view, const std::function<void(YamlMap&)>&, const YamlBounds&);

  YamlValue(const YamlNode* node, YamlErrors* errors, std::string path)
      : node_(node), errors_(errors), path_(std::move(path)) {}
  template <typename Number, typename Parse>
  void ReadNumber(Number* variable, const NumberRange& range, Parse parse, std::string_view kind) const;
  std::optional<size_t> ReadWord(const std::vector<std::string>& words) const;
  const std::string* PlainText(std::string_view expected) const;
  void Expected(std::string_view expected) const;
  void EachPair(const std::function<void(const YamlNode& key, const YamlNode& value)>& visit,
                Keys keys = Keys::kNames) const;
  std::string PathOf(std::string_view key) const;

  const YamlNode* node_;
  YamlErrors* errors_;
  std::string path_;  // "endpoints[1].rate"
};

class YamlMap {
 public:
  YamlValue Required(std::string_view key);
  YamlValue Optional(std::string_view key);

 private:
  friend class YamlValue;

  explicit YamlMap(const YamlValue& value) : value_(value) {}
  const YamlNode* Find(std::string_view key);
  void RefuseUnknown() const;

  const YamlValue& value_;
  std::vector<std::string> asked_;
};

// The root must be a map; an empty file counts as an empty map. The status has one error a line, in the order of the
// file, and at most 20 of them.
Status ReadYaml(std::string_view text, std::string_view file, const std::function<void(YamlMap& root)>& read,
                const YamlBounds& bounds = {});
Status ReadYamlFile(const std::string& path, const std::function<void(YamlMap& root)>& read,
                    const YamlBounds& bounds = {});

template <typename Enum>
requires std::is_enum_v<Enum>
void YamlValue::Read(Enum* variable, const std::vector<std::pair<std::string, Enum>>& words) const {
  std::vector<std::string> texts;
  for (const auto& [text, value] : words) texts.push_back(text);
  if (const std::optional<size_t> index = ReadWord(texts)) *variable = words[*index].second;
}

}  // namespace weir
