#include "relay/rules/rule_values.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "config/text/parse.h"
#include "config/text/time_span.h"
#include "relay/nostr/npub.h"

namespace weir {
namespace {

constexpr uint64_t kMostKindNumber = 65535;
constexpr size_t kMostKeyFileBytes = size_t{80} << 20;  // a million keys as npub

Result<PublicKey> ReadKey(std::string_view text) {
  Result<PublicKey> key = ParsePublicKey(text);
  if (key.ok()) return key;
  return Status::Error("found \"" + PrintableKey(text) + "\", which " + key.status().message());
}

Status ReadWholeFile(const std::string& path, std::string* text) {
  const auto failed = [&] { return Status::Error(path + ": cannot be read: " + std::strerror(errno)); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (file == nullptr) return failed();
  std::array<char, 1 << 16> buffer;
  for (size_t got = 1; got > 0 && text->size() <= kMostKeyFileBytes;) {
    got = std::fread(buffer.data(), 1, buffer.size(), file.get());
    text->append(buffer.data(), got);
  }
  if (std::ferror(file.get()) != 0) return failed();
  if (text->size() <= kMostKeyFileBytes) return Status();
  return Status::Error(path + ": found more than " + std::to_string(kMostKeyFileBytes) + " bytes, expected fewer");
}

// Reads a file with one key a line. The error names the first wrong line.
Status ReadKeyFile(const std::string& path, std::vector<PublicKey>* keys) {
  std::string text;
  if (Status status = ReadWholeFile(path, &text); !status.ok()) return status;
  const size_t before = keys->size();
  std::string_view rest = text;
  for (size_t line = 1; !rest.empty(); ++line) {
    const std::string_view whole = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), whole.size() + 1));
    const std::string_view word = TrimBlanks(whole.substr(0, whole.find('#')));
    if (word.empty()) continue;
    const Result<PublicKey> key = ReadKey(word);
    if (!key.ok())
      return Status::Error(path + ":" + std::to_string(line) + ":" + std::to_string(word.data() - whole.data() + 1) +
                           ": " + key.status().message());
    keys->push_back(key.value());
  }
  return keys->size() > before ? Status() : Status::Error(path + ": found no key, expected one a line");
}

// Reads "7" or "30000-39999".
bool ReadKindRange(std::string_view text, uint16_t* first, uint16_t* last) {
  const NumberRange range{.min = 0, .max = kMostKindNumber};
  const size_t dash = text.find('-');
  const Result<uint64_t> from = ParseUnsigned(text.substr(0, dash), range);
  const Result<uint64_t> to = dash == text.npos ? from : ParseUnsigned(text.substr(dash + 1), range);
  if (!from.ok() || !to.ok() || from.value() > to.value()) return false;
  *first = static_cast<uint16_t>(from.value());
  *last = static_cast<uint16_t>(to.value());
  return true;
}

}  // namespace

std::string NotExpected(std::string_view found, std::string_view why) {
  return "found \"" + Printable(found) + "\", which " + std::string(why);
}

KeySet ReadKeys(YamlMap& map, const std::string& name, const RuleFiles& files) {
  std::vector<PublicKey> keys;
  ReadTexts(map.Optional(name), [&](const YamlValue& item, const std::string& text) {
    const Result<PublicKey> key = ReadKey(text);
    key.ok() ? keys.push_back(key.value()) : item.Error(key.status().message());
  });
  std::string file;
  const YamlValue path = map.Optional(name + "_file");
  path.Read(&file);
  if (!file.empty()) {
    files.names.push_back((std::filesystem::path(files.directory) / file).string());
    if (const Status status = ReadKeyFile(files.names.back(), &keys); !status.ok()) path.Error(status.message());
  }
  return KeySet(keys);
}

void ReadKinds(const YamlValue& list, KindSet* kinds, KindItems* items) {
  ReadTexts(list, [&](const YamlValue& item, const std::string& text) {
    uint16_t first = 0;
    uint16_t last = 0;
    if (!ReadKindRange(text, &first, &last))
      return item.Error("found \"" + Printable(text) +
                        "\", expected a kind or a range of kinds within 0..65535, such as 30000-39999");
    OfKinds one{item, {}};
    one.kinds.Add(first, last);
    if (kinds->Contains(one.kinds)) return item.Error("found kinds that the list has already");
    kinds->Add(first, last);
    items->push_back(std::move(one));
  });
}

bool ReadSpan(const YamlValue& value, std::optional<uint64_t>* seconds) {
  std::string text;
  value.Read(&text);
  if (text.empty()) return false;
  const Result<uint64_t> span = ParseSpan(text);
  *seconds = span.ok() ? span.value() : 0;
  if (!span.ok())
    value.Error("found \"" + Printable(text) +
                "\", expected a time such as 30d, 12h, 15m or 90s, of at most ten years");
  return span.ok();
}

void ReadRung(const YamlValue& value, std::optional<Rung>* rung) {
  if (!value) return;
  Rung read = Rung::kRegular;
  value.Read(&read, {{"stranger", Rung::kStranger},
                     {"newcomer", Rung::kNewcomer},
                     {"regular", Rung::kRegular},
                     {"trusted", Rung::kTrusted}});
  *rung = read;
}

}  // namespace weir
