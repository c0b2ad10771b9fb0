#include "tests/relay/store/saving_child.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <semaphore>
#include <vector>

#include "relay/nostr/signature.h"
#include "relay/store/group_commit.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

constexpr size_t kNotes = 20;  // in one batch
constexpr size_t kBatchesInFlight = 3;

// Prints at once and whole, as only what was printed before the kill counts.
void Say(const std::string& lines) {
  if (write(STDOUT_FILENO, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) _exit(3);
}

// Returns a name that no other process has.
std::string RunName() {
  return std::to_string(getpid()) + " " + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::unique_ptr<RocksDbStore> OpenDurably(const std::string& path) {
  StoreOptions options = SmallStore(path);
  options.memory_target_bytes = 128ull << 20;
  options.settings.sync = SyncMode::kBatch;
  return MustOpen(options);
}

struct Announced final : Submission {
  Announced(const PlainEvent& plain, std::string w) : Submission(ToEvent(plain)), words(std::move(w)) {}
  const std::string words;  // to be said when it is saved
};

// Notes, one profile after the other, and deletions of earlier notes.
class Script {
 public:
  // Each process has its own author, so that the next cannot replace what it began.
  Script() : run_(RunName()), author_(ToHex(Sha256(run_))) {}

  std::vector<std::shared_ptr<Submission>> NextBatch(uint64_t now) {
    std::vector<std::shared_ptr<Submission>> batch;
    std::string warning;
    for (size_t i = 0; i < kNotes; ++i) {
      const PlainEvent note = Plain(author_, now, 1, {{"t", "a"}, {"p", Author(i)}}, Text());
      notes_.push_back(note.id);
      Add(note, "+" + note.id + "\n", &batch);
    }
    const PlainEvent profile = Plain(author_, ++profile_second_, 0, {}, Text());
    if (!profile_.empty()) warning += "?" + profile_ + "\n";
    Add(profile, "+" + profile.id + "\n" + (profile_.empty() ? "" : "-" + profile_ + "\n"), &batch);
    profile_ = profile.id;
    if (notes_.size() > 200) {
      const std::string gone = notes_.front();
      notes_.erase(notes_.begin(), notes_.begin() + 10);
      warning += "?" + gone + "\n";
      const PlainEvent deletion = Plain(author_, now, 5, {{"e", gone}}, Text());
      Add(deletion, "+" + deletion.id + "\n-" + gone + "\n", &batch);
    }
    Say(warning);
    return batch;
  }

 private:
  static void Add(const PlainEvent& event, std::string words, std::vector<std::shared_ptr<Submission>>* batch) {
    batch->push_back(std::make_shared<Announced>(event, std::move(words)));
  }
  // Returns text unlike any other, and long enough that buffers fill and files are compacted.
  std::string Text() {
    ++number_;
    return run_ + " " + std::to_string(number_) + std::string(1000 + number_ * 37 % 1000, 'x');
  }

  const std::string run_;
  const std::string author_;
  uint64_t number_ = 0;
  uint64_t profile_second_ = 0;
  std::string profile_;
  std::deque<std::string> notes_;
};

}  // namespace

int SaveUntilKilled(const std::string& path) {
  const auto store = OpenDurably(path);
  if (!store) return 1;
  std::mutex mutex;
  std::condition_variable settled_some;
  size_t in_flight = 0;
  GroupCommit commit(*store, [&](GroupCommit::Submissions settled, const Status& status) {
    std::string words;
    for (const auto& submission : settled) {
      if (!status.ok() || submission->result.outcome != SaveOutcome::kSaved) _exit(4);
      words += static_cast<const Announced&>(*submission).words;
    }
    Say(words);
    const std::lock_guard lock(mutex);
    in_flight -= settled.size();
    settled_some.notify_one();
  });
  for (Script script;;) {
    const std::vector<std::shared_ptr<Submission>> batch = script.NextBatch(1'700'000'000);
    std::unique_lock lock(mutex);
    settled_some.wait(lock, [&] { return in_flight < kBatchesInFlight * kNotes; });
    in_flight += batch.size();
    lock.unlock();
    commit.Submit(batch);
  }
}

int RemoveUntilKilled(const std::string& path) {
  constexpr uint64_t kNotesOfAnAuthor = 400;
  const auto store = OpenDurably(path);
  if (!store) return 1;
  std::counting_semaphore<> told(0);
  GroupCommit commit(*store,
                     [&](GroupCommit::Submissions settled, const Status& status) {
                       for (const auto& submission : settled)
                         if (!status.ok() || submission->result.outcome != SaveOutcome::kSaved) _exit(4);
                       told.release(static_cast<ptrdiff_t>(settled.size()));
                     },
                     {.max_work = kTurnWork / 2});
  const auto save = [&](const std::vector<PlainEvent>& events) {
    std::vector<std::shared_ptr<Submission>> submissions;
    for (const PlainEvent& event : events)
      submissions.push_back(std::make_shared<Submission>(ToEvent(event), Party{}, kTurnWork / 100));
    commit.Submit(submissions);
    for (size_t n = 0; n < events.size(); ++n) told.acquire();
  };
  const std::string run = RunName();
  for (uint64_t round = 0;; ++round) {
    const std::string author = ToHex(Sha256(run + " " + std::to_string(round)));
    std::vector<PlainEvent> notes;
    std::vector<Tag> names;
    std::string saved;
    std::string doomed;
    std::string removed;
    for (uint64_t i = 0; i < kNotesOfAnAuthor; ++i) {
      notes.push_back(Plain(author, i + 1, 1, {{"t", "a"}}, std::string(500, 'x')));
      const std::string& id = notes.back().id;
      names.push_back({"e", id});
      saved += "+" + id + "\n";
      doomed += "?" + id + "\n";
      removed += "-" + id + "\n";
    }
    save(notes);
    Say(saved + doomed);
    if (round % 3 == 2) {
      std::vector<EventId> ids;
      for (const PlainEvent& note : notes) ids.push_back(ToBytes(note.id));
      if (!commit.RemoveBulk(ids).ok()) return 1;
      Say(removed);
      continue;
    }
    const bool vanishes = round % 3 == 1;
    const PlainEvent end =
        vanishes ? Plain(author, 1000, 62, {{"relay", "ALL_RELAYS"}}) : Plain(author, 1000, 5, names);
    save({end});
    Say("+" + end.id + "\n" + removed);
  }
}

// Builds until it is done, or until it kills itself after some pieces.
int BuildWords(const std::string& path) {
  const uint64_t most_pieces = 1 + std::random_device{}() % 60;
  StoreOptions options = SmallStore(path);
  options.searched_kinds = std::vector<uint16_t>{1};
  const auto store = MustOpen(options);
  if (!store) return 1;
  for (uint64_t pieces = 0; pieces < most_pieces; ++pieces) {
    const Result<OwedPiece> piece = store->BuildSearch(kTurnWork / 4);
    if (!piece.ok()) return 4;
    if (!piece.value().more) return 0;
  }
  kill(getpid(), SIGKILL);
  return 5;
}

void Expectation::Hear(const std::string& line) {
  const std::string id = line.substr(1);
  if (line[0] == '+') {
    ++acknowledged_;
    if (!doomed_.contains(id)) present_.insert(id);
  } else {
    doomed_.insert(id);
    present_.erase(id);
    if (line[0] == '-') absent_.insert(id);
  }
}

void Expectation::HearAll(ChildProcess& child) {
  for (std::string line; child.ReadLine(&line);) Hear(line);
}

}  // namespace weir
