// Policy plugins as operators write them, in Python and for Node, with a relay on a real socket.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/relay.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/web_client.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

constexpr const char* kPython = R"(#!/usr/bin/env python3
import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    if request['type'] != 'new':
        print('unexpected request type', file=sys.stderr, flush=True)
        continue
    event = request['event']
    answer = {'id': event['id'], 'action': 'accept'}
    if 'spam' in event['content']:
        answer['action'] = 'reject'
        answer['msg'] = 'blocked: no spam, from ' + request['sourceType'] + ' ' + request['sourceInfo']
    elif 'ghost' in event['content']:
        answer['action'] = 'shadowReject'
    print(json.dumps(answer), flush=True)
)";

constexpr const char* kNode = R"(#!/usr/bin/env node
const lines = require('readline').createInterface({input: process.stdin, output: process.stdout, terminal: false});
lines.on('line', (line) => {
  const request = JSON.parse(line);
  const result = {id: request.event.id};
  if (request.event.content.includes('spam')) {
    result.action = 'reject';
    result.msg = 'blocked: no spam, from ' + request.sourceType + ' ' + request.sourceInfo;
  } else {
    result.action = request.event.content.includes('ghost') ? 'shadowReject' : 'accept';
  }
  console.log(JSON.stringify(result));
});
)";

// Does with an event what its content says.
constexpr const char* kHostile = R"(#!/usr/bin/env python3
import json
import os
import sys

slow = None

def say(event, action='accept'):
    print(json.dumps({'id': event['id'], 'action': action}), flush=True)

for line in sys.stdin:
    event = json.loads(line)['event']
    content = event['content']
    if content == 'twice':
        say(event)
        say(event, 'reject')
    elif content == 'other id':
        say({'id': '00' * 32})
        say(event)
    elif content == 'garbage':
        print('}{ \xff\x00', flush=True)
        say(event)
    elif content == 'huge':
        for _ in range(64):
            sys.stdout.write('x' * (1 << 20))
        print(flush=True)
        say(event)
    elif content == 'dies':
        os.kill(os.getpid(), 9)
    elif content == 'slow':
        slow = event
    else:
        say(event)
        if content == 'the slow one may go' and slow:
            say(slow)
)";

class PolicyPluginsTest : public RelayServerTest {
 protected:
  // Opens a relay whose write plugin is this script.
  void OpenWith(const std::string& script) {
    configuration_.plugins.write.command = Write(script);
    configuration_.plugins.timeout = std::chrono::minutes(10);
    Open();
  }
  std::string Write(const std::string& script) {
    std::string path = directory_ / "plugin";
    WriteText(path + ".new", script);
    chmod((path + ".new").c_str(), 0700);
    std::filesystem::rename(path + ".new", path);
    return path;
  }
  std::string Note(const std::string& content) const {
    return signer_.SignedEvent(WallClock::System().NowSeconds(), 1, "[]", content);
  }
  // Publishes a note with this content, and returns what follows the id in the answer.
  std::string Publish(WebClient& client, const std::string& content) {
    client.Send("[\"EVENT\"," + Note(content) + "]");
    return Answer(client);
  }
  static std::string Answer(WebClient& client) {
    const std::string ok = client.Read().value_or("the connection has ended");
    return ok.starts_with("[\"OK\",") ? ok.substr(73) : ok;
  }
  // Asks over a connection of its own, so that no other client gets live events between its answers.
  size_t Stored() const {
    WebClient reader(relay_->port());
    reader.Send(R"(["REQ","all",{}])");
    return reader.ReadUntil("[\"EOSE\"").size() - 1;
  }
  bool IsMetric(const std::string& line) const {
    return Eventually([&] { return HasLine(HttpGet(relay_->port(), "/metrics").second, line); });
  }
  void ExpectJudges(const std::string& script) {
    OpenWith(script);
    WebClient client(relay_->port());
    EXPECT_EQ(Publish(client, "hello"), "true,\"\"]");
    EXPECT_EQ(Publish(client, "spam"), R"(false,"blocked: no spam, from IP4 127.0.0.1"])");
    EXPECT_EQ(Publish(client, "ghost"), "true,\"\"]");
    EXPECT_EQ(Stored(), 1U);
    EXPECT_TRUE(IsMetric(R"(weir_plugin_answers_total{plugin="write",action="shadow_reject"} 1)"));
  }

