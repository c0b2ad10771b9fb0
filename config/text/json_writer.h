// Writes JSON for people to read: two spaces a level, lists on one line. Or, compact, without white space: for
// programs.
//
//   JsonWriter json;
//   json.Open('{');
//   json.Member("name").String("weir");
//   json.Member("nips").Open('[');
//   json.Number(1);
//   json.Close(']');
//   json.Close('}');
//   std::move(json).Text();
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

class JsonWriter {
 public:
  enum class Layout : uint8_t { kReadable, kCompact };

  explicit JsonWriter(Layout layout = Layout::kReadable) : compact_(layout == Layout::kCompact) {}

  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  // The name of the value that is written next.
  JsonWriter& Member(std::string_view name);

  void String(std::string_view text);
  void Bool(bool value);
  // An infinite number or NaN becomes null.
  void Number(double value);
  // Rounds to so many significant digits.
  void Number(double value, int digits);
  template <std::integral Integer>
  void Number(Integer value) {
    Raw(std::to_string(value));
  }

  size_t size() const { return text_.size(); }  // so far
  // Returns the text, which ends with a newline.
  std::string Text() &&;

 private:
  void Raw(std::string_view text);
  void BeginValue();
  void NewLine();

  const bool compact_;
  std::string text_;
  std::string open_;           // the brackets that are open
  bool first_ = true;          // the innermost bracket has no value yet
  bool after_member_ = false;  // a member's name is written, its value is not
};

}  // namespace weir
