// SettingTable: the settings of a program, from the environment or from flags of the command line. Each setting is a
// typed variable that is declared once, beside the code that uses it.
//
//   struct CacheSettings {
//     uint64_t size_mb = 64;
//   };
//   void Declare(SettingTable& table, CacheSettings& s) {
//     table.Add("CACHE_SIZE_MB", &s.size_mb, {.min = 1, .max = 4096, .unit = "MiB"}, "memory for cached blocks");
//   }
//
// The default is the value that the variable has when it is declared. Load replaces it by the value of WEIR_<NAME> in
// the environment, or else of ORLY_<NAME> (the prefix of ORLY, another relay, from which users may move to weir). One
// setting can take its default from another:
//
//   table.DefaultFrom("IMPORT_CACHE_SIZE_MB", "CACHE_SIZE_MB");
//
// Here the first setting takes the value of the second if the user gave the second and not the first. The table keeps a
// row for every setting; `weir config` prints the rows, also as config/SETTINGS.md.
//
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

// The variables of an environment, by name. Callers pass it in, so tests need not change the process's environment.
using Environment = std::map<std::string, std::string, std::less<>>;
// Returns a copy of the environment of this process.
Environment ProcessEnvironment();

// A setting as `weir config` prints it.
struct SettingRow {
  std::string name;  // without prefix
  std::string default_value;
  std::string value;
  bool hidden = false;  // true if `value` is masked, because it contains a secret
  std::string source;   // "default", a variable such as "WEIR_PORT", a flag such as "--port", or "inherited from …"
  std::string unit;
  std::string range;  // "0..1", "true|false", "hold|open", "" for free text
  std::string meaning;
  bool for_embedding = false;  // true if only programs that embed weir use it
};

// A flag of the command line that sets a setting in place of the environment.
struct SettingFlag {
  std::string flag;     // the flag as the user gave it, "--port"; becomes the setting's source
  std::string setting;  // the setting's name, without prefix
  std::string text;     // the value
};

// The variables must live until the last Load. A wrong declaration (a name declared twice, a default out of its own
// range, or a function called with a name that was not declared before) is a bug and throws std::logic_error.
class SettingTable {
 public:
  // Declares a setting. `name` is without prefix; `meaning` completes "NAME: …" in lists.
  void Add(std::string name, bool* variable, std::string meaning);
  void Add(std::string name, double* variable, NumberRange range, std::string meaning);
  void Add(std::string name, int64_t* variable, NumberRange range, std::string meaning);
  void Add(std::string name, uint64_t* variable, NumberRange range, std::string meaning);
  // Declares a number of milliseconds. Its name should end in _MS; the unit of `range` is replaced by "ms".
  void Add(std::string name, std::chrono::milliseconds* variable, NumberRange range, std::string meaning);
  void Add(std::string name, std::string* variable, std::string meaning);
  // Declares a setting whose value must not appear on a screen or in a log: the rows have `show(value)` instead, by
  // default "***" for any value that is not empty.
  using Show = std::function<std::string(std::string_view value)>;
  void AddSecret(std::string name, std::string* variable, std::string meaning, Show show = HideAll);
  // Declares a setting that accepts one of the words. The variable, an enum, gets the value that belongs to the word.
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void Add(std::string name, Enum* variable, std::vector<std::pair<std::string, Enum>> words, std::string meaning);

  // Gives `heir` the value of `from` if `from` is set and `heir` is not. Both must be declared before. `heir` must
  // accept every text that `from` accepts, and must have no heirs itself.
  void DefaultFrom(std::string_view heir, std::string_view from);

  // Makes Load read `variable`, which belongs to another program, if neither WEIR_<name> nor ORLY_<name> is set.
  void AlsoFrom(std::string_view name, std::string variable);

  // Marks a setting that changes nothing in weir's own programs, only in programs that embed weir. `weir config` prints
  // these settings last.
  void ForEmbedding(std::string_view name);

  // Reads every declared setting from the environment (a blank value counts as none) and then from the flags, which
  // take precedence. The error message has a line for each bad variable and flag, with its name, its value and the
  // allowed values. After an error all declared variables keep the values that they had.
  Status Load(const Environment& environment, const std::vector<SettingFlag>& flags = {});

  // Returns a warning for each variable of the environment that starts with WEIR_ and is not declared here, with the
  // nearest declared name if there is one ("WEIR_SETPONT is not a setting; did you mean WEIR_SETPOINT?"). Many
  // variables that start with ORLY_ have no counterpart in weir. Such a variable gets a warning only if it resembles a
  // declared name or begins with the same two words as one of them.
  std::vector<std::string> UnknownNames(const Environment& environment) const;

  const std::vector<SettingRow>& rows() const { return rows_; }

 private:
  // A text that was accepted: its printed form, and the function that assigns its value to the variable.
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
