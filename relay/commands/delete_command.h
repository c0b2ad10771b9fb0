// `weir delete`: removes the stored events that match filters, through the relay that runs (relay/retention/), or on
// the database of a data directory that no relay has open. It counts them first.
#pragma once

namespace weir {

int DeleteCommand(int argc, char** argv);

}  // namespace weir
