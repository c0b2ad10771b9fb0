#include "config/yaml_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>

#include "config/yaml_tree.h"

namespace weir {

class YamlErrors {
 public:
  void Add(const YamlNode& at, const std::string& path, std::string_view what) {
    std::string message = path.empty() ? "" : path + ": ";
    errors_.push_back({at.line, at.column, message.append(what)});
  }

  Status Finish(std::string_view file) {
    if (errors_.empty()) return Status();
    std::ranges::stable_sort(errors_, {}, [](const Found& e) { return std::tuple(e.line, e.column); });
    std::vector<std::string> lines;
    for (const Found& e : errors_) {
      if (lines.size() == kMaxShown) break;
      lines.push_back(std::string(file) + ":" + std::to_string(e.line) + ":" + std::to_string(e.column) + ": " +
                      e.what);
    }
    if (errors_.size() > kMaxShown) lines.push_back("and " + std::to_string(errors_.size() - kMaxShown) + " more");
    return Status::Error(Join(lines, "\n"));
  }

 private:
  static constexpr size_t kMaxShown = 20;
  struct Found {
    int line;
    int column;
    std::string what;
  };
  std::vector<Found> errors_;
};

namespace {

using Kind = YamlNode::Kind;

const std::string kHidden = "…";

std::string Quoted(std::string_view text) { return "\"" + Printable(text) + "\""; }

std::string DescribeFound(const YamlNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
    case Kind::kScalar:
      break;
  }
  return node.plain ? Quoted(node.text) : "the text " + Quoted(node.text);
}

std::string FoundAgain(std::string_view what, int first_line) {
  return "found " + std::string(what) + " again, expected it once (it stands in line " + std::to_string(first_line) +
         ")";
}

}  // namespace

void YamlValue::Error(std::string_view what) const {
  if (node_ != nullptr) errors_->Add(*node_, path_, what);
}

void YamlValue::ErrorAgain(std::string_view what, int first_line) const { Error(FoundAgain(what, first_line)); }

int YamlValue::line() const { return node_ == nullptr ? 0 : node_->line; }

void YamlValue::Expected(std::string_view expected) const {
  Error("found " + DescribeFound(*node_) + ", expected " + std::string(expected));
}

// Returns nullptr if the value is absent. Adds an error and returns nullptr if it is not plain text: a quoted value is
// a text, not a number.
const std::string* YamlValue::PlainText(std::string_view expected) const {
  if (node_ == nullptr) return nullptr;
  if (node_->kind == Kind::kScalar && node_->plain) return &node_->text;
  Expected(expected);
  return nullptr;
}

void YamlValue::Read(bool* variable) const {
  static constexpr std::string_view kExpected = "true or false";
  const std::string* text = PlainText(kExpected);
  if (text == nullptr) return;
  const Result<bool> parsed = ParseBool(*text);
  if (!parsed.ok()) return Expected(kExpected);
  *variable = parsed.value();
}

template <typename Number, typename Parse>
void YamlValue::ReadNumber(Number* variable, const NumberRange& range, Parse parse, std::string_view kind) const {
  const std::string expected = std::string(kind) + " within " + FormatRangeAndUnit(range);
  const std::string* text = PlainText(expected);
  if (text == nullptr) return;
  const Result<Number> parsed = parse(*text, range);
  if (!parsed.ok()) return Expected(expected);
  *variable = parsed.value();
}

void YamlValue::Read(double* variable, const NumberRange& range) const {
  ReadNumber(variable, range, ParseNumber, "a number");
}

void YamlValue::Read(int64_t* variable, const NumberRange& range) const {
  ReadNumber(variable, range, ParseInteger, "a whole number");
}

void YamlValue::Read(uint64_t* variable, const NumberRange& range) const {
  ReadNumber(variable, range, ParseUnsigned, "a whole number");
}

void YamlValue::ReadSeconds(Duration* variable, NumberRange range) const {
  range.unit = "s";
  double seconds = ToSeconds(*variable);
  const double before = seconds;
  Read(&seconds, range);
  if (seconds != before) *variable = FromSeconds(seconds);
}

void YamlValue::Read(std::string* variable) const {
  if (node_ == nullptr) return;
  if (node_->kind != Kind::kScalar || node_->text.empty()) return Expected("a text");
  *variable = node_->text;
}

std::optional<size_t> YamlValue::ReadWord(const std::vector<std::string>& words) const {
  if (node_ == nullptr) return std::nullopt;
  if (node_->kind == Kind::kScalar) {
    const auto found = std::ranges::find(words, node_->text);
    if (found != words.end()) return static_cast<size_t>(found - words.begin());
  }
  Expected((words.size() == 1 ? "" : "one of ") + Join(words, ", "));
  return std::nullopt;
}

bool YamlValue::is_map() const { return node_ != nullptr && node_->kind == Kind::kMap; }

