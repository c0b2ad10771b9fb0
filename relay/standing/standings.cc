#include "relay/standing/standings.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "relay/rules/proof_of_work.h"
#include "relay/standing/follow_graph.h"
#include "relay/standing/report_count.h"
#include "relay/standing/standing_snapshot.h"

namespace weir {
namespace {

constexpr uint16_t kDeletionKind = 5;
constexpr Duration kFollowsEvery = std::chrono::minutes(10);
constexpr Duration kFollowsSoon = std::chrono::seconds(30);  // after a list has changed, or after a failure,
constexpr int kFollowsShare = 20;                            // or this many times as long as the last search took
constexpr Duration kSaveEvery = std::chrono::minutes(5);
constexpr Duration kLookEvery = std::chrono::seconds(1);
constexpr Duration kWalkEvery = std::chrono::seconds(5);
constexpr size_t kMostReported = 1'024;  // authors whose reports wait to be counted
constexpr int kLearnedSlices = 64;       // slices of the history between two looks at the other work

uint8_t WorkBitsOf(EventView event) {
  if (event.id()[0] != 0 || event.id()[1] != 0) return 0;  // the usual case
  for (const uint8_t bits : {uint8_t{28}, uint8_t{20}})
    if (RefusalOfWork(event, bits).empty()) return bits;
  return 0;
}

// Returns the number of events and addresses that the event asks to delete, 0 if it is no deletion.
uint32_t DeletionsOf(EventView event) {
  if (event.kind() != kDeletionKind) return 0;
  uint32_t count = 0;
  for (const TagView tag : event.tags()) count += tag.letter == 'e' || tag.letter == 'a' ? 1 : 0;
  return count;
}

}  // namespace

Standings::Standings(const StandingSettings& settings, const EventStore& store, std::string snapshot_path, Admit admit,
                     const Clock& clock, const WallClock& wall_clock)
    : settings_(settings),
      snapshot_path_(std::move(snapshot_path)),
      clock_(clock),
      wall_clock_(wall_clock),
      reads_(store, std::move(admit)),
      table_(settings.authors),
      address_days_({.events = kAuthorsOfAnAddressEachDay, .per = std::chrono::hours(24)}),
      own_list_(TrustFrom(settings)) {}

Standings::~Standings() { Stop(); }

void Standings::Open() {
  learning_ = !ReadFile();
  if (learning_) BeginToLearn();
  saved_ = clock_.Now();
  TrustOwnList(wall_clock_.NowSeconds());
}

// Returns true if the table has the records of the file.
bool Standings::ReadFile() {
  std::ifstream file(snapshot_path_, std::ios::binary);
  if (!file.is_open() && errno == ENOENT) return false;
  const uint64_t now = wall_clock_.NowSeconds();
  Status status = Status::Error(std::string("cannot be opened: ") + std::strerror(errno));
  if (file.is_open()) {
    std::ostringstream bytes;
    bytes << file.rdbuf();
    status = ReadSnapshot(bytes.view(), now, &table_);
  }
  if (status.ok()) {
    snapshot_at_seconds_ = now;
    return true;
  }
  spdlog::error("the standing of authors begins anew, because {} {}", snapshot_path_, status.message());
  return false;
}

void Standings::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Standings::Run() {
  MutexLock lock(mutex_);
  while (!stopped_) {
    lock.unlock();
    const Status done = FaultsAsStatus([this] {
      GoOn();
      return Status();
    });
    if (!done.ok()) spdlog::error("the standing of authors was not renewed: {}", done.message());
    lock.lock();
    const Duration pause = learning_ && done.ok() ? Duration::zero() : kLookEvery;
    changed_.wait_for(lock, pause, [this]() WEIR_REQUIRES(mutex_) { return stopped_; });
  }
}

void Standings::Stop() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    changed_.notify_all();
  }
  reads_.Stop();
  if (thread_.joinable()) thread_.join();
  if (!learning_) Save();
}

bool Standings::IsStopped() const {
  const MutexLock lock(mutex_);
  return stopped_;
}

void Standings::GoOn() {
  RenewFollows();
  if (learning_) Learn();
  CountReports();
  SaveIfDue();
}

