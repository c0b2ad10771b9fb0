#include "relay/operator/landing_page.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/admin/admin.h"
#include "relay/operator/html.h"
#include "relay/operator/nip11.h"
#include "relay/process/version.h"

namespace weir {
namespace {

// The template of the page. LandingPage escapes all texts from settings or the request before it inserts them.
constexpr std::string_view kPage = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<style>
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5b6b7a; --paper: #fbfcfd; --line: #d9e0e6; --water: #17709c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4eaf0; --soft: #93a3b2; --paper: #11181f; --line: #2b3844; --water: #67b7dd; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 44rem; padding: 3rem 1.25rem; background: var(--paper); color: var(--ink);
       font: 1rem/1.6 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.9rem; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 2.2rem 0 .4rem; font-size: 1.05rem; }
h2 small { font-weight: normal; }
p { margin: .4rem 0; }
a { color: var(--water); }
.soft { color: var(--soft); }
code, pre { font: .92rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.address { display: flex; gap: .75rem; align-items: center; padding: .7rem 1rem; border: 1px solid var(--line);
           border-left: 4px solid var(--water); }
.address code { flex: 1; font-size: 1.05rem; }
button { font: inherit; padding: .15rem .8rem; color: var(--water); background: none; border: 1px solid currentColor;
         cursor: pointer; }
pre { margin: .4rem 0; padding: .7rem 1rem; border: 1px solid var(--line); white-space: pre-wrap; }
ul { list-style: none; margin: 0; padding: 0; }
li { padding: .6rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; white-space: pre-wrap; }
li small { display: block; color: var(--soft); }
</style>
</head>
<body>
<h1>{name}</h1>
<p class="soft">{description}</p>

<h2>Connect</h2>
<p>This is a <a href="https://nostr.com">Nostr</a> relay: it keeps signed notes and passes them on. Add this address to
your Nostr client's relays:</p>
<p class="address"><code id="url">{url}</code><button id="copy" type="button">Copy</button></p>
<p class="soft">{auth}{contact}</p>

<h2>Newest notes <small class="soft" id="state" role="status"></small></h2>
<ul id="notes"></ul>
<noscript><p class="soft">Without JavaScript this page cannot connect; a client can.</p></noscript>

<h2>For programs and operators</h2>
<pre>curl -H 'Accept: application/nostr+json' {http}</pre>
<p><a href="/metrics">/metrics</a> for Prometheus · <a href="/api/metrics">/api/metrics</a> as JSON ·
<a href="/healthz">/healthz</a> · <a href="/readyz">/readyz</a>{live}</p>
<p class="soft">weir {version}, NIPs {nips}</p>

<script>
const $ = id => document.getElementById(id);
const state = text => { $('state').textContent = text; };
const url = location.host ? location.protocol.replace('http', 'ws') + '//' + location.host : $('url').textContent;
$('copy').onclick = () => navigator.clipboard.writeText($('url').textContent).then(() => { $('copy').textContent = 'Copied'; });

function show(event, live) {
  const item = document.createElement('li');
  const about = document.createElement('small');
  about.textContent = new Date(event.created_at * 1000).toLocaleString() + ' · ' + event.pubkey.slice(0, 12) + '…';
  item.append(about, event.content.slice(0, 500));
  if (live) $('notes').prepend(item); else $('notes').append(item);
  while ($('notes').children.length > 5) $('notes').lastChild.remove();
}

let stored = true;
let asked = 0;
const socket = new WebSocket(url);
state('connecting…');
socket.onopen = () => {
  asked = performance.now();
  socket.send(JSON.stringify(['REQ', 'newest', { kinds: [1], limit: 5 }]));
};
socket.onmessage = message => {
  const [verb, , third] = JSON.parse(message.data);
  if (verb === 'EVENT') show(third, !stored);
  if (verb === 'CLOSED') state(third);
  if (verb !== 'EOSE') return;
  stored = false;
  const none = $('notes').children.length === 0 ? 'none yet; ' : '';
  state(none + 'connected; answered in ' + (performance.now() - asked).toFixed(1) + ' ms');
};
socket.onerror = () => state('no connection to ' + url);
socket.onclose = () => state('connection closed; reload to connect again');
</script>
</body>
</html>
)html";

// Returns WEIR_RELAY_URL if it is set; otherwise a URL with the Host of the request, with wss if the request came by
// TLS (CameByTls), else with ws.
std::string WebSocketUrl(const RelaySettings& settings, const HttpRequest& request) {
  if (!settings.url.empty()) return settings.url;
  const std::string_view host = request.Header("host");
  return std::string(CameByTls(request) ? "wss://" : "ws://") + std::string(host.empty() ? "this host" : host);
}

constexpr const char* kLiveLink = " · <a href=\"/live\">/live</a> for operators";

// Returns true if the page should show the link to /live. An Admin decides which clients may use /live.
bool IsOperators(const RelaySettings& settings, const HttpRequest& request) {
  if (!request.Cookie(OperatorCookie(request)).empty()) return true;
  return TrustInLoopback(settings.admin_from_loopback).trusted && IsFromHere(request);
}

std::string AuthNote(const RelaySettings& settings, const RuleLimits& rules) {
  if (settings.auth_required) return "Clients have to authenticate (NIP-42). ";
  if (rules.restricts_writes || rules.readers_need_auth)
    return rules.readers_need_auth ? "Readers have to authenticate (NIP-42). " : "Not everybody may write. ";
  if (settings.auth) return "Anybody may read and write; direct messages only their parties, after AUTH (NIP-42). ";
  return "Anybody may read and write. ";
}

std::string Listed(const std::vector<int>& nips) {
  std::string out;
  for (const int nip : nips) out += (out.empty() ? "" : ", ") + std::to_string(nip);
  return out;
}

}  // namespace

HttpResponse LandingPage(const RelayConfiguration& configuration, const HttpRequest& request, const RuleLimits& rules) {
  const RelaySettings& s = configuration.relay;
  const std::string url = WebSocketUrl(s, request);
  HtmlWords words = {{"name", s.name},
                     {"description", s.description},
                     {"url", url},
                     {"http", "http" + url.substr(2) + (url.ends_with('/') ? "" : "/")},
                     {"auth", AuthNote(s, rules)},
                     {"contact", s.contact.empty() ? "" : "Run by: " + s.contact},
                     {"version", std::string(Version())},
                     {"nips", Listed(SupportedNips(s))}};
  for (auto& [word, text] : words) text = HtmlEscaped(text);
  words.emplace_back("live", IsOperators(s, request) ? kLiveLink : "");
  return {.content_type = "text/html; charset=utf-8",
          .body = FilledHtml(kPage, words),
          .headers = {{"Content-Security-Policy",
                       "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                       "connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"},
                      {"Vary", "Accept, Cookie"}}};
}

}  // namespace weir
