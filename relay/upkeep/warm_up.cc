#include "relay/upkeep/warm_up.h"

#include <spdlog/spdlog.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "config/replace_file.h"
#include "relay/store/keys.h"
#include "relay/store/read_ahead.h"

namespace weir {
namespace {

constexpr std::string_view kFirstLine = "weir records in memory, 1\n";

std::string TextOf(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

std::string NoteOf(const std::vector<uint64_t>& serials) {
  std::string note(kFirstLine);
  uint64_t before = 0;
  for (const uint64_t serial : serials) {
    note += std::to_string(serial - before);
    note += '\n';
    before = serial;
  }
  return note;
}

std::vector<uint64_t> SerialsIn(std::string_view note) {
  std::vector<uint64_t> serials;
  if (!note.starts_with(kFirstLine)) return serials;
  note.remove_prefix(kFirstLine.size());
  uint64_t serial = 0;
  while (!note.empty()) {
    uint64_t difference = 0;
    const auto [end, error] = std::from_chars(note.data(), note.data() + note.size(), difference);
    const auto length = static_cast<size_t>(end - note.data());
    if (error != std::errc() || difference == 0 || difference > kLastSerial - serial) break;
    if (length == note.size() || *end != '\n') break;
    serials.push_back(serial += difference);
    note.remove_prefix(length + 1);
  }
  return serials;
}

WarmUp::WarmUp(const RocksDbStore& store, std::string file, BulkReads::Admit admit, Duration note_every)
    : store_(store),
      file_(std::move(file)),
      note_every_(note_every),
      reads_(store, std::move(admit)),
      state_{.runs = true},
      thread_([this] { Run(); }) {}

WarmUp::State WarmUp::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

void WarmUp::Stop() {
  reads_.Stop();
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void WarmUp::Run() {
  const Status read = FaultsAsStatus([this] { return ReadAll(); });
  {
    const MutexLock lock(mutex_);
    state_.runs = false;
    // An unfinished warm-up would note only a part of what the file has.
    if (stopping_) return;
  }
  if (!read.ok()) spdlog::warn("not all that was in memory before the start is read again: {}", read.message());
  for (bool stopping = false; !stopping; Note()) {
    MutexLock lock(mutex_);
    stopping = changed_.wait_for(lock, note_every_, [this]() WEIR_REQUIRES(mutex_) { return stopping_; });
  }
}

Status WarmUp::ReadAll() {
  const TimePoint begin = Clock::System().Now();
  const std::unique_ptr<ReadAhead> ahead = store_.NewReadAhead(SerialsIn(TextOf(file_)));
  for (bool more = true; more;) {
    const Result<Admission> admission = reads_.Await();
    if (!admission.ok()) return admission.status();
    const Result<bool> read = ahead->Next();
    if (!read.ok()) return read.status();
    more = read.value();
    const MutexLock lock(mutex_);
    state_.done = ahead->done();
    state_.records = ahead->records();
  }
  if (ahead->records() > 0)
    spdlog::info("read {} records that were in memory before the start, in {:.1f} s", ahead->records(),
                 ToSeconds(Clock::System().Now() - begin));
  return {};
}

void WarmUp::Note() const {
  const std::vector<uint64_t> serials = store_.CachedRecords();
  if (!serials.empty() && !ReplaceFile(file_, NoteOf(serials)))
    spdlog::warn("cannot note in {} which records are in memory, so the next start may be slower: {}", file_,
                 std::strerror(errno));
}

}  // namespace weir
