#include "relay/watch/live/live_history.h"

#include "config/text/json_writer.h"

namespace weir {
namespace {

// The number of significant digits in JSON; a plot shows fewer.
constexpr int kPlotDigits = 4;

}  // namespace

void LiveHistory::Add(const LiveRow& row) {
  rows_[next_] = row;
  next_ = (next_ + 1) % kRows;
  if (size_ < kRows) ++size_;
}

void LiveHistory::Write(JsonWriter& json) const {
  json.Open('{').Member("at").Open('[');
  for (size_t i = 0; i < size_; ++i) json.Number((*this)[i].at);
  json.Close(']');
  for (size_t column = 0; column < kLiveFigures; ++column) {
    json.Member(kLiveFigureNames[column]).Open('[');
    for (size_t i = 0; i < size_; ++i) json.Number((*this)[i].figures[column], kPlotDigits);
    json.Close(']');
  }
  json.Close('}');
}

void Write(const LiveRow& row, JsonWriter& json) {
  json.Open('{');
  for (size_t column = 0; column < kLiveFigures; ++column)
    json.Member(kLiveFigureNames[column]).Number(row.figures[column], kPlotDigits);
  json.Close('}');
}

}  // namespace weir