void Standings::BeginToLearn() {
  Result<Moment> until = reads_.store().Now();
  if (until.ok()) {
    history_.emplace(reads_, std::move(until).value(), settings_.authors);
    return;
  }
  learning_ = false;
  spdlog::error("the standing of authors begins without the stored events: {}", until.status().message());
}

void Standings::Learn() {
  const uint64_t now = wall_clock_.NowSeconds();
  Result<bool> done = false;
  for (int slice = 0; slice < kLearnedSlices && done.ok() && !done.value(); ++slice) done = history_->Next(now);
  if (done.ok() && !done.value()) return;
  if (IsStopped()) return;
  if (!done.ok())
    spdlog::error("the standing of authors is learned from a part of the stored events only: {}",
                  done.status().message());
  uint64_t authors = 0;
  history_->authors().ForEach([&](const PublicKey& author, const AuthorRecord& learned) {
    ++authors;
    table_.Change(author, now, [&learned](AuthorRecord& record) { AddLearned(learned, &record); });
  });
  spdlog::info("the standing of {} authors is learned from the stored events", authors);
  history_.reset();
  learning_ = false;
  saved_.reset();
}

void Standings::RenewFollows() {
  const TimePoint now = clock_.Now();
  if (now < follows_due_ && !(follows_changed_ && now >= follows_soonest_)) return;
  follows_changed_ = false;
  std::vector<PublicKey> own_list;
  {
    const MutexLock lock(mutex_);
    own_list = own_list_;
  }
  const uint64_t seconds = wall_clock_.NowSeconds();
  AuthorTable reached(settings_.authors / 2);
  const Result<uint64_t> lists = FindFollows(reads_, own_list, seconds, &reached);
  const TimePoint end = clock_.Now();
  follows_soonest_ = end + std::clamp<Duration>(kFollowsShare * (end - now), kFollowsSoon, kFollowsEvery);
  follows_due_ = lists.ok() ? end + kFollowsEvery : follows_soonest_;
  if (lists.ok()) {
    ApplyFollows(reached, seconds);
    follow_lists_ = lists.value();
    follows_at_seconds_ = seconds;
  } else if (!follows_failed_ && !IsStopped()) {
    spdlog::error("the follows of the operator's own list cannot be read: {}; this is tried again",
                  lists.status().message());
  }
  follows_failed_ = !lists.ok();
}

// Begins with the authors that are no longer reached, so that they can give way to those that are. Also lets the
// reports be counted again of authors that were reported, because some may be too old or deleted by now.
void Standings::ApplyFollows(AuthorTable& reached, uint64_t now_seconds) {
  std::vector<PublicKey> reported;
  table_.ForEach([&](const PublicKey& author, AuthorRecord& record) {
    if (record.follow_steps != 0 && !reached.Find(author)) record.follow_steps = record.followers = 0;
    if (record.reported != 0 && reported.size() < kMostReported) reported.push_back(author);
  });
  for (const PublicKey& author : reported) NoteReported(author);
  std::vector<std::pair<PublicKey, AuthorRecord>> found;
  for (size_t shard = 0; shard < AuthorTable::kShards; ++shard) {
    found.clear();  // a copy, because no lock of `reached` may be held while one of table_ is taken
    reached.ForEachOf(shard,
                      [&found](const PublicKey& author, const AuthorRecord& r) { found.emplace_back(author, r); });
    for (const std::pair<PublicKey, AuthorRecord>& each : found) {
      const AuthorRecord& reach = each.second;
      table_.Change(
          each.first, now_seconds,
          [&reach](AuthorRecord& record) {
            record.follow_steps = reach.follow_steps;
            record.followers = reach.followers;
          },
          true);
    }
  }
  TrustOwnList(now_seconds);  // it may have changed meanwhile
}

void Standings::TrustOwnList(uint64_t now_seconds) {
  const MutexLock lock(mutex_);
  for (const PublicKey& author : own_list_) {
    table_.Change(
        author, now_seconds,
        [](AuthorRecord& record) {
          record.follow_steps = 1;
          record.followers = 0;
        },
        true);
  }
}

void Standings::SetOwnList(std::vector<PublicKey> keys) {
  {
    const MutexLock lock(mutex_);
    own_list_ = std::move(keys);
  }
  TrustOwnList(wall_clock_.NowSeconds());
  follows_changed_ = true;
}

