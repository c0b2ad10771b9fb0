// The functions of weir.h. None lets an exception out, and none believes a handle.
#include "throttle/c/weir.h"

#include <cxxabi.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "config/text/parse.h"
#include "throttle/c/attach_setup.h"
#include "throttle/c/handle_table.h"
#include "throttle/c/held_request.h"
#include "throttle/c/hosted_throttle.h"

namespace weir {
namespace {

constexpr size_t kFirstBuffer = 16 << 10;  // the text of rocksdb.cfstats has about 6 KiB
constexpr size_t kLargestText = 16 << 20;  // a longer property is a mistake of the program

// Never destroyed: a program may call weir until its process ends.
struct Tables {
  HandleTable<AttachSetup> setups;
  HandleTable<HostedThrottle> throttles;
  HandleTable<HeldRequest> tickets;
  std::atomic<uint64_t> closings{0};
};
Tables& All() {
  static Tables* const tables = [] {
    auto* const made = new Tables;
    pthread_atfork([] { All().setups.Lock(), All().throttles.Lock(), All().tickets.Lock(); },
                   [] { All().tickets.Unlock(), All().throttles.Unlock(), All().setups.Unlock(); },
                   [] { All().tickets.Unlock(), All().throttles.Unlock(), All().setups.Unlock(); });
    return made;
  }();
  return *tables;
}

// Holds the answers of weir_error and weir_retry_ms in this thread.
struct LastCall {
  std::string error;
  int64_t retry_ms = 0;
};
LastCall& Last() {
  thread_local LastCall last;
  return last;
}

weir_code Fail(weir_code code, std::string message) {
  Last().error = std::move(message);
  return code;
}
weir_code CodeOf(const Status& status) { return status.ok() ? WEIR_OK : Fail(WEIR_FAILED, status.message()); }
weir_code NoHandle(const char* kind) {
  return Fail(WEIR_INVALID, std::string("there is no such ") + kind + ": it is 0, or was ended");
}
weir_code NullPointer(const char* name) { return Fail(WEIR_INVALID, std::string(name) + " is a null pointer"); }

// Runs `body`, and turns an exception into `failed`.
template <typename Body, typename Value>
Value Guarded(Value failed, const Body& body) {
  try {
    return body();
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_cancel ends the thread
  } catch (const std::exception& e) {
    Fail(WEIR_FAILED, e.what());
  } catch (...) {
    Fail(WEIR_FAILED, "an exception of an unknown type");
  }
  return failed;
}

// Runs `body` with the object of the handle. Returns WEIR_INVALID if there is none.
template <typename T, typename Body>
weir_code With(const HandleTable<T>& table, uint64_t handle, const char* kind, const Body& body) {
  return Guarded(WEIR_FAILED, [&] {
    const std::shared_ptr<T> object = table.Find(handle);
    return object == nullptr ? NoHandle(kind) : body(*object);
  });
}
template <typename Body>
weir_code WithSetup(weir_setup setup, const Body& body) {
  return With(All().setups, setup, "setup", body);
}
template <typename Body>
weir_code WithTicket(weir_ticket ticket, const Body& body) {
  return With(All().tickets, ticket, "ticket", body);
}

// Finds a throttle without a lock if this thread used the same one last and none was closed since.
std::shared_ptr<HostedThrottle>& ThrottleOf(weir_throttle handle) {
  struct Known {
    weir_throttle handle = 0;
    uint64_t closings = 0;
    std::shared_ptr<HostedThrottle> throttle;
  };
  thread_local Known known;
  const uint64_t closings = All().closings.load(std::memory_order_acquire);
  if (known.handle != handle || known.closings != closings || known.throttle == nullptr)
    known = {handle, closings, All().throttles.Find(handle)};
  return known.throttle;
}

weir_code Tell(const Outcome& outcome) {
  if (outcome.state == Admission::State::kAdmitted) return WEIR_OK;
  if (outcome.state == Admission::State::kWaiting) {
    // The limits change ten times a second, so a program that gives up the wait may try again then.
    Last().retry_ms = 100;
    return Fail(WEIR_WAITING, "waits: " + outcome.reason);
  }
  Last().retry_ms = std::chrono::ceil<std::chrono::milliseconds>(outcome.retry_after).count();
  return Fail(outcome.too_large ? WEIR_TOO_LARGE : WEIR_BUSY, outcome.reason);
}

// Tells of a wait that the program ends as of a refusal.
weir_code TellAsRefusal(const Outcome& outcome) {
  const weir_code code = Tell(outcome);
  return code == WEIR_WAITING ? Fail(WEIR_BUSY, outcome.reason) : code;
}

// Returns nullopt for WEIR_PATIENT.
std::optional<Duration> TimeoutOf(int64_t timeout_ms) {
  constexpr int64_t kMost = int64_t{24} * 3600 * 1000;
  if (timeout_ms < 0) return std::nullopt;
  return std::chrono::milliseconds(std::min(timeout_ms, kMost));
}

bool AreKnown(int operation, int work_class) {
  return (operation == WEIR_READ || operation == WEIR_WRITE) &&
         (work_class == WEIR_INTERACTIVE || work_class == WEIR_BULK);
}
weir_code UnknownWork() { return Fail(WEIR_INVALID, "the operation or the class of the work is none"); }
Operation OperationOf(int operation) { return operation == WEIR_READ ? Operation::kRead : Operation::kWrite; }
Party PartyOf(uint64_t party, int work_class) {
  return {.id = party, .work_class = work_class == WEIR_BULK ? WorkClass::kBulk : WorkClass::kInteractive};
}

PropertyReader ReaderOf(weir_read read, void* context) {
  return [read, context, buffer = std::string(kFirstBuffer, '\0')](const std::string& family, const char* property,
                                                                   std::string* text) mutable {
    for (int attempt = 0; attempt < 3; ++attempt) {
      const int64_t length = read(context, family.c_str(), property, buffer.data(), buffer.size());
      if (length < 0 || length > static_cast<int64_t>(kLargestText)) return false;
      if (static_cast<size_t>(length) <= buffer.size()) {
        text->assign(buffer.data(), static_cast<size_t>(length));
        return true;
      }
      buffer.resize(2 * static_cast<size_t>(length));
    }
    return false;
  };
}

OptionSetter SetterOf(weir_set_options set, void* context) {
  return [set, context](const std::string& family, const OptionValues& options) {
    std::vector<const char*> names, values;
    for (const auto& [name, value] : options) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    try {
      return set(context, family.c_str(), options.size(), names.data(), values.data()) == 0;
    } catch (const std::exception&) {
      return false;
    }
  };
}

}  // namespace
}  // namespace weir

