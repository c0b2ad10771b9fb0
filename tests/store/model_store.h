// What the store must do, as the NIPs say it: a list of events, looked through from end to end for everything. Slow,
// and easy to believe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "relay/nostr/filter.h"
#include "relay/store/event_store.h"
#include "tests/store/plain_event.h"

namespace weir {

bool ModelMatches(const Filter& filter, const PlainEvent& event);

struct ModelAnswer {
  std::vector<std::string> ids;
  bool complete = true;
};

struct ModelQuery {
  uint64_t now_seconds = 0;
  uint64_t default_limit = 500;
  uint64_t max_limit = 5000;
  std::function<bool(const PlainEvent&)> visible;
};

class ModelStore {
 public:
  explicit ModelStore(std::vector<std::string> own_urls = {}) : own_urls_(std::move(own_urls)) {}

  SaveOutcome Save(const PlainEvent& event, uint64_t now_seconds);
  bool Has(const std::string& id) const;
  bool Delete(const std::string& id);
  size_t SweepExpired(uint64_t now_seconds);
  ModelAnswer Find(const std::vector<Filter>& filters, const ModelQuery& query) const;

  // In the order of arrival.
  const std::vector<PlainEvent>& events() const { return events_; }

 private:
  bool IsVanished(const PlainEvent& event) const;
  bool IsDeleted(const PlainEvent& event) const;
  void ApplyDeletion(const PlainEvent& request);
  void ApplyVanish(const PlainEvent& request);

  std::vector<std::string> own_urls_;
  std::vector<PlainEvent> events_;
  std::set<std::pair<std::string, std::string>> deleted_ids_;  // id, author
  std::map<std::string, uint64_t> deleted_addresses_;          // until when
  std::map<std::string, uint64_t> vanished_;                   // author, until when
};

}  // namespace weir
