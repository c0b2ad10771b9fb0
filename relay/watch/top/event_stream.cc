#include "relay/watch/top/event_stream.h"

namespace weir {

Status EventStreamReader::Take(std::string_view piece) {
  while (!piece.empty()) {
    if (std::exchange(after_return_, false) && piece.front() == '\n') piece.remove_prefix(1);
    const size_t end = piece.find_first_of("\r\n");
    line_.append(piece.substr(0, end));
    if (line_.size() + data_.size() > kMostBytes)
      return Status::Error("an event has more than " + std::to_string(kMostBytes) +
                           " bytes, which is none of a relay's");
    if (end == piece.npos) return {};
    after_return_ = piece[end] == '\r';
    piece.remove_prefix(end + 1);
    EndLine();
    line_.clear();
  }
  return {};
}

void EventStreamReader::EndLine() {
  if (!line_.empty()) {
    const size_t colon = std::min(line_.find(':'), line_.size());
    std::string_view value = std::string_view(line_).substr(std::min(colon + 1, line_.size()));
    if (value.starts_with(' ')) value.remove_prefix(1);
    return TakeField(std::string_view(line_).substr(0, colon), value);
  }
  if (has_data_) on_event_(name_, data_);
  name_.clear();
  data_.clear();
  has_data_ = false;
}

// Ignores all other fields, which a reader of /live does not need, and comments, which have an empty name.
void EventStreamReader::TakeField(std::string_view name, std::string_view value) {
  if (name == "event") name_ = value;
  if (name != "data") return;
  if (std::exchange(has_data_, true)) data_ += '\n';
  data_ += value;
}

}  // namespace weir
