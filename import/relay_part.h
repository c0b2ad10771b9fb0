// A part of an import through a relay: chunks of one input that are joined, sent as the body of one POST, and settled
// by its answer.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "import/input/chunk.h"
#include "import/serve/import_answer.h"
#include "import/settled.h"

namespace weir {

// The largest weight of a part, as WeightOf counts. A part has no more lines than a relay names rejects
// (import_post.h).
inline constexpr uint64_t kMostPartWeight = 1 << 20;

// Appends the chunk that follows and returns true, if it is of the same input and there is room for it.
bool Join(const Chunk& next, Chunk* part);

// Returns the body in two pieces, to be sent one after the other.
std::array<std::string_view, 2> BodyOf(const Chunk& part);

// Returns what became of the part's lines, according to the whole answer. The error says that this is no answer to such
// a body; `part` is unchanged then.
Result<SettledChunk> Settle(Chunk* part, const ImportProgress& done, std::vector<ImportReject> rejects);

}  // namespace weir
