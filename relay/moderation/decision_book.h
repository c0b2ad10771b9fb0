// DecisionBook: the decisions that hold, in memory, by list and subject.
//
// Threads: any thread may call any function. Visit sees all decisions only if no other thread changes them meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "config/status.h"
#include "relay/moderation/decision.h"

namespace weir {

// Changes that are made together. Null: the decision about the subject goes.
using DecisionChanges = std::map<std::pair<DecisionList, std::string>, std::optional<ModerationDecision>>;

// Return the parts of the subject of a decision about a member.
inline std::string_view KeyOfMember(std::string_view member) { return member.substr(0, member.find(' ')); }
inline std::string_view RoleOfMember(std::string_view member) { return member.substr(member.find(' ') + 1); }

class DecisionBook {
 public:
  // Puts the decision into its list, in place of one about the same subject. Null: only removes that one.
  void Put(DecisionList list, const std::string& subject, const std::optional<ModerationDecision>& decision);
  // Returns an error if a list would be too long with these changes, or would take too much memory.
  Status CheckRoomFor(const DecisionChanges& changes) const;

  // The subjects must be in the form of SubjectFor.
  bool Has(DecisionList list, std::string_view subject) const { return Find(list, subject).has_value(); }
  std::optional<ModerationDecision> Find(DecisionList list, std::string_view subject) const;
  // Returns at most `most` decisions of the list in the order of their subjects, from the first one after `after` on.
  std::vector<ModerationDecision> List(DecisionList list, std::string_view after, size_t most) const;
  // Copies the decisions in parts, so that no other thread waits long for the lists.
  void Visit(DecisionList list, const std::function<void(const ModerationDecision& decision)>& visit) const;
  size_t size(DecisionList list) const;
  // Returns true if the author is allowed, or a member of a role.
  bool IsAllowed(std::string_view key_hex) const;

 private:
  struct Entries {
    std::map<std::string, ModerationDecision, std::less<>> by_subject;
    uint64_t bytes = 0;  // memory that the decisions take, about
  };

  // The bytes of the decisions of one list. Bounds the memory that administrators can take.
  static constexpr uint64_t kMostListBytes = uint64_t{64} << 20;

  const Entries& In(DecisionList list) const WEIR_REQUIRES(mutex_) { return lists_[static_cast<size_t>(list)]; }

  mutable Mutex mutex_;  // held only for moments, because I/O threads ask for texts
  std::array<Entries, kDecisionLists> lists_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir
