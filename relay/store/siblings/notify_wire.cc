#include "relay/store/siblings/notify_wire.h"

namespace weir {
namespace {

constexpr PostgresStatement kNotify{"notify", "SELECT pg_notify('weir', m) FROM unnest($1::text[]) AS m"};

}  // namespace

// Turns synchronous_commit off, so that no commit waits for a disk or for standbys: a notification need not survive a
// crash of the server, because the listeners' connections do not survive it either.
Status NotifyWire::Connect(Duration patience) {
  if (Status connected = session_->Connect(patience); !connected.ok()) return connected;
  return session_->Ask("SET synchronous_commit = off; SET client_encoding = 'UTF8'; LISTEN weir", patience).status();
}

Status NotifyWire::Send(std::span<const std::string> messages, Duration patience) {
  PostgresArray all(PostgresArray::Type::kText);
  for (const std::string& message : messages) all.Add(message);
  session_->Queue(kNotify, PostgresValues().Array(all));
  return session_->Run(patience).status();
}

Status NotifyWire::Receive(const std::function<void(std::string_view message)>& on_message) {
  const Result<std::vector<std::string>> messages = session_->TakeNotifications();
  if (!messages.ok()) return messages.status();
  for (const std::string& message : messages.value()) on_message(message);
  return {};
}

}  // namespace weir
