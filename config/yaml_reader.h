// Reads configuration from YAML, such as limits for each endpoint. Every error message says where the error is, what
// was found and what was expected. If a file has an error, the caller must discard all values that were read from it.
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
// A key that the callback of the map did not ask for is an error, and so is a key that occurs twice. A YamlValue is
// valid only until the callback of the file returns. The callbacks run in the thread that calls ReadYaml.
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

// Limits for a whole file; a larger file is refused. An alias counts as all values that it stands for. The defaults
// suit files that people write.
struct YamlBounds {
  size_t file_bytes = size_t{4} << 20;
  size_t values = 100'000;
};

// One value of the file. It is absent if its key is absent, or if an optional key has an empty value. The functions of
// an absent value do nothing.
class YamlValue {
 public:
  explicit operator bool() const { return node_ != nullptr; }  // true unless the value is absent

  // Each Read assigns the value to the variable. If the value is absent, the variable stays as it is; if the value is
  // wrong, the variable stays as it is and an error is added. Numbers and bools must be without quotes.
  void Read(bool* variable) const;
  void Read(double* variable, const NumberRange& range) const;
  void Read(int64_t* variable, const NumberRange& range) const;
  void Read(uint64_t* variable, const NumberRange& range) const;
  void Read(std::string* variable) const;  // refuses an empty text
  void ReadSeconds(Duration* variable, NumberRange range) const;
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Read(Enum* variable, const std::vector<std::pair<std::string, Enum>>& words) const;

  bool is_map() const;
  bool is_list() const;
  // Calls `read` for each item of a list, in order. If the value is no list, adds an error and does not call `read`.
  void List(const std::function<void(YamlValue item)>& read) const;
  // Calls `read` once with a map whose keys the program knows. If the value is no map, adds an error and does not call
  // `read`.
  void Map(const std::function<void(YamlMap& map)>& read) const;
  // Calls `read` for each pair of a map whose keys the user chooses. If the value is no map, adds an error and does not
  // call `read`. With Keys::kSecrets, errors show "…" in place of each key.
  enum class Keys : uint8_t { kNames, kSecrets };
  void Entries(const std::function<void(std::string_view key, YamlValue value)>& read, Keys keys = Keys::kNames) const;

  // Adds an error at the place of this value, for a rule that only the caller can check.
  void Error(std::string_view what) const;
  // Adds the error that `what`, such as "the path /a", is in this value again, though it may be in one value only.
  // `first_line` is the line of the first value that has it.
  void ErrorAgain(std::string_view what, int first_line) const;
  // Returns the line of this value in the file, from 1; 0 if the value is absent.
  int line() const;

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

// A map whose keys the program knows.
class YamlMap {
 public:
  // Returns the value of `key`. Adds an error if the key is absent. An empty value is an error when it is read.
  YamlValue Required(std::string_view key);
  // Returns the value of `key`, which may be absent or empty.
  YamlValue Optional(std::string_view key);

 private:
  friend class YamlValue;

  explicit YamlMap(const YamlValue& value) : value_(value) {}
  const YamlNode* Find(std::string_view key);
  void RefuseUnknown() const;

  const YamlValue& value_;
  std::vector<std::string> asked_;
};

// Parses `text` and calls `read` once with its root, which must be a map; an empty file is an empty map. `file` is the
// file's name in the errors. The message of the returned status has a line for each error, in the order of the file;
// after 20 errors there is only a line with the number of the others. If the text is no YAML, exceeds the bounds, or is
// no map, `read` is not called.
Status ReadYaml(std::string_view text, std::string_view file, const std::function<void(YamlMap& root)>& read,
                const YamlBounds& bounds = {});
// Does the same with the content of the file at `path`. Returns an error if the file cannot be read.
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
