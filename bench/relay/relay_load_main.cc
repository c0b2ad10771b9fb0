#include "bench/relay/load_command.h"

int main(int argc, char** argv) { return weir::LoadCommand(argc, argv); }
