#include "import/run/checkpoint.h"

#include <simdjson.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "config/replace_file.h"
#include "config/text/json_writer.h"
#include "config/text/readable.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using simdjson::dom::element;

constexpr uint64_t kVersion = 1;

// Reads the members of a JSON object, and remembers the first that is missing or of another type.
class Reader {
 public:
  explicit Reader(element object) : object_(object) {}

  template <typename T>
  T Get(std::string_view name) {
    T value{};
    if (object_[name].get(value) != simdjson::SUCCESS && wrong_.empty()) wrong_ = name;
    return value;
  }
  std::string Text(std::string_view name) { return std::string(Get<std::string_view>(name)); }

  const std::string& wrong() const { return wrong_; }

 private:
  element object_;
  std::string wrong_;
};

Status Damaged(const std::string& why) { return Status::Error("is damaged: " + why); }

// A checkpoint of a version before policy plugins has no count of the lines that they refused.
Status ReadTally(element object, Tally* tally) {
  Reader reader(object);
  for (size_t i = 0; i < kLineOutcomes; ++i) {
    const auto outcome = static_cast<LineOutcome>(i);
    const bool may_miss = outcome == LineOutcome::kRefused && object[KeyOf(outcome)].error() != simdjson::SUCCESS;
    if (!may_miss) tally->lines[i] = reader.Get<uint64_t>(KeyOf(outcome));
  }
  tally->bytes = reader.Get<uint64_t>("bytes");
  return reader.wrong().empty() ? Status() : Damaged("no \"" + reader.wrong() + "\" in \"tally\"");
}

Status ReadNames(element object, const std::string& member, std::vector<std::string>* names) {
  simdjson::dom::array list;
  if (object[member].get(list) != simdjson::SUCCESS) return Damaged("no \"" + member + "\"");
  for (const element name : list) {
    std::string_view text;
    if (name.get(text) != simdjson::SUCCESS) return Damaged("\"" + member + "\" are not names");
    names->emplace_back(text);
  }
  return {};
}

void WriteNames(std::string_view member, const std::vector<std::string>& names, JsonWriter* json) {
  json->Member(member).Open('[');
  for (const std::string& name : names) json->String(AsText(name));
  json->Close(']');
}

Status Error(const std::string& what, const std::string& path) {
  const int error = errno;
  return Status::Error("cannot " + what + " the checkpoint " + AsText(path) + ": " + std::strerror(error));
}

}  // namespace

std::string ToJson(const Checkpoint& checkpoint) {
  JsonWriter json;
  json.Open('{');
  json.Member("version").Number(kVersion);
  WriteNames("inputs", checkpoint.inputs, &json);
  WriteNames("names", checkpoint.names, &json);
  json.Member("input").Number(checkpoint.input);
  json.Member("lines").Number(checkpoint.place.lines);
  json.Member("bytes").Number(checkpoint.place.bytes);
  json.Member("tail").String(checkpoint.tail);
  json.Member("rejects").String(AsText(checkpoint.rejects));
  json.Member("rejects_bytes").Number(checkpoint.rejects_bytes);
  json.Member("rejects_mark").String(checkpoint.rejects_mark);
  json.Member("database").String(AsText(checkpoint.database));
  json.Member("tally").Open('{');
  for (size_t i = 0; i < kLineOutcomes; ++i)
    json.Member(KeyOf(static_cast<LineOutcome>(i))).Number(checkpoint.tally.lines[i]);
  json.Member("bytes").Number(checkpoint.tally.bytes);
  json.Close('}');
  json.Close('}');
  return std::move(json).Text();
}

Result<Checkpoint> ParseCheckpoint(std::string_view json) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  element object;
  if (const auto error = parser.parse(padded).get(object)) return Damaged(simdjson::error_message(error));
  if (!object.is_object()) return Damaged("no object");
  Reader reader(object);
  const auto version = reader.Get<uint64_t>("version");
  if (reader.wrong().empty() && version != kVersion) {
    return Status::Error("is of version " + std::to_string(version) + ", this program knows " +
                         std::to_string(kVersion));
  }
  Checkpoint checkpoint;
  const auto input = reader.Get<uint64_t>("input");
  checkpoint.input = static_cast<uint32_t>(input);
  checkpoint.place = {.bytes = reader.Get<uint64_t>("bytes"), .lines = reader.Get<uint64_t>("lines")};
  checkpoint.tail = reader.Text("tail");
  checkpoint.rejects = reader.Text("rejects");
  checkpoint.rejects_bytes = reader.Get<uint64_t>("rejects_bytes");
  std::string_view mark;
  if (object["rejects_mark"].get(mark) == simdjson::SUCCESS) checkpoint.rejects_mark = mark;
  checkpoint.database = reader.Text("database");
  const auto tally = reader.Get<element>("tally");
  if (!reader.wrong().empty()) return Damaged("no \"" + reader.wrong() + "\", or not as it should be");
  if (Status status = ReadTally(tally, &checkpoint.tally); !status.ok()) return status;
  if (Status status = ReadNames(object, "inputs", &checkpoint.inputs); !status.ok()) return status;
  if (Status status = ReadNames(object, "names", &checkpoint.names); !status.ok()) return status;
  if (input >= checkpoint.inputs.size()) return Damaged("\"input\" is beyond \"inputs\"");
  return checkpoint;
}

// The canonical path fails for a pipe in /proc (/dev/fd/63), whose link has no target. The result then keeps the link.
std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(fs::absolute(path), error);
  return (error ? fs::absolute(path).lexically_normal() : canonical).string();
}

std::vector<std::string> AbsolutePaths(const std::vector<std::string>& inputs) {
  std::vector<std::string> paths;
  for (const std::string& input : inputs) paths.push_back(input == "-" ? input : AbsolutePath(input));
  return paths;
}

std::string CheckpointName(const std::vector<std::string>& absolute_inputs, std::string_view relay) {
  std::string all(relay);
  for (const std::string& input : absolute_inputs) all.append(1, '\0').append(input);
  return ToHex(Sha256(all)).substr(0, 16) + ".json";
}

Status CheckpointFile::Hold() {
  const std::string path = path_ + ".lock";
  const HeldFile::Outcome outcome = lock_.Open(path);
  if (outcome == HeldFile::Outcome::kInUse)
    return Status::Error("these files are being imported by " + Describe(FindHolder(path).value_or(LockHolder())));
  if (outcome == HeldFile::Outcome::kFailed) return Error("lock", path_);
  lock_.Say(std::to_string(getpid()) + "\n");
  return {};
}

Result<std::optional<Checkpoint>> CheckpointFile::Read() const {
  std::ifstream in(path_, std::ios::binary);
  if (!in) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<Checkpoint>();
    return Error("read", path_);
  }
  std::ostringstream text;
  text << in.rdbuf();
  Result<Checkpoint> checkpoint = ParseCheckpoint(std::move(text).str());
  if (!checkpoint.ok()) return Status::Error("the checkpoint " + AsText(path_) + " " + checkpoint.status().message());
  return std::optional(std::move(checkpoint).value());
}

Status CheckpointFile::Write(const Checkpoint& checkpoint) const {
  return ReplaceFile(path_, ToJson(checkpoint)) ? Status() : Error("write", path_);
}

Status CheckpointFile::Remove() const {
  if (unlink(path_.c_str()) != 0 && errno != ENOENT) return Error("remove", path_);
  return {};
}

}  // namespace weir
