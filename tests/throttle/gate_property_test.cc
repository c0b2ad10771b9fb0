// Properties of the gate under any schedule of requests, classes, parties, limits and clock steps.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/throttle/gate_fixture.h"

namespace weir {
namespace {

using State = Admission::State;

template <typename AnyGate>
struct Schedule {
  ManualClock clock{TimePoint{hours(1)}};
  AnyGate gate{clock, [](TimePoint) {}};
  std::vector<Admission> admissions;

  void Ask(Party party, uint64_t bytes) { admissions.push_back(gate.Admit({bytes}, party)); }

  // Lets some callers give up, some look, and some time pass.
  void Stir() {
    if (!admissions.empty() && *rc::gen::inRange(0, 4) == 0) {
      const auto which = *rc::gen::inRange<size_t>(0, admissions.size());
      std::swap(admissions[which], admissions.back());
      admissions.pop_back();
    }
    if (!admissions.empty() && *rc::gen::inRange(0, 4) == 0) {
      admissions[*rc::gen::inRange<size_t>(0, admissions.size())].Poll();
    }
    clock.Advance(Duration(*rc::gen::inRange<int64_t>(0, 50'000'000)));
    gate.Pump();
  }
};

// One class alone, at changing rates, with requests of up to three bursts: the bytes granted are at most the bytes that
// came in, plus the burst.
RC_GTEST_PROP(GateProperty, TokensAreConserved, ()) {
  const WorkClass c = *rc::gen::element(WorkClass::kInteractive, WorkClass::kBulk);
  const double burst = *rc::gen::inRange(1'024, 200'000);
  double rate = *rc::gen::inRange(0, 2'000'000);
  Schedule<WriteGate> s;
  s.gate.SetLimits(Pacing(rate, rate, burst));
  double earned = burst;
  TimePoint last = s.clock.Now();
  for (int n = *rc::gen::inRange(1, 200); n > 0; --n) {
    const auto party = *rc::gen::inRange<uint64_t>(0, 5);
    s.Ask({.id = party, .work_class = c}, *rc::gen::inRange<uint64_t>(0, static_cast<uint64_t>(3 * burst)));
    s.Stir();
    earned += rate * ToSeconds(s.clock.Now() - last);
    last = s.clock.Now();
    if (*rc::gen::inRange(0, 10) == 0) {
      rate = *rc::gen::inRange(0, 2'000'000);
      s.gate.SetLimits(Pacing(rate, rate, burst));
    }
    RC_ASSERT(static_cast<double>(s.gate.Admitted(c).bytes) <= earned + 1e-3);
  }
}

// Both classes together: bulk takes at most its rate, burst and floor; interactive is bounded by its own rate and
// burst.
RC_GTEST_PROP(GateProperty, EachClassIsBoundedIndependentlyOfTheOther, ()) {
  const double burst = 50'000;
  const double interactive_rate = *rc::gen::inRange(0, 2'000'000);
  const double bulk_rate = *rc::gen::inRange(0, 2'000'000);
  Schedule<WriteGate> s;
  s.gate.SetLimits(Pacing(interactive_rate, bulk_rate, burst));
  const TimePoint start = s.clock.Now();
  for (int n = *rc::gen::inRange(1, 300); n > 0; --n) {
    const auto bytes = *rc::gen::inRange<uint64_t>(0, 150'000);
    s.Ask(*rc::gen::arbitrary<bool>() ? Interactive() : Bulk(), bytes);
    s.Stir();
    const double t = ToSeconds(s.clock.Now() - start);
    RC_ASSERT(static_cast<double>(s.gate.Admitted(WorkClass::kInteractive).bytes) <=
              interactive_rate * t + burst + 1e-3);
    RC_ASSERT(static_cast<double>(s.gate.Admitted(WorkClass::kBulk).bytes) <= 1.05 * bulk_rate * t + 2 * burst + 1e-3);
  }
}

// In any schedule, every wait ends by the longest wait, and the books balance in the end.
template <typename AnyGate, typename Limits, typename Change>
void EveryWaitEnds(Limits limits, const Change& change) {
  Schedule<AnyGate> s;
  s.gate.SetLimits(limits);
  uint64_t asked = 0;
  for (int n = *rc::gen::inRange(1, 200); n > 0; --n) {
    ++asked;
    s.Ask({.id = *rc::gen::inRange<uint64_t>(0, 4),
           .work_class = *rc::gen::element(WorkClass::kInteractive, WorkClass::kBulk)},
          *rc::gen::oneOf(rc::gen::inRange<uint64_t>(0, 20'000), rc::gen::inRange<uint64_t>(0, 1'000'000),
                          rc::gen::just(UINT64_MAX)));
    s.Stir();
    switch (*rc::gen::inRange(0, 30)) {
      case 0:
        s.gate.RefuseAll("stopped");
        break;
      case 1:
        s.gate.SetLimits({});
        break;
      case 2:
      case 3:
        change(limits);
        s.gate.SetLimits(limits);
        break;
      case 4:
        s.clock.Advance(-Duration(*rc::gen::inRange<int64_t>(0, 100'000'000)));
        break;
      default:
        break;
    }
    RC_ASSERT(s.gate.Stats().running >= 0);
  }
  s.clock.Advance(seconds(61));
  s.gate.Pump();
  for (Admission& admission : s.admissions) RC_ASSERT(admission.Poll() != State::kWaiting);
  s.admissions.clear();
  const GateStats stats = s.gate.Stats();
  RC_ASSERT(stats.waiting == 0U);
  RC_ASSERT(stats.running == 0);
  uint64_t refused = 0;
  for (const auto& [reason, count] : stats.refused) refused += count;
  RC_ASSERT(stats.waits[0].refused + stats.waits[1].refused == refused);
  RC_ASSERT(stats.waits[0].ended + stats.waits[1].ended == stats.delayed);
  RC_ASSERT(stats.waits[0].time + stats.waits[1].time == stats.waited);
  RC_ASSERT(stats.admitted[0].operations + stats.admitted[1].operations + refused + stats.cancelled == asked);
}

RC_GTEST_PROP(GateProperty, EveryWaitForBytesEnds, ()) {
  EveryWaitEnds<WriteGate>(Pacing(1e5, 1e5, 1e4), [](WriteLimits& limits) { limits[WorkClass::kBulk].hold ^= true; });
}

RC_GTEST_PROP(GateProperty, EveryWaitForASlotEndsAndEveryPermitComesBack, ()) {
  ScanLimits limits = Slots(3);
  limits.scan_bytes = 5000;
  EveryWaitEnds<ScanGate>(limits, [](ScanLimits& l) {
    if (*rc::gen::arbitrary<bool>()) {
      l.scan_bytes = 5000 - l.scan_bytes;
    } else {
      l[WorkClass::kInteractive].refuse ^= true;
    }
  });
}

// However large the requests of other parties are, a small request of a party that asks for less than its share waits
// for at most one of their pieces.
RC_GTEST_PROP(GateProperty, ASmallRequestWaitsForAtMostOnePieceOfOthers, ()) {
  const double rate = *rc::gen::inRange(100'000, 20'000'000);
  Schedule<WriteGate> s;
  WriteLimits limits = Pacing(rate, rate, *rc::gen::inRange(1'024, 2'000'000));
  limits[WorkClass::kInteractive].longest_wait = hours(1);
  s.gate.SetLimits(limits);
  const double piece_s = std::max(0.005, 4096 / rate);
  s.Ask(Interactive(1), 5'000'000);
  for (int n = *rc::gen::inRange(1, 100); n > 0; --n) {
    if (*rc::gen::inRange(0, 4) == 0) {
      s.Ask(Interactive(*rc::gen::inRange<uint64_t>(2, 5)), *rc::gen::inRange<uint64_t>(100'001, 10'000'000));
    }
    const auto bytes = *rc::gen::inRange<uint64_t>(0, 1024);
    Admission small = s.gate.Admit({bytes}, Interactive(9));
    const Duration bound = FromSeconds(piece_s + static_cast<double>(bytes) / rate) + microseconds(5);
    const TimePoint end = s.clock.Now() + bound;
    for (TimePoint next = s.gate.Pump(); next <= end; next = s.gate.Pump()) s.clock.Set(next);
    s.clock.Set(end);
    RC_ASSERT(small.Poll() == State::kAdmitted);
    RC_ASSERT(small.waited() <= bound);
    s.clock.Advance(Duration(*rc::gen::inRange<int64_t>(0, 100'000'000)));
  }
}

// The same schedule gives the same answers.
RC_GTEST_PROP(GateProperty, IsDeterministic, ()) {
  const auto steps = *rc::gen::container<std::vector<std::pair<uint8_t, uint16_t>>>(
      rc::gen::pair(rc::gen::arbitrary<uint8_t>(), rc::gen::arbitrary<uint16_t>()));
  const auto play = [&] {
    Schedule<WriteGate> s;
    s.gate.SetLimits(Pacing(1e5, 1e5, 1e4));
    for (const auto& [who, bytes] : steps) {
      s.Ask(who % 2 == 0 ? Interactive(who) : Bulk(who), bytes);
      s.clock.Advance(Duration(who * 100'000));
      s.gate.Pump();
    }
    std::vector<State> states;
    for (Admission& admission : s.admissions) states.push_back(admission.Poll());
    return states;
  };
  RC_ASSERT(play() == play());
}

}  // namespace
}  // namespace weir
