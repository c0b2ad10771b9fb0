// Requests: the REQs and COUNTs of one connection, from the message to EOSE and on to live events.
//
// A subscription enters the live index before its query is made and holds what comes until the stored events are out.
// Then, and for ever after, it drops what its query had seen already: events with a serial up to the query's. So each
// event comes once, stored or live.
//
// Few requests of a connection run at once, the others wait in their order. A connection that lets its output wait is
// given no further slices until it has taken most of it.
//
// Used on the connection's I/O thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "relay/peer.h"
#include "relay/relay_context.h"
#include "relay/scan.h"

namespace weir {

class Requests : public std::enable_shared_from_this<Requests> {
 public:
  Requests(RelayContext& context, std::shared_ptr<Peer> peer);
  ~Requests();

  void Subscribe(Req req);
  void Count(CountReq count);
  void Close(const std::string& subscription);
  // Ends them all, with a CLOSED for each.
  void CloseAll(std::string_view reason);
  // The connection is gone.
  void End();

 private:
  struct Request;

  size_t enough_pending() const;
  size_t little_pending() const;
  void Add(std::string name, std::vector<Filter> filters, bool is_count);
  std::string RefusalOf(const std::vector<Filter>& filters) const;
  std::string TakeValues(uint64_t values);
  void StartNext();
  void Start(Request& request);
  void EnterLive(Request& request, const std::vector<Filter>& filters);
  ScanPlan PlanOf(Request& request, std::vector<Filter> filters) const;
  void OnReport(uint64_t serial, ScanReport report);
  void SayEvents(const Request& request, const ScanReport& report);
  void Finish(Request& request, const ScanReport& report, Completeness completeness);
  void OnLive(Request& request, const LiveEvent& event);
  void SayLive(const Request& request, const LiveEvent& event);
  void Refuse(Request& request, std::string_view reason);
  void Remove(Request& request);
  void ReturnTurn();
  Request* Find(uint64_t serial);

  RelayContext& context_;
  const std::shared_ptr<Peer> peer_;
  std::unordered_map<uint64_t, std::unique_ptr<Request>> requests_;
  std::unordered_map<std::string, uint64_t> by_name_;  // subscriptions
  std::deque<uint64_t> queue_;                         // those that have not begun
  uint64_t last_serial_ = 0;
  size_t running_ = 0;
  bool waits_for_room_ = false;
  size_t held_bytes_ = 0;
  uint64_t filter_values_ = 0;  // of its requests
};

}  // namespace weir
