// A Publisher sends events of all kinds, one after the other, to one relay, and to any relay after its connection
// ended: also events that are stored, deleted, banned, expired or unanswered already, forged ones, deletions and
// requests to vanish. It is an administrator, too, who bans an event or an author of its own at any relay.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "tests/histories/company.h"
#include "tests/histories/line.h"

namespace weir::histories {

class Publisher {
 public:
  Publisher(Company& company, int relay, uint64_t number);
  void Run();

 private:
  using Sendable = Company::Sendable;

  void SendAny();
  void SendRemoved();
  void SendAccepted();
  void PublishNote();
  void PublishExpiring();
  void PublishEphemeral();
  void PublishForged();
  void PublishOfBanned();
  void PublishAddressable();
  void Delete();
  void DeleteAddress();
  void Vanish();
  void BanEvent();
  void BanAuthor();

  // Makes an event of the present time, unless `event` has one.
  Sendable Make(const Company::Author& author, Published event, const std::string& tags, bool forged = false);
  // Takes one of accepted_; without a JSON if there is none.
  Sendable TakeAccepted();
  // Goes on with a new author, because all events of the present one are removed.
  void LeaveAuthor();
  // Bans the event, or author_ if it is null, at any relay. `subject` is its id, or the author's key.
  void Ban(std::optional<uint32_t> event, const std::string& subject);
  // Returns true if the relay answered OK true.
  bool Send(const Sendable& event);
  size_t Below(size_t bound) { return random_() % bound; }

  Company& company_;
  int relay_;
  std::mt19937_64 random_;
  std::unique_ptr<Line> line_;
  std::shared_ptr<const Company::Author> author_;
  std::shared_ptr<const Company::Author> banned_author_;  // null until this publisher has banned one
  std::deque<Sendable> accepted_;                         // notes of author_
  Sendable unanswered_;
};

}  // namespace weir::histories
