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
  // What is no finite number becomes null.
  void Number(double value);
  // Rounded to so many digits.
  void Number(double value, int digits);
  template <std::integral Integer>
  void Number(Integer value) {
    Raw(std::to_string(value));
  }

  size_t size() const { return text_.size(); }  // so far
  // Ends with a newline.
  std::string Text() &&;

 private:
  void Raw(std::string_view text);
  void BeginValue();
  void NewLine();

  const bool compact_;
  std::string text_;
  std::string open_;           // the brackets that are
  bool first_ = true;          // in the innermost one
  bool after_member_ = false;  // the name stands there already
};

}  // namespace weir
