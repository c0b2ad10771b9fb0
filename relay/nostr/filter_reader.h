// FilterReader: reads one filter at the position of a JsonScanner, whose text may hold more than the filter.
// ParseFilter and ParseClientMessage use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/text/json_scanner.h"
#include "relay/nostr/filter.h"

namespace weir {

// Make one reader for each filter.
class FilterReader {
 public:
  // `in` and `limits` must outlive the reader.
  FilterReader(JsonScanner* in, const FilterLimits& limits) : in_(*in), limits_(limits) {}

  // Reads the object at the scanner's position into `filter`, moves the scanner behind it and returns true. Returns
  // false if the object is not a valid filter; then error() says why, and `filter` is incomplete.
  bool Read(Filter* filter);
  const std::string& error() const { return error_; }
  // Returns true if Read failed because the filter has an unknown field.
  bool unsupported() const { return unsupported_; }

 private:
  bool ReadField(std::string_view name, Filter* filter);
  bool ReadHashes(std::string_view name, std::vector<Bytes32>* list);
  bool ReadKinds(std::vector<uint16_t>* list);
  bool ReadSearch(std::string* text);
  bool ReadTag(std::string_view name, TagCondition* condition);
  bool ReadNumber(std::string_view name, uint64_t* number);
  template <typename ReadValue>
  bool ReadList(std::string_view name, std::string_view expected, ReadValue read_value);
  bool ReadText(JsonString* string) { return in_.Peek() == '"' && in_.ReadString(string); }
  bool Fail(std::string error);

  JsonScanner& in_;
  const FilterLimits& limits_;
  size_t values_ = 0;  // the number of values read so far, in all lists together
  std::string error_;
  bool unsupported_ = false;
};

}  // namespace weir
