#include "relay/nostr/vanish.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(IsSameRelay, HoldsForOtherSpellingsOfAUrl) {
  for (const char* spelling :
       {"wss://relay.example", "wss://relay.example/", "wss://relay.example//", "WSS://Relay.EXAMPLE",
        "ws://relay.example", "relay.example", "relay.example:443", "wss://relay.example:443/", "ws://relay.example:80",
        "wss://relay.example.", "wss://relay.example.:443/", "https://relay.example", "http://relay.example/"}) {
    EXPECT_TRUE(IsSameRelay(spelling, "wss://relay.example")) << spelling;
    EXPECT_TRUE(IsSameRelay("wss://relay.example/", spelling)) << spelling;
  }
  EXPECT_TRUE(IsSameRelay("ws://127.0.0.1:3334", "wss://127.0.0.1:3334/"));
  EXPECT_TRUE(IsSameRelay("ws://[::1]:3334", "[::1]:3334"));
  EXPECT_TRUE(IsSameRelay("wss://relay.example/inbox/", "relay.example/inbox"));
}

TEST(IsSameRelay, FailsIfAnotherRelayMayBeMeant) {
  for (const char* other : {"wss://relay.example/path", "wss://relay.example:8443", "wss://relay.example.evil",
                            "wss://other.example", "wss://user@relay.example", "ftp://relay.example", "wss://", "", "/",
                            "://relay.example", "wss://relay.example?x=1", "wss://[relay.example", "relay.example:x"})
    EXPECT_FALSE(IsSameRelay(other, "wss://relay.example")) << other;
  EXPECT_FALSE(IsSameRelay("", ""));
}

}  // namespace
}  // namespace weir
