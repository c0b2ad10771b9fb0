// Reads filters out of longer texts, for ParseFilter and ParseClientMessage.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "relay/nostr/filter.h"
#include "relay/nostr/json_scanner.h"

namespace weir {

class FilterReader {
 public:
  FilterReader(JsonScanner* in, const FilterLimits& limits) : in_(*in), limits_(limits) {}

  // Reads the object at the scanner's position.
  bool Read(Filter* filter);
  const std::string& error() const { return error_; }
  // True if the error is that the filter has an unknown field.
  bool unsupported() const { return unsupported_; }

 private:
  bool ReadField(std::string_view name, Filter* filter);
  bool ReadHashes(std::string_view name, std::vector<Bytes32>* list);
  bool ReadKinds(std::vector<uint16_t>* list);
  bool ReadTag(std::string_view name, TagCondition* condition);
  bool ReadNumber(std::string_view name, uint64_t* number);
  template <typename ReadValue>
  bool ReadList(std::string_view name, std::string_view expected, ReadValue read_value);
  bool ReadText(JsonString* string) { return in_.Peek() == '"' && in_.ReadString(string); }
  bool Fail(std::string error);

  JsonScanner& in_;
  const FilterLimits& limits_;
  size_t values_ = 0;  // in all lists of this filter so far
  std::string error_;
  bool unsupported_ = false;
};

}  // namespace weir
