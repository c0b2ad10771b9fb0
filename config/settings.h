// Typed settings, declared once, beside the code that uses them.
//
//   struct CacheSettings {
//     uint64_t size_mb = 64;
//   };
//   void Declare(SettingTable& table, CacheSettings& s) {
//     table.Add("CACHE_SIZE_MB", &s.size_mb, {.min = 1, .max = 4096, .unit = "MiB"}, "memory for cached blocks");
//   }
//
// The variable's value when it is declared is the default; Load replaces it by WEIR_<NAME> of the environment, else by
// ORLY_<NAME>, else leaves it. With
//
//   table.DefaultFrom("IMPORT_CACHE_SIZE_MB", "CACHE_SIZE_MB");
//
// the first takes the value of the second if that was given and the first was not. AlsoFrom names a variable of another
// program, which is read last. The table remembers every row, so that `weir config` can print them, also as
// config/SETTINGS.md.
// Not thread-safe: settings are read at start.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/status.h"
#include "config/text/parse.h"

namespace weir {

// The environment, handed in so that tests need not touch the process's own.
using Environment = std::map<std::string, std::string, std::less<>>;
Environment ProcessEnvironment();

struct SettingRow {
  std::string name;  // without prefix
  std::string default_value;
  std::string value;
  bool hidden = false;  // `value` is masked, for it contains a secret
  std::string source;  // "default", a variable ("WEIR_…", "ORLY_…"), a flag, such as "--port", or "inherited from …"
  std::string unit;
  std::string range;  // "0..1", "true|false", "hold|open", "" for free text
  std::string meaning;
  bool for_embedding = false;  // read by programs that embed weir, and by none of weir's own
};

// A flag that gives a setting in place of the environment.
struct SettingFlag {
  std::string flag;  // the flag as the user gave it, "--port": the setting's source
  std::string setting;
  std::string text;
};

// The variables must live until the last Load. A declaration that contradicts itself (a name declared twice, a default
// out of its own range) is a bug and throws std::logic_error.
class SettingTable {
 public:
  void Add(std::string name, bool* variable, std::string meaning);
  void Add(std::string name, double* variable, NumberRange range, std::string meaning);
  void Add(std::string name, int64_t* variable, NumberRange range, std::string meaning);
  void Add(std::string name, uint64_t* variable, NumberRange range, std::string meaning);
  // The name should end in _MS; the unit is ms.
  void Add(std::string name, std::chrono::milliseconds* variable, NumberRange range, std::string meaning);
  void Add(std::string name, std::string* variable, std::string meaning);
  // Adds a setting that must not be read over a shoulder or in a log: the rows contain `show(value)` instead.
  using Show = std::function<std::string(std::string_view value)>;
  void AddSecret(std::string name, std::string* variable, std::string meaning, Show show = HideAll);
  // Accepts one of the words; the variable, an enum, gets the value beside that word.
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Add(std::string name, Enum* variable, std::vector<std::pair<std::string, Enum>> words, std::string meaning);

  // Both must be declared. `heir` must take every text that `from` takes, and must have no heirs itself.
  void DefaultFrom(std::string_view heir, std::string_view from);

  // Reads this variable of the environment if neither WEIR_<name> nor ORLY_<name> is set.
  void AlsoFrom(std::string_view name, std::string variable);

  // Marks a setting that changes nothing in weir's own programs, only in programs that embed it: it is printed apart.
  void ForEmbedding(std::string_view name);

  // Reads every declared setting from the environment (a blank value counts as not set) and then from the flags. The
  // error has a line for each bad variable and flag with its name, its value and the values that are allowed; on error
  // all declared variables keep the values they had.
  Status Load(const Environment& environment, const std::vector<SettingFlag>& flags = {});

  // Returns a ready warning for each variable of the environment that starts with WEIR_ and is not declared here, with
  // the nearest declared name ("WEIR_SETPONT is not a setting; did you mean WEIR_SETPOINT?"). Many variables that start
  // with ORLY_ have no counterpart in weir, so these are included only if they are near a declared name or begin with
  // the same two words as one.
  std::vector<std::string> UnknownNames(const Environment& environment) const;

  const std::vector<SettingRow>& rows() const { return rows_; }

 private:
  // A text that was accepted: how it prints, and the call that assigns it to the variable.
  struct Parsed {
    std::string printed;
    std::function<void()> assign;
    bool hidden = false;
  };
  using Parser = std::function<Result<Parsed>(std::string_view text)>;

  static std::string HideAll(std::string_view value) { return value.empty() ? "" : "***"; }

  void AddRow(SettingRow row, Parser parse);
  void AddWords(std::string name, std::vector<std::string> words, size_t default_index,
                std::function<void(size_t index)> assign, std::string meaning);
  template <typename Variable, typename Parse, typename Print>
  void AddNumber(std::string name, Variable* variable, NumberRange range, std::string meaning, Parse parse,
                 Print print);
  void Assign(size_t index, const Parsed& parsed, std::string_view source);
  size_t IndexOf(std::string_view name) const;  // rows_.size() if there is none

  std::vector<SettingRow> rows_;
  std::vector<Parser> parsers_;                   // by the index of the row
  std::vector<std::pair<size_t, size_t>> heirs_;  // indices of `heir` and `from`
  std::map<size_t, std::string> others_;          // AlsoFrom's variables by the index of the row
};

template <typename Enum>
requires std::is_enum_v<Enum>
void SettingTable::Add(std::string name, Enum* variable, std::vector<std::pair<std::string, Enum>> words,
                       std::string meaning) {
  std::vector<std::string> texts;
  std::vector<Enum> values;
  size_t default_index = words.size();
  for (auto& [text, value] : words) {
    if (value == *variable && default_index == words.size()) default_index = texts.size();
    texts.push_back(std::move(text));
    values.push_back(value);
  }
  AddWords(
      std::move(name), std::move(texts), default_index,
      [variable, values = std::move(values)](size_t index) { *variable = values[index]; }, std::move(meaning));
}

}  // namespace weir
