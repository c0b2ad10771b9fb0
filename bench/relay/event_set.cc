#include "bench/relay/event_set.h"

#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "bench/relay/replies.h"
#include "config/wire/websocket/client_frames.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// Raise it when MakeEvents makes other events.
constexpr int kVersion = 1;
constexpr auto kLongestKept = std::chrono::hours(24 * 30);  // relays refuse events that are too old

bool IsFresh(const fs::path& file) {
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  return !error && fs::file_time_type::clock::now() - written <= kLongestKept;
}

// Writes under another name first, so that a file that is there is whole.
Status WriteWhole(const EventRecipe& recipe, const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);  // opening the file reports the error better
  const fs::path unfinished = file.string() + "." + std::to_string(getpid());
  std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
  MakeEvents(recipe, [&](const std::string& json) { out << json << '\n'; });
  out.close();
  if (out.good()) fs::rename(unfinished, file, error);
  return out.good() && !error ? Status() : Status::Error("cannot write " + file.string());
}

}  // namespace

fs::path EventSet::FileOf(const EventRecipe& recipe, const fs::path& directory) {
  return directory / ("events-" + std::to_string(kVersion) + "-" + recipe.purpose + "-" + std::to_string(recipe.seed) +
                      "-" + std::to_string(recipe.count) + ".jsonl");
}

Result<fs::path> EventSet::MakeFile(const EventRecipe& recipe, const fs::path& directory) {
  fs::path file = FileOf(recipe, directory);
  if (IsFresh(file)) return file;
  std::fprintf(stderr, "signing %zu events for %s\n", recipe.count, recipe.purpose.c_str());
  if (Status s = WriteWhole(recipe, file); !s.ok()) return s;
  return file;
}

Result<EventSet> EventSet::Get(const EventRecipe& recipe, const fs::path& directory) {
  for (const bool again : {true, false}) {
    const auto file = MakeFile(recipe, directory);
    if (!file.ok()) return file.status();
    std::ifstream in(file.value(), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (in.bad()) return Status::Error("cannot read " + file.value().string());
    auto events = FromLines(std::move(text));
    if (events.ok() && events.value().size() == recipe.count) return events;
    // The file was cut off, or changed.
    std::error_code ignored;  // making the file reports the error better
    if (again) fs::remove(file.value(), ignored);
  }
  return Status::Error("the events of " + recipe.purpose + " are not as they should be");
}

Result<EventSet> EventSet::Sample(const fs::path& file, size_t step) {
  std::ifstream in(file, std::ios::binary);
  std::string sample;
  std::string line;
  for (size_t number = 0; std::getline(in, line); ++number)
    if (number % step == 0) sample.append(line).append("\n");
  if (!in.eof() || sample.empty()) return Status::Error("cannot read " + file.string());
  return FromLines(std::move(sample));
}

Result<EventSet> EventSet::FromLines(std::string lines) {
  EventSet set;
  set.lines_ = std::move(lines);
  for (size_t at = set.lines_.find('\n'); at != std::string::npos; at = set.lines_.find('\n', at + 1))
    set.ends_.push_back(at);
  set.slots_.resize(std::bit_ceil(2 * set.size() + 2));
  set.ids_.reserve(set.size());
  for (size_t i = 0; i < set.size(); ++i)
    if (Status s = set.AddId(i); !s.ok()) return s;
  return set;
}

Status EventSet::AddId(size_t index) {
  ids_.emplace_back(IdOfEvent(json(index)));
  uint64_t prefix = 0;
  if (!IdPrefix(ids_.back(), &prefix)) return Status::Error("line " + std::to_string(index + 1) + " has no id");
  size_t slot = prefix & (slots_.size() - 1);
  for (; slots_[slot].index_plus_one != 0; slot = (slot + 1) & (slots_.size() - 1))
    if (slots_[slot].prefix == prefix) return Status::Error("line " + std::to_string(index + 1) + " was there before");
  slots_[slot] = {.prefix = prefix, .index_plus_one = static_cast<uint32_t>(index + 1)};
  return Status();
}

std::string_view EventSet::json(size_t index) const {
  const size_t begin = index == 0 ? 0 : ends_[index - 1] + 1;
  return std::string_view(lines_).substr(begin, ends_[index] - begin);
}

std::optional<size_t> EventSet::Find(uint64_t id_prefix) const {
  for (size_t slot = id_prefix & (slots_.size() - 1); slots_[slot].index_plus_one != 0;
       slot = (slot + 1) & (slots_.size() - 1))
    if (slots_[slot].prefix == id_prefix) return slots_[slot].index_plus_one - 1;
  return std::nullopt;
}

std::optional<size_t> EventSet::FindHex(std::string_view id) const {
  uint64_t prefix = 0;
  return IdPrefix(id, &prefix) ? Find(prefix) : std::nullopt;
}

std::string_view PlainField(std::string_view json, std::string_view name) {
  const std::string key = "\"" + std::string(name) + "\":";
  const size_t at = json.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view value = json.substr(at + key.size());
  const bool quoted = value.starts_with('"');
  if (quoted) value.remove_prefix(1);
  return value.substr(0, value.find_first_of(quoted ? "\"" : ",}"));
}

void FrameLane::Add(const EventSet& events, size_t index) {
  std::string message = "[\"EVENT\",";
  message.append(events.json(index)).append("]");
  const auto mask = static_cast<uint32_t>((index + 1) * 2654435761u) | 1u;
  AppendClientFrame(WebSocketOpcode::kText, message, mask, &frames_);
  ends_.push_back(frames_.size());
  indexes_.push_back(index);
}

std::string_view FrameLane::frames(size_t from, size_t to) const {
  const size_t begin = from == 0 ? 0 : ends_[from - 1];
  const size_t end = to == 0 ? 0 : ends_[to - 1];
  return std::string_view(frames_).substr(begin, end - begin);
}

std::vector<FrameLane> MakeLanes(const EventSet& events, size_t lanes) {
  std::vector<FrameLane> made(lanes);
  for (size_t i = 0; i < events.size(); ++i) made[i % lanes].Add(events, i);
  return made;
}

}  // namespace weir