  Signer signer_{7};
};

TEST_F(PolicyPluginsTest, APluginInPythonJudgesEvents) { ExpectJudges(kPython); }

TEST_F(PolicyPluginsTest, APluginForNodeJudgesEvents) {
  if (std::system("command -v node > /dev/null") != 0) GTEST_SKIP() << "no node is installed";
  ExpectJudges(kNode);
}

TEST_F(PolicyPluginsTest, ACommandLineMayHaveArguments) {
  const std::string path = Write(kPython);
  configuration_.plugins.write = {.command = "exec python3 -u " + path, .processes = 3};
  configuration_.plugins.timeout = std::chrono::minutes(10);
  Open();
  WebClient client(relay_->port());
  EXPECT_EQ(Publish(client, "hello"), "true,\"\"]");
  EXPECT_TRUE(IsMetric(R"(weir_plugin_processes{plugin="write"} 3)"));
}

TEST_F(PolicyPluginsTest, SurvivesWhateverThePluginWrites) {
  OpenWith(kHostile);
  WebClient client(relay_->port());
  for (const char* content : {"twice", "other id", "garbage", "huge"}) {
    EXPECT_EQ(Publish(client, content), "true,\"\"]") << content;
  }
  EXPECT_TRUE(IsMetric(R"(weir_plugin_faults_total{plugin="write",fault="unasked"} 2)"));
  EXPECT_TRUE(IsMetric(R"(weir_plugin_faults_total{plugin="write",fault="garbage"} 2)"));
  EXPECT_EQ(HttpGet(relay_->port(), "/readyz").second, "ready\n");
}

TEST_F(PolicyPluginsTest, GoesOnWhenThePluginIsKilled) {
  OpenWith(kHostile);
  WebClient client(relay_->port());
  EXPECT_EQ(Publish(client, "hello"), "true,\"\"]");
  EXPECT_EQ(Publish(client, "dies"),
            R"(false,"error: the write plugin of this relay gave no answer; try again later"])");
  EXPECT_TRUE(Has(HttpGet(relay_->port(), "/readyz").second, "ready, but the write plugin does not answer"));
  EXPECT_EQ(Publish(client, "hello again"), "true,\"\"]");
  EXPECT_EQ(HttpGet(relay_->port(), "/readyz").second, "ready\n");
}

TEST_F(PolicyPluginsTest, ASlowEventHoldsBackNoOther) {
  OpenWith(kHostile);
  WebClient slow(relay_->port());
  slow.Send("[\"EVENT\"," + Note("slow") + "]");
  ASSERT_TRUE(IsMetric(R"(weir_plugin_questions{plugin="write"} 1)"));
  WebClient client(relay_->port());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Publish(client, "note " + std::to_string(i)), "true,\"\"]");
  EXPECT_EQ(Stored(), 20U);
  EXPECT_EQ(Publish(client, "the slow one may go"), "true,\"\"]");
  EXPECT_EQ(Answer(slow), "true,\"\"]");
}

TEST_F(PolicyPluginsTest, ANewVersionOfTheFileTakesOver) {
  OpenWith(
      "#!/usr/bin/env python3\nimport json, sys\nfor line in sys.stdin:\n"
      "    print(json.dumps({'id': json.loads(line)['event']['id'], 'action': 'reject', 'msg': 'the old one'}),"
      " flush=True)\n");
  WebClient client(relay_->port());
  EXPECT_EQ(Publish(client, "hello"), R"(false,"blocked: the old one"])");
  Write(kPython);
  int tries = 0;
  EXPECT_TRUE(Eventually([&] {
    const std::string answer = Publish(client, "try " + std::to_string(++tries));
    EXPECT_TRUE(answer == "true,\"\"]" || answer == R"(false,"blocked: the old one"])") << answer;
    return answer == "true,\"\"]";
  }));
  EXPECT_TRUE(IsMetric(R"(weir_plugin_unanswered_total{plugin="write"} 0)"));
}

TEST_F(PolicyPluginsTest, ARelayWithoutItsPluginDoesNotStart) {
  configuration_.plugins.write.command = directory_ / "missing";
  const auto opened = Relay::Open(configuration_);
  ASSERT_FALSE(opened.ok());
  EXPECT_TRUE(Has(opened.status().message(), "the write plugin: ")) << opened.status().message();
}

}  // namespace
}  // namespace weir
