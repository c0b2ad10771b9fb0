// NotifyWire: a BusWire over PostgreSQL's LISTEN and NOTIFY. PostgreSQL makes commits that notify wait for each other.
// NotifyWire uses a connection of its own: the commits that save events do not notify, so they need not wait.
#pragma once

#include "config/wire/postgres/postgres_session.h"
#include "relay/store/siblings/bus_wire.h"

namespace weir {

class NotifyWire final : public BusWire {
 public:
  // `session` need not be connected.
  explicit NotifyWire(std::unique_ptr<PostgresSession> session) : session_(std::move(session)) {}

  Status Connect(Duration patience) override;
  int socket() const override { return session_->socket(); }
  Status Send(std::span<const std::string> messages, Duration patience) override;
  Status Receive(const std::function<void(std::string_view message)>& on_message) override;
  size_t max_message_bytes() const override { return 7999; }
  std::string name() const override { return "NOTIFY"; }

 private:
  const std::unique_ptr<PostgresSession> session_;
};

}  // namespace weir
