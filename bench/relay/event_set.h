// Events that were signed before the clock starts, and kept in a file, so that repetitions and other relays get the
// very same ones.
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
  // Reads the recipe's file in the directory, and makes it if it is not there: JSON Lines, as imports take it. If there
  // is a file of the last 30 days, the day of the recipe does not matter.
  static Result<EventSet> Get(const EventRecipe& recipe, const std::filesystem::path& directory);
  // Makes only the file, and does not hold the events in memory.
  static Result<std::filesystem::path> MakeFile(const EventRecipe& recipe, const std::filesystem::path& directory);
  static std::filesystem::path FileOf(const EventRecipe& recipe, const std::filesystem::path& directory);
  // The error names the first line that has no id, or an id that was there before.
  static Result<EventSet> FromLines(std::string lines);

  size_t size() const { return ends_.size(); }
  std::string_view json(size_t index) const;
  std::string_view id(size_t index) const { return ids_[index]; }
  size_t bytes() const { return lines_.size() - ends_.size(); }  // JSON without line ends

  // Finds an event by the first eight bytes of its id.
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

// Returns a field's value in JSON as Signer writes it: digits, or the inside of a string without escapes.
std::string_view PlainField(std::string_view json, std::string_view name);

// Some of the events as masked frames of ["EVENT",…], one behind the other in memory.
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

// Event i goes to lane i modulo their number: events reach the relay nearly in the order of their time, as in real use.
std::vector<FrameLane> MakeLanes(const EventSet& events, size_t lanes);

}  // namespace weir
