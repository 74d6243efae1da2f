// World: what all parts of a simulation share.
//
// Thread: the simulator's only one.

#pragma once

#include "tests/sim/event_queue.h"
#include "tests/sim/failure.h"
#include "tests/sim/oracle.h"
#include "tests/sim/oracle_catalog.h"
#include "tests/sim/oracle_clients.h"
#include "tests/sim/oracle_producers.h"
#include "tests/sim/oracle_sessions.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_options.h"
#include "tests/sim/statistics.h"
#include "tests/sim/tracer.h"

namespace quorum::sim {

struct World {
  const SimOptions& options;
  EventQueue& queue;
  Tracer& tracer;
  Statistics& statistics;
  Failure& failure;
  CatalogOracle& catalog;
  SimNetwork& network;
  Oracle& oracle;
  SessionOracle& sessions;
  ClientOracle& clients;
  ProducerOracle& producers;
};

}  // namespace quorum::sim
