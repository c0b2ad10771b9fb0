// Divides texts into lines by LineSplitter, and checks the result, for the splitter's test and for tests/fuzz.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/input/line_splitter.h"
#include "tests/fixtures/must.h"

namespace weir {

// Splits a text that is added in pieces of these sizes, which are used in turn.
inline std::vector<Chunk> Split(const std::string& text, const SplitterLimits& limits, const std::vector<size_t>& sizes,
                                Place begin = {}, bool flush = false) {
  std::vector<Chunk> chunks;
  const auto keep = [&](Chunk chunk) { chunks.push_back(std::move(chunk)); };
  LineSplitter splitter(limits, 3, begin);
  size_t at = 0;
  for (size_t i = 0; at < text.size(); ++i) {
    const std::string_view piece = std::string_view(text).substr(at, std::max<size_t>(1, sizes[i % sizes.size()]));
    at += piece.size();
    splitter.Add(piece, at, keep);
    if (flush) splitter.Flush(keep);
  }
  splitter.End(keep);
  return chunks;
}

// Returns the lines of a text, by simple code to compare with.
inline std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  bool open = false;
  for (const char c : text) {
    if (!open) lines.emplace_back();
    lines.back() += c;
    open = c != '\n';
  }
  return lines;
}

inline bool IsTooLong(const std::string& line, const SplitterLimits& limits) {
  return line.size() - (line.back() == '\n' ? 1 : 0) > limits.max_line_bytes;
}

// Checks the properties that the chunks of a text must have for every division into pieces.
inline void CheckLines(const std::string& text, const SplitterLimits& limits, const std::vector<Chunk>& chunks,
                       Place begin) {
  const std::vector<std::string> lines = LinesOf(text);
  Place at = begin;
  size_t line = 0;
  std::string long_line;
  for (const Chunk& chunk : chunks) {
    Must(chunk.input == 3U);
    Must(!chunk.text.empty());
    Must(chunk.begin.bytes == at.bytes);
    Must(chunk.begin.lines == at.lines);
    Must(chunk.end.bytes == at.bytes + chunk.text.size());
    Must(chunk.file_bytes >= chunk.end.bytes - begin.bytes);
    at = chunk.end;
    if (chunk.kind == Chunk::Kind::kLines) {
      Must(long_line.empty());
      Must(chunk.text.size() < limits.chunk_bytes + limits.max_line_bytes + 1);
      for (const std::string& found : LinesOf(chunk.text)) {
        Must(found == lines.at(line));
        Must(!IsTooLong(found, limits));
        ++line;
      }
    } else {
      Must(chunk.text.size() <= limits.chunk_bytes);
      Must(chunk.first_piece == long_line.empty());
      long_line += chunk.text;
      if (chunk.last_piece) {
        Must(long_line == lines.at(line));
        Must(IsTooLong(long_line, limits));
        long_line.clear();
        ++line;
      }
    }
    Must(chunk.end.lines == begin.lines + line);
  }
  Must(long_line.empty());
  Must(line == lines.size());
}

}  // namespace weir
