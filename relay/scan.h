// Scan: one request's walk through the store, from the read gate to its last slice.
//
// Slices run on the workers; between them the owner looks whether the client takes what it was sent, and asks for the
// next one. Every step is answered by one report on the I/O thread: the gate's refusal, a slice, or the end.
//
// A scan that stands still for its client gives its place at the gate to others and stands in line again when it goes
// on: those who read slowly would else keep all places, for as long as they like.
//
// Threads: created, started and cancelled on the I/O thread. Whoever destroys it last gives back gate and snapshot.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relay/relay_context.h"

namespace weir {

struct ScanReport {
  std::string refusal;  // by the gate or the store, with prefix; nothing follows
  bool done = false;
  // Whole messages, one after the other.
  std::shared_ptr<const std::string> text;
  std::vector<uint32_t> ends;
  uint64_t found = 0;  // events so far
  // When done.
  bool complete = false;
  uint64_t last_serial = 0;
};

struct ScanPlan {
  std::vector<Filter> filters;
  QueryOptions options;
  Cost cost;
  Party party;
  std::string message_head;  // `["EVENT","sub",`; empty: events are only counted
  uint64_t max_visits = UINT64_MAX;
};

class Scan : public std::enable_shared_from_this<Scan> {
 public:
  using OnReport = std::function<void(ScanReport report)>;

  Scan(RelayContext& context, ScanPlan plan, boost::asio::any_io_executor executor, OnReport on_report);

  void Start();
  // After a report that was not the last: it goes on, or stands still until Next.
  void Next();
  void Pause();
  // Whether a report is still to come.
  bool Cancel();

 private:
  void Enter();
  void AfterWait();
  void SubmitSlice();
  void RunSlice();
  void Walk(ScanReport* report);
  void Report(ScanReport report);

  RelayContext& context_;
  ScanPlan plan_;
  const boost::asio::any_io_executor executor_;
  const OnReport on_report_;
  std::atomic<bool> cancelled_{false};
  // The I/O thread's own.
  bool report_is_due_ = false;
  bool at_gate_ = false;

  // Of whichever thread has the step.
  std::optional<Admission> admission_;
  std::unique_ptr<Query> query_;
  uint64_t found_ = 0;
};

}  // namespace weir
