// The limits of what travels, in one place: both ends of a connection must agree on them.

#pragma once

namespace quorum::transport {

// Between nodes: what a Fetch answer may hold (ShardConfig::fetch_bytes_max), one batch that goes
// over it, and the fields around them.
inline constexpr int kPeerMessageBytesMax = 32 << 20;

// From clients: AppendBatch is the largest. Also the default of the server's flag.
inline constexpr int kClientMessageBytesMax = 16 << 20;

// How often a silent connection between nodes is tried. The server permits pings somewhat faster.
inline constexpr int kPeerKeepaliveMs = 5'000;
inline constexpr int kServerPingIntervalMinMs = 4'000;

}  // namespace quorum::transport
