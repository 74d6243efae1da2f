// A program with planted bugs: what no_plants_test must be able to find.

#include "service/base/plant.h"

int main() { return quorum::Planted(quorum::Plant::kM01) ? 1 : 0; }