extern "C" {

const char* weir_version(void) { return WEIR_VERSION; }
const char* weir_error(void) { return weir::Last().error.c_str(); }
int64_t weir_retry_ms(void) { return weir::Last().retry_ms; }

weir_setup weir_setup_create(void) {
  return weir::Guarded(weir_setup{0}, [] { return weir::All().setups.Add(std::make_shared<weir::AttachSetup>()); });
}

weir_code weir_setup_destroy(weir_setup setup) {
  return weir::Guarded(WEIR_FAILED,
                       [&] { return weir::All().setups.Take(setup) == nullptr ? weir::NoHandle("setup") : WEIR_OK; });
}

weir_code weir_setup_set(weir_setup setup, const char* name, const char* value) {
  return weir::WithSetup(setup, [&](weir::AttachSetup& s) {
    if (name == nullptr) return weir::NullPointer("the name of the setting");
    if (value == nullptr) return weir::NullPointer("the value of the setting");
    const weir::Status set = s.Set(name, value);
    return set.ok() ? WEIR_OK : weir::Fail(WEIR_INVALID, set.message());
  });
}

weir_code weir_setup_directory(weir_setup setup, const char* path) {
  return weir::WithSetup(setup, [&](weir::AttachSetup& s) {
    if (path == nullptr) return weir::NullPointer("the path of the directory");
    s.directory = path;
    return WEIR_OK;
  });
}

weir_code weir_setup_options(weir_setup setup, const char* text, size_t length) {
  return weir::WithSetup(setup, [&](weir::AttachSetup& s) {
    if (text == nullptr) return weir::NullPointer("the text of the options");
    const auto parsed = weir::ParseOptionsText({text, length});
    if (!parsed.ok()) return weir::Fail(WEIR_INVALID, parsed.status().message());
    s.options_text.emplace(text, length);
    return WEIR_OK;
  });
}

weir_code weir_setup_family(weir_setup setup, const char* name) {
  return weir::WithSetup(setup, [&](weir::AttachSetup& s) {
    if (name == nullptr) return weir::NullPointer("the name of the column family");
    if (std::find(s.families.begin(), s.families.end(), name) != s.families.end())
      return weir::Fail(WEIR_INVALID, "column family " + weir::Printable(name) + " was added already");
    s.families.emplace_back(name);
    return WEIR_OK;
  });
}

weir_code weir_setup_log(weir_setup setup, weir_log log, void* context) {
  return weir::WithSetup(setup, [&](weir::AttachSetup& s) {
    if (log == nullptr) return weir::NullPointer("the function for the log");
    s.log = [log, context](const std::string& sentence) { log(context, sentence.c_str()); };
    return WEIR_OK;
  });
}

weir_code weir_setup_set_options(weir_setup setup, weir_set_options set, void* context) {
  return weir::WithSetup(setup, [&](weir::AttachSetup& s) {
    if (set == nullptr) return weir::NullPointer("the function that sets options");
    s.set_options = weir::SetterOf(set, context);
    return WEIR_OK;
  });
}

weir_code weir_setup_sampled_by_program(weir_setup setup) {
  return weir::WithSetup(setup, [](weir::AttachSetup& s) {
    s.sampled_by_program = true;
    return WEIR_OK;
  });
}

weir_throttle weir_attach(weir_setup setup, weir_read read, void* context) {
  weir_throttle handle = 0;
  weir::WithSetup(setup, [&](const weir::AttachSetup& s) {
    if (read == nullptr) return weir::NullPointer("the function that reads properties");
    auto throttle = weir::HostedThrottle::Attach(s, weir::ReaderOf(read, context));
    if (!throttle.ok()) return weir::CodeOf(throttle.status());
    handle = weir::All().throttles.Add(std::move(throttle).value());
    return WEIR_OK;
  });
  return handle;
}

weir_code weir_sample(weir_throttle throttle) {
  return weir::With(weir::All().throttles, throttle, "throttle",
                    [](weir::HostedThrottle& t) { return weir::CodeOf(t.Sample()); });
}

weir_code weir_detach(weir_throttle throttle) {
  return weir::With(weir::All().throttles, throttle, "throttle", [](weir::HostedThrottle& t) {
    t.Detach();
    return WEIR_OK;
  });
}

weir_code weir_close(weir_throttle throttle) {
  return weir::Guarded(WEIR_FAILED, [&] {
    const auto closed = weir::All().throttles.Take(throttle);
    if (closed == nullptr) return weir::NoHandle("throttle");
    weir::All().closings.fetch_add(1, std::memory_order_release);
    closed->Detach();
    return WEIR_OK;
  });
}

weir_code weir_admit(weir_throttle throttle, int operation, int work_class, uint64_t bytes, uint64_t party,
                     int64_t timeout_ms) {
  return weir::Guarded(WEIR_FAILED, [&] {
    if (!weir::AreKnown(operation, work_class)) return weir::UnknownWork();
    const std::shared_ptr<weir::HostedThrottle>& known = weir::ThrottleOf(throttle);
    if (known == nullptr) return weir::NoHandle("throttle");
    const weir::Operation asked = weir::OperationOf(operation);
    const weir::Party whose = weir::PartyOf(party, work_class);
    if (timeout_ms > 0) {
      weir::HeldRequest ticket(known, asked, {bytes}, whose);
      return weir::TellAsRefusal(ticket.Wait(weir::TimeoutOf(timeout_ms)));
    }
    weir::Admission admission = known->Admit(asked, {bytes}, whose);
    if (admission.waiting() && timeout_ms < 0) admission.Wait();
    if (admission.admitted()) [[likely]]
      return WEIR_OK;
    return weir::TellAsRefusal(weir::OutcomeOf(admission));
  });
}

weir_ticket weir_ask(weir_throttle throttle, int operation, int work_class, uint64_t bytes, uint64_t party) {
  return weir::Guarded(weir_ticket{0}, [&]() -> weir_ticket {
    if (!weir::AreKnown(operation, work_class)) return weir::UnknownWork(), 0;
    const std::shared_ptr<weir::HostedThrottle>& known = weir::ThrottleOf(throttle);
    if (known == nullptr) return weir::NoHandle("throttle"), 0;
    return weir::All().tickets.Add(std::make_shared<weir::HeldRequest>(
        known, weir::OperationOf(operation), weir::Cost{bytes}, weir::PartyOf(party, work_class)));
  });
}

weir_code weir_ticket_poll(weir_ticket ticket) {
  return weir::WithTicket(ticket, [](weir::HeldRequest& t) { return weir::Tell(t.Poll()); });
}

weir_code weir_ticket_wait(weir_ticket ticket, int64_t timeout_ms) {
  return weir::WithTicket(ticket,
                          [&](weir::HeldRequest& t) { return weir::Tell(t.Wait(weir::TimeoutOf(timeout_ms))); });
}

int weir_ticket_fd(weir_ticket ticket) {
  int descriptor = -1;
  weir::WithTicket(ticket, [&](weir::HeldRequest& t) {
    descriptor = t.ReadyDescriptor();
    return descriptor >= 0 ? WEIR_OK
                           : weir::Fail(WEIR_FAILED, "no pipe can be made: the process has no descriptor left");
  });
  return descriptor;
}

weir_code weir_ticket_end(weir_ticket ticket) {
  return weir::Guarded(
      WEIR_FAILED, [&] { return weir::All().tickets.Take(ticket) == nullptr ? weir::NoHandle("ticket") : WEIR_OK; });
}

size_t weir_view(weir_throttle throttle, char* buffer, size_t capacity) {
  size_t length = 0;
  weir::With(weir::All().throttles, throttle, "throttle", [&](weir::HostedThrottle& t) {
    const std::string view = t.View();
    length = view.size();
    if (capacity == 0) return WEIR_OK;
    if (buffer == nullptr) return length = 0, weir::NullPointer("the buffer");
    const size_t copied = std::min(view.size(), capacity - 1);
    std::memcpy(buffer, view.data(), copied);
    buffer[copied] = '\0';
    return WEIR_OK;
  });
  return length;
}

}  // extern "C"
