// RunningRelay: calls the methods for administrators (relay/management/management_methods.h) of a relay that runs, for
// commands such as `weir admin`.
//
//   AttachOptions options;
//   AddTo(line, options);
//   if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
//   RelayConfiguration configuration;
//   if (const Status loaded = LoadSettings(line, &options, &configuration); !loaded.ok()) return line.Fail(loaded);
//   const Result<RunningRelay> relay = RunningRelay::Find(configuration, options);
//   if (!relay.ok()) return line.Fail(relay.status(), 1);
//   const Result<ManagementAnswer> answer = relay.value().Call("banpubkey", {QuotedJson(npub)});
//
// A command that can do its work without a relay asks NoRelayRuns (attachment.h) first. Every error is a sentence for
// the operator.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/status.h"
#include "relay/running/attachment.h"
#include "relay/running/management_answer.h"

namespace weir {

class RunningRelay {
 public:
  // Returns an error if no relay runs, or if FindAttachment returns another error. Does not connect to the relay.
  static Result<RunningRelay> Find(const RelayConfiguration& configuration, const AttachOptions& options);
  explicit RunningRelay(Attachment attachment) : at_(std::move(attachment)) {}

  // Calls a method; each parameter is a value of JSON. Waits up to two minutes for the answer, and calls again for
  // about two seconds while the relay is too busy. Returns an error if the relay cannot be reached, refuses the token
  // or the call, or is none that can be managed.
  Result<ManagementAnswer> Call(std::string_view method, const std::vector<std::string>& parameters) const;
  // Calls a method that lists something, as often as there are further parts of the list. Returns the JSON of all
  // items.
  Result<std::vector<std::string>> List(std::string_view method) const;

 private:
  Attachment at_;
};

}  // namespace weir