Rung Standings::RungOf(const PublicKey& author) const {
  const std::optional<AuthorRecord> record = table_.Find(author);
  return record ? weir::RungOf(*record, wall_clock_.NowSeconds()) : Rung::kStranger;
}

std::optional<AuthorRecord> Standings::Find(const PublicKey& author) const { return table_.Find(author); }

std::vector<std::string> Standings::Explain(const PublicKey& author) const {
  if (const std::optional<AuthorRecord> record = table_.Find(author))
    return ExplainRung(*record, wall_clock_.NowSeconds());
  return {"the author is a stranger: the relay has taken no event of this key, or has forgotten it for others"};
}

void Standings::NoteAccepted(EventView event, uint64_t address_group, bool proved) {
  const uint64_t now = wall_clock_.NowSeconds();
  const uint8_t work_bits = WorkBitsOf(event);
  const uint32_t deletions = DeletionsOf(event);
  AuthorRecord author;
  const bool kept = table_.Change(event.pubkey(), now, [&](AuthorRecord& record) {
    if (record.first_seen == 0) record.first_seen = static_cast<uint32_t>(now);
    record.last_seen = static_cast<uint32_t>(now);
    ++record.accepted;
    record.deleted += deletions;
    record.work_bits = std::max(record.work_bits, work_bits);
    record.proved = record.proved || proved;
    if (IsNewDay(record, now) && (record.follow_steps != 0 || record.active_days >= kMostDayPoints ||
                                  address_days_.Take(address_group, clock_.Now()) == Duration::zero()))
      CountDay(now, &record);
    author = record;
  });
  if (!kept) ++not_kept_;
  if (event.kind() == kFollowsKind && (author.follow_steps == 1 || author.follow_steps == 2)) follows_changed_ = true;
  PublicKey reported;
  if (event.kind() == kReportKind && weir::RungOf(author, now) >= Rung::kRegular && ReadReported(event, &reported))
    NoteReported(reported);
}

void Standings::NoteReported(const PublicKey& author) {
  const MutexLock lock(mutex_);
  if (reported_.size() < kMostReported) reported_.insert(author);
}

void Standings::CountReports() {
  std::set<PublicKey> authors;
  {
    const MutexLock lock(mutex_);
    authors.swap(reported_);
  }
  const uint64_t now = wall_clock_.NowSeconds();
  for (const PublicKey& author : authors) {
    if (!table_.Find(author)) continue;
    const Result<uint16_t> reporters = CountReporters(
        reads_, author, now, [this](const PublicKey& reporter) { return RungOf(reporter) >= Rung::kRegular; });
    if (!reporters.ok()) {
      NoteReported(author);  // is tried again
      continue;
    }
    table_.Change(author, now, [&reporters](AuthorRecord& record) { record.reported = reporters.value(); });
  }
}

void Standings::SaveIfDue() {
  const TimePoint now = clock_.Now();
  if (learning_ || (saved_ && now - *saved_ < kSaveEvery)) return;
  saved_ = now;
  Save();
}

void Standings::Save() {
  const Status status = WriteSnapshot(snapshot_path_, table_);
  if (status.ok()) snapshot_at_seconds_ = wall_clock_.NowSeconds();
  if (!status.ok() && !save_failed_)
    spdlog::error("the standing of authors would be lost at a restart: {}; this is tried again", status.message());
  if (status.ok() && save_failed_) spdlog::info("the standing of authors is saved again");
  save_failed_ = !status.ok();
}

StandingsStats Standings::Stats() const {
  StandingsStats stats{.bytes = table_.bytes(),
                       .not_kept = not_kept_,
                       .follow_lists = follow_lists_,
                       .follows_at_seconds = follows_at_seconds_,
                       .snapshot_at_seconds = snapshot_at_seconds_,
                       .learning = learning_};
  const TimePoint now = clock_.Now();
  const MutexLock lock(walk_mutex_);
  if (!walked_ || now - *walked_ >= kWalkEvery) {
    std::array<uint64_t, kRungs> authors{};
    table_.ForEach([&authors, seconds = wall_clock_.NowSeconds()](const PublicKey&, const AuthorRecord& record) {
      ++authors[static_cast<size_t>(weir::RungOf(record, seconds))];
    });
    authors_ = authors;
    walked_ = now;
  }
  stats.authors = authors_;
  return stats;
}

}  // namespace weir