bool YamlValue::is_list() const { return node_ != nullptr && node_->kind == Kind::kList; }

void YamlValue::List(const std::function<void(YamlValue)>& read) const {
  if (node_ == nullptr) return;
  if (node_->kind != Kind::kList) return Expected("a list");
  for (size_t i = 0; i < node_->children.size(); ++i)
    read(YamlValue(node_->children[i], errors_, path_ + "[" + std::to_string(i) + "]"));
}

std::string YamlValue::PathOf(std::string_view key) const {
  return path_.empty() ? Printable(key) : path_ + "." + Printable(key);
}

// Visits each pair whose key is a text that did not occur before; adds an error for every other pair.
void YamlValue::EachPair(const std::function<void(const YamlNode& key, const YamlNode& value)>& visit,
                         Keys keys) const {
  std::map<std::string_view, int> first_line;
  for (size_t i = 0; i + 1 < node_->children.size(); i += 2) {
    const YamlNode& key = *node_->children[i];
    if (key.kind != Kind::kScalar || key.text.empty()) {
      errors_->Add(key, path_, "found " + DescribeFound(key) + " as a key, expected a text");
      continue;
    }
    const auto [before, is_new] = first_line.emplace(key.text, key.line);
    if (is_new) {
      visit(key, *node_->children[i + 1]);
    } else {
      errors_->Add(key, path_,
                   FoundAgain("the key " + (keys == Keys::kSecrets ? kHidden : Quoted(key.text)), before->second));
    }
  }
}

void YamlValue::Entries(const std::function<void(std::string_view, YamlValue)>& read, Keys keys) const {
  if (node_ == nullptr) return;
  if (node_->kind != Kind::kMap) return Expected("a map");
  const auto visit = [&](const YamlNode& key, const YamlNode& value) {
    read(key.text, YamlValue(&value, errors_, PathOf(keys == Keys::kSecrets ? kHidden : key.text)));
  };
  EachPair(visit, keys);
}

void YamlValue::Map(const std::function<void(YamlMap&)>& read) const {
  if (node_ == nullptr) return;
  if (node_->kind != Kind::kMap) return Expected("a map");
  YamlMap map(*this);
  read(map);
  map.RefuseUnknown();
}

const YamlNode* YamlMap::Find(std::string_view key) {
  asked_.emplace_back(key);
  const std::vector<const YamlNode*>& children = value_.node_->children;
  for (size_t i = 0; i + 1 < children.size(); i += 2)
    if (children[i]->kind == Kind::kScalar && children[i]->text == key) return children[i + 1];
  return nullptr;
}

YamlValue YamlMap::Required(std::string_view key) {
  const YamlNode* node = Find(key);
  if (node == nullptr) value_.Error("found no key " + Quoted(key) + ", expected one");
  return YamlValue(node, value_.errors_, value_.PathOf(key));
}

YamlValue YamlMap::Optional(std::string_view key) {
  const YamlNode* node = Find(key);
  const bool absent = node == nullptr || node->kind == Kind::kNull;
  return YamlValue(absent ? nullptr : node, value_.errors_, value_.PathOf(key));
}

void YamlMap::RefuseUnknown() const {
  value_.EachPair([&](const YamlNode& key, const YamlNode&) {
    if (std::ranges::find(asked_, key.text) != asked_.end()) return;
    std::string what = "found the key " + Quoted(key.text) + ", expected ";
    what += asked_.empty() ? "none" : (asked_.size() == 1 ? "" : "one of ") + Join(asked_, ", ");
    const std::string_view nearest = NearestName(key.text, {asked_.begin(), asked_.end()});
    if (!nearest.empty()) what += "; did you mean " + Quoted(nearest) + "?";
    value_.errors_->Add(key, value_.path_, what);
  });
}

Status ReadYaml(std::string_view text, std::string_view file, const std::function<void(YamlMap&)>& read,
                const YamlBounds& bounds) {
  const Result<YamlTree> tree = YamlTree::Parse(text, file, bounds);
  if (!tree.ok()) return tree.status();
  YamlNode root = tree.value().root();
  if (root.kind == Kind::kNull) root = YamlNode{.kind = Kind::kMap};
  YamlErrors errors;
  YamlValue(&root, &errors, "").Map(read);
  return errors.Finish(file);
}

Status ReadYamlFile(const std::string& path, const std::function<void(YamlMap&)>& read, const YamlBounds& bounds) {
  const auto failed = [&] { return Status::Error(path + ": cannot be read: " + std::strerror(errno)); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return failed();
  std::string text;
  std::array<char, 1 << 16> buffer;
  // One byte beyond the bound is enough for Parse to refuse it, even if the file has no end.
  while (text.size() <= bounds.file_bytes) {
    const size_t got = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text.append(buffer.data(), got);
    if (got == 0) break;
  }
  if (std::ferror(file.get()) != 0) return failed();
  return ReadYaml(text, path, read, bounds);
}

}  // namespace weir
