// Lists the kinds of events that have a label of their own in metrics: the kinds that a NIP defines, without ephemeral
// kinds, which a relay does not save. Clients can send 65,536 kinds; a label for each of them would fill an operator's
// Prometheus.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weir {

inline constexpr auto kKnownKinds = std::to_array<uint16_t>(
    {0,     1,     2,     3,     4,     5,     6,     7,     8,     9,     10,    11,    12,    13,    14,    15,
     16,    17,    20,    21,    22,    40,    41,    42,    43,    44,    62,    64,    443,   444,   445,   818,
     1018,  1021,  1022,  1040,  1059,  1063,  1068,  1111,  1222,  1244,  1311,  1337,  1617,  1618,  1619,  1621,
     1622,  1630,  1631,  1632,  1633,  1971,  1984,  1985,  1986,  1987,  2003,  2004,  2022,  4550,  7000,  7374,
     7375,  7376,  7516,  7517,  8000,  8001,  9000,  9001,  9002,  9005,  9007,  9008,  9009,  9021,  9022,  9041,
     9321,  9467,  9734,  9735,  9802,  10000, 10001, 10002, 10003, 10004, 10005, 10006, 10007, 10009, 10012, 10013,
     10015, 10019, 10020, 10030, 10050, 10051, 10063, 10096, 10101, 10102, 10166, 10312, 10377, 13194, 17375, 30000,
     30002, 30003, 30004, 30005, 30006, 30007, 30008, 30009, 30015, 30017, 30018, 30019, 30020, 30023, 30024, 30030,
     30040, 30041, 30063, 30078, 30166, 30267, 30311, 30315, 30402, 30403, 30617, 30618, 30818, 30819, 31234, 31922,
     31923, 31924, 31925, 31989, 31990, 34235, 34236, 34550, 39000, 39701});
static_assert(std::is_sorted(kKnownKinds.begin(), kKnownKinds.end()));

// Returns the index of the counter for `kind`: its index in kKnownKinds, or kKnownKinds.size() for every other kind.
inline size_t KindSlot(uint16_t kind) {
  const auto found = std::lower_bound(kKnownKinds.begin(), kKnownKinds.end(), kind);
  if (found == kKnownKinds.end() || *found != kind) return kKnownKinds.size();
  return static_cast<size_t>(found - kKnownKinds.begin());
}

}  // namespace weir
