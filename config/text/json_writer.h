// JsonWriter: writes a JSON text value by value. The readable layout indents each level by two spaces and puts no line
// breaks between the items of a list. The compact layout, for programs, has no white space.
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
#include <utility>

namespace weir {

// The caller must call the functions in an order that makes valid JSON; the class does not check it.
class JsonWriter {
 public:
  enum class Layout : uint8_t { kReadable, kCompact };

  explicit JsonWriter(Layout layout = Layout::kReadable) : compact_(layout == Layout::kCompact) {}

  // Open begins an object ('{') or a list ('['). Close ends the innermost one ('}' or ']').
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  // Writes the name of the value that the next call writes, within an object.
  JsonWriter& Member(std::string_view name);

  void String(std::string_view text);
  void Bool(bool value);
  // Writes the number as FormatNumber (parse.h) does, which reads back as the same number. Writes null for an infinite
  // number or NaN.
  void Number(double value);
  // Writes the number rounded to `digits` significant digits. Writes null for an infinite number or NaN.
  void Number(double value, int digits);
  template <std::integral Integer>
  void Number(Integer value) {
    Raw(std::to_string(value));
  }

  size_t size() const { return text_.size(); }  // bytes written so far
  // These two return the text; Text adds a newline at its end. The writer must not be used afterwards.
  std::string Value() && { return std::move(text_); }
  std::string Text() &&;

 private:
  void Raw(std::string_view text);
  void BeginValue();
  void NewLine();

  const bool compact_;
  std::string text_;
  std::string open_;           // the brackets that are open, the innermost last
  bool first_ = true;          // true if the innermost bracket has no value yet
  bool after_member_ = false;  // true if the name of a member is written and its value is not
};

}  // namespace weir
