// EventSet: events that are signed before a measurement begins and kept in a file, so that all repetitions and all
// relays get the same events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/relay/event_maker.h"
#include "config/status.h"

namespace weir {

class EventSet {
 public:
  // Reads the recipe's file in the directory (FileOf), which has a line of JSON for each event. Makes the file anew if
  // it does not exist, is older than 30 days or is damaged. Does not compare the recipe's day with that of an existing
  // file.
  static Result<EventSet> Get(const EventRecipe& recipe, const std::filesystem::path& directory);
  // Makes the file if it does not exist or is older than 30 days, and returns its path. Does not read the events into
  // memory.
  static Result<std::filesystem::path> MakeFile(const EventRecipe& recipe, const std::filesystem::path& directory);
  // The name has the purpose, the seed and the count. So recipes that differ otherwise need different purposes.
  static std::filesystem::path FileOf(const EventRecipe& recipe, const std::filesystem::path& directory);
  // Reads each `step`-th line of such a file.
  static Result<EventSet> Sample(const std::filesystem::path& file, size_t step);
  // Makes a set of lines of JSON. The error names the first line that has no id, or an id whose first eight bytes an
  // earlier line has.
  static Result<EventSet> FromLines(std::string lines);

  size_t size() const { return ends_.size(); }
  std::string_view json(size_t index) const;
  std::string_view id(size_t index) const { return ids_[index]; }
  size_t bytes() const { return lines_.size() - ends_.size(); }  // JSON without line ends

  // Returns the index of the event whose id begins with these eight bytes; nullopt if there is none.
  std::optional<size_t> Find(uint64_t id_prefix) const;
  std::optional<size_t> FindHex(std::string_view id) const;

 private:
  struct Slot {
    uint64_t prefix = 0;
    uint32_t index_plus_one = 0;
  };

  Status AddId(size_t index);

  std::string lines_;
  std::vector<size_t> ends_;
  std::vector<std::string> ids_;
  std::vector<Slot> slots_;  // open addressing, at most half full
};

// Returns the value of a field, as the digits of a number or as the text between the quotes of a string. The JSON must
// be as Signer writes it, and the string must have no escapes.
std::string_view PlainField(std::string_view json, std::string_view name);

// FrameLane: some of the events as masked WebSocket frames with ["EVENT",…], one after the other in memory. Each
// connection sends the frames of one lane.
class FrameLane {
 public:
  void Add(const EventSet& events, size_t index);

  size_t size() const { return indexes_.size(); }
  size_t event(size_t position) const { return indexes_[position]; }
  std::string_view frames(size_t from, size_t to) const;

 private:
  std::string frames_;
  std::vector<size_t> ends_;
  std::vector<size_t> indexes_;
};

// Returns `lanes` lanes; event i is in lane i modulo `lanes`. So the events reach the relay nearly in the order of
// their time, as in real use.
std::vector<FrameLane> MakeLanes(const EventSet& events, size_t lanes);

}  // namespace weir
