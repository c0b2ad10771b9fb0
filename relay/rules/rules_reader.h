// Reads the rules from the section `relay` of weir.yaml (WEIR_CONFIG):
//
//   relay:
//     write:                              # which events are taken
//       allow:                            # an event must match every list that is given
//         authors: [npub1…, 7e7e9c42…]    # npub, or 64 hex digits
//         authors_file: friends.txt       # one key a line; # begins a comment; beside weir.yaml
//         open_kinds: [24133]             # kinds that all authors may write, whatever `authors` says
//         kinds: [0-3, 7, 30000-39999]
//         addresses: [10.0.0.0/8]
//       deny:                             # an event must match none; may have the same lists, and
//         tags: {t: [casino]}
//         words: ["(?i)free bitcoin"]     # RE2, searched in the content
//       exempt:                           # from tags, words, rates, proof of work and age
//         kinds: [20000-29999]            # this is the default
//         authors: […]                    # and authors_file
//       rates:
//         - {by: author, limit: 30/minute, kinds: [1]}   # by author, address or kind; second, minute, hour, day
//         - {by: author, limit: 3/hour, below: regular}  # of authors below this rung of the trust ladder
//       proof_of_work: [{kinds: [1], bits: 16}]          # without `kinds`: all kinds
//       age: [{kinds: [1], oldest: 30d, newest: 15m}]    # s, m, h or d
//     read:                               # who may read, and which events are shown
//       allow: {readers: […], readers_file: …, addresses: […], authors: […], authors_file: …, kinds: […]}
//       deny: {…, tags: {…}}              # the same, and tags
//     retention: {keep: […], remove: […]} # what is removed, and when (retention_reader.h)
//
// A list that is empty, and a rule that can match no event, are errors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/status.h"
#include "relay/rules/rules.h"

namespace weir {

struct RulesRead {
  std::shared_ptr<const Rules> rules = std::make_shared<Rules>();
  bool has_section = false;          // true if the file has the section `relay`
  std::string summary = "no rules";  // describes the rules in the log
};

// Reads the rules in the file at `path`; an empty path is a file without rules. `files` gets the paths of all files
// that were asked for, even after an error. If running->has_section is true, a file without the section is an error,
// because it may have been emptied or be half written. Rates that `running` has too go on with its counts. `running`
// may be null.
Result<RulesRead> ReadRules(const std::string& path, std::vector<std::string>* files,
                            const RulesRead* running = nullptr);

}  // namespace weir
