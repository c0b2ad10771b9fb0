// Chunks for a destination, and what the destination reports about them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "import/destination.h"
#include "import/input/line_splitter.h"
#include "tests/import/serve/service_fixture.h"

namespace weir {

inline std::vector<Chunk> ChunksOf(const std::string& text, size_t chunk_bytes, uint32_t input = 0) {
  std::vector<Chunk> chunks;
  const auto take = [&](Chunk chunk) { chunks.push_back(std::move(chunk)); };
  LineSplitter splitter({.chunk_bytes = chunk_bytes, .max_line_bytes = 320 << 10}, input);
  splitter.Add(text, text.size(), take);
  splitter.End(take);
  return chunks;
}

// Told: collects what a destination reports.
class Told {
 public:
  Destination::OnSettled Listener() {
    return [this](SettledChunk settled) { Take(std::move(settled)); };
  }

  void Take(SettledChunk settled) {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(settled.tally.bytes, settled.chunk.text.size());
    tally_ += settled.tally;
    for (const Reject& reject : settled.rejects) {
      rejects_.push_back({.line = reject.line, .outcome = reject.outcome, .reason = reject.reason});
      reject_texts_.push_back(settled.chunk.text.substr(reject.begin, reject.size));
    }
    text_ += settled.chunk.text;
    changed_.notify_all();
  }
  void WaitForText(size_t bytes) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return text_.size() >= bytes; }));
  }

  // After a second sending it is not known which outcomes the lines have that were not rejected.
  void Expect(const KnownLines& expected, bool sent_twice = false) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(text_ == expected.text);
    EXPECT_EQ(tally_.read(), expected.tally.read());
    EXPECT_EQ(tally_.rejected(), expected.tally.rejected());
    if (!sent_twice) {
      EXPECT_EQ(tally_.lines, expected.tally.lines);
    }
    ExpectRejects(rejects_, expected);
    ASSERT_EQ(reject_texts_.size(), expected.rejected_texts.size());
    for (size_t i = 0; i < reject_texts_.size(); ++i) {
      // If a line is too long, its first piece has the reject.
      const bool too_long = rejects_[i].outcome == LineOutcome::kTooLong;
      EXPECT_TRUE(too_long ? expected.rejected_texts[i].starts_with(reject_texts_[i])
                           : expected.rejected_texts[i] == reject_texts_[i])
          << i;
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Tally tally_;
  std::vector<ImportReject> rejects_;
  std::vector<std::string> reject_texts_;
  std::string text_;
};

}  // namespace weir
