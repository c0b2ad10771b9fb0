// Client: handles the messages of one connection. Parses each message, and passes an EVENT to EventWindow and a REQ,
// COUNT, CLOSE, NEG-OPEN, NEG-MSG or NEG-CLOSE to Requests. Handles AUTH itself, and closes the connection after too
// many bad messages. Once the server has begun to shut down, the client answers new EVENTs with an error, and ignores
// new REQs and COUNTs.
//
// While a worker verifies an AUTH, the relay does not read the connection. So right after an AUTH, a client may send
// messages that depend on it, without waiting for the OK.
//
// Threads: all functions run on the connection's I/O thread, except VerifyAuth and JudgeAuth, which run on a worker.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "relay/net/connection.h"
#include "relay/nostr/messages.h"
#include "relay/protocol/event_window.h"
#include "relay/protocol/peer.h"
#include "relay/protocol/requests.h"

namespace weir {

class Client final : public ConnectionHandler, public std::enable_shared_from_this<Client> {
 public:
  // Sends a challenge if the settings require AUTH. `context` and `pipeline` must outlive the client; `connection` must
  // live until OnEnd. A client must be made with std::make_shared, because tasks on other threads share it.
  Client(RelayContext& context, EventPipeline& pipeline, Connection& connection);

  void OnText(std::string_view text) override;
  void OnReadEnd() override;
  void OnTick() override;
  void OnLastText(std::function<void()> done) override;
  void OnShutdown(std::function<void()> done) override;
  void OnGiveUp(std::string_view why) override;
  void OnEnd(std::string_view cause) override;

 private:
  void Handle(EventText event);
  void Handle(AuthText auth);
  void Handle(Req req);
  void Handle(CountReq count);
  void Handle(CloseReq close);
  void Handle(KeepAlive) {}
  void Handle(NegOpen open);
  void Handle(NegMsg message);
  void Handle(NegClose close);
  void Handle(BadMessage bad);
  void CountBadMessage();

  std::string JudgeAuth(const std::string& json, const std::string& challenge, PublicKey* key) const;
  void VerifyAuth(const std::string& json, const std::string& challenge);
  void OnAuthVerified(std::string id_hex, std::string refusal, const PublicKey& key);
  void SayOk(Verb of, std::string_view id_hex, std::string_view refusal);
  void GoOnWhenIdle();

  RelayContext& context_;
  const MessageLimits limits_;
  const std::shared_ptr<Peer> peer_;
  const std::shared_ptr<EventWindow> window_;
  const std::shared_ptr<Requests> requests_;
  bool verifies_auth_ = false;
  uint32_t bad_messages_ = 0;
  TimePoint forgiven_at_;  // bad_messages_ already has one subtracted for every 10 s up to this time
  std::function<void()> last_text_done_;
  std::function<void()> shutdown_done_;
  bool shutting_down_ = false;
};

}  // namespace weir
