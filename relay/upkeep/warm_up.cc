#include "relay/upkeep/warm_up.h"

#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include "config/replace_file.h"
#include "relay/account/work_pool.h"
#include "relay/store/keys.h"
#include "relay/store/read_ahead.h"

namespace weir {
namespace {

constexpr std::string_view kFirstLine = "weir records in memory, 1\n";

// A line has a difference of at most fifteen digits.
constexpr uint64_t kMostBytes = kFirstLine.size() + 16 * WarmUp::kMostNoted;

}  // namespace

std::string NoteOf(std::span<const uint64_t> serials) {
  std::string note(kFirstLine);
  note.reserve(note.size() + 3 * serials.size());
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

WarmUp::WarmUp(const RocksDbStore& store, std::string file, BulkReads::Admit admit, const Clock& clock,
               Duration note_every)
    : store_(store),
      file_(std::move(file)),
      clock_(clock),
      note_every_(note_every),
      reads_(store, std::move(admit)),
      state_{.runs = true},
      thread_([this] { Run(); }) {}

WarmUp::State WarmUp::state() const {
  const MutexLock lock(mutex_);
  return state_;
}

void WarmUp::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  reads_.Stop();
  if (thread_.joinable()) thread_.join();
}

void WarmUp::Run() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), WorkPool::kBulkNice);
  const Status read = FaultsAsStatus([this] { return ReadAll(); });
  {
    const MutexLock lock(mutex_);
    state_.runs = false;
    // A warm-up that did not end would note only a part of what the file has.
    if (stopping_) return;
  }
  if (!read.ok()) spdlog::warn("not all that was in memory before the start is read again: {}", read.message());
  for (bool noted = false, stopping = false; !stopping;) {
    {
      MutexLock lock(mutex_);
      stopping = changed_.wait_for(lock, note_every_, [this]() WEIR_REQUIRES(mutex_) { return stopping_; });
    }
    if (stopping && noted) return;
    noted = true;
    const Status written = FaultsAsStatus([this] { return Note(); });
    if (!written.ok())
      spdlog::warn(
          "{} does not say which records are in memory, so the first answers after the next start may take longer: {}",
          file_, written.message());
  }
}

Status WarmUp::ReadAll() {
  const TimePoint begin = clock_.Now();
  Result<std::vector<uint64_t>> noted = Noted();
  Status first_error = noted.status();
  const std::unique_ptr<ReadAhead> ahead =
      store_.NewReadAhead(noted.ok() ? std::move(noted).value() : std::vector<uint64_t>());
  int errors = 0;
  for (bool more = true; more && errors < kMostErrors;) {
    const Result<Admission> admission = reads_.Await();
    if (!admission.ok()) return admission.status();
    const Result<bool> read = ahead->Next();
    if (read.ok()) {
      more = read.value();
    } else if (++errors; first_error.ok()) {
      first_error = read.status();
    }
    const MutexLock lock(mutex_);
    state_.done = ahead->done();
    state_.records = ahead->records();
  }
  if (ahead->records() > 0)
    spdlog::info("read {} records that were in memory before the start, in {:.1f} s", ahead->records(),
                 ToSeconds(clock_.Now() - begin));
  return first_error;
}

// Returns no serials if there is no file.
Result<std::vector<uint64_t>> WarmUp::Noted() const {
  std::error_code error;
  const auto kind = std::filesystem::status(file_, error).type();
  if (kind == std::filesystem::file_type::not_found) return std::vector<uint64_t>();
  if (kind != std::filesystem::file_type::regular || std::filesystem::file_size(file_, error) > kMostBytes)
    return Status::Error(file_ + " is not a file that weir wrote; remove it");
  std::ifstream in(file_, std::ios::binary);
  std::ostringstream note;
  if (!(note << in.rdbuf())) return Status::Error("cannot read " + file_ + ": " + std::strerror(errno));
  return SerialsIn(note.view());
}

Status WarmUp::Note() const {
  const std::vector<uint64_t> serials = store_.CachedRecords();
  const auto newest = std::span(serials).last(std::min(kMostNoted, serials.size()));
  if (newest.empty() || ReplaceFile(file_, NoteOf(newest))) return {};
  return Status::Error(std::string("it cannot be written: ") + std::strerror(errno));
}

}  // namespace weir
