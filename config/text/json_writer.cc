#include "config/text/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "config/text/json_string.h"
#include "config/text/parse.h"

namespace weir {

JsonWriter& JsonWriter::Open(char bracket) {
  BeginValue();
  text_ += bracket;
  open_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  const bool list = open_.back() == '[';
  open_.pop_back();
  if (!first_ && !list) NewLine();
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::Member(std::string_view name) {
  BeginValue();
  AppendJsonString(name, &text_);
  text_ += compact_ ? ":" : ": ";
  after_member_ = true;
  return *this;
}

void JsonWriter::String(std::string_view text) {
  BeginValue();
  AppendJsonString(text, &text_);
}

void JsonWriter::Bool(bool value) { Raw(value ? "true" : "false"); }

void JsonWriter::Number(double value) { Raw(std::isfinite(value) ? FormatNumber(value) : "null"); }

void JsonWriter::Number(double value, int digits) {
  if (!std::isfinite(value)) return Raw("null");
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits);
  Raw({text.data(), end.ptr});
}

std::string JsonWriter::Text() && { return std::move(text_) + "\n"; }

void JsonWriter::Raw(std::string_view text) {
  BeginValue();
  text_ += text;
}

void JsonWriter::BeginValue() {
  if (after_member_) {
    after_member_ = false;
    return;
  }
  if (open_.empty()) return;
  const bool list = open_.back() == '[';
  if (!first_) text_ += list && !compact_ ? ", " : ",";
  first_ = false;
  if (!list) NewLine();
}

void JsonWriter::NewLine() {
  if (!compact_) text_.append("\n").append(2 * open_.size(), ' ');
}

}  // namespace weir
