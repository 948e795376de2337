// The runs of a monotonic timed query as bytes: where runs start from, the clocks of the last row,
// then each chain: its states, and its entries with their latest values. docs/formats.md.
#include <algorithm>

#include "base/error.h"
#include "engine/monotonic.h"
#include "engine/snapshot.h"

namespace catena {

void MonotonicEvaluator::write(const StrategyRuns& opaque, ByteWriter& out) const {
  const auto& runs = static_cast<const MonotonicRuns&>(opaque);
  write_state_set(out, determinizer_.states_of(runs.before));
  for (Clock clock : runs.now) out.i64(clock);
  out.u64(runs.chains.all.size());
  size_t at = 0;
  for (const Chain& chain : runs.chains.all) {
    write_state_set(out, determinizer_.states_of(chain.state));
    out.u64(chain.length);
    for (size_t i = at; i < at + chain.length; ++i) {
      out.u32(runs.chains.entries[i].node.bits());
      out.u32(runs.chains.entries[i].open);
      for (size_t v = 0; v < width_; ++v) out.i64(runs.chains.values[i * width_ + v]);
    }
    at += chain.length;
  }
}

std::unique_ptr<StrategyRuns> MonotonicEvaluator::read(ByteReader& in, const Graph& graph) {
  auto runs = std::make_unique<MonotonicRuns>();
  runs->before = determinizer_.intern(read_state_set(in, cea_));
  for (Clock& clock : runs->now) clock = in.i64();
  const uint64_t chain_count = in.count(16);
  std::vector<Clock>& values = runs->chains.values;
  for (uint64_t c = 0; c < chain_count; ++c) {
    std::vector<StateId> states = read_state_set(in, cea_);
    require_intact(std::ranges::none_of(states, [&](StateId s) { return cea_.is_observer(s); }),
                   "a run is in an observer");
    const DetStateId state = determinizer_.intern(std::move(states));
    const auto length = static_cast<uint32_t>(in.count(8 + 8 * width_));
    require_intact(length > 0, "a chain is empty");
    for (uint32_t i = 0; i < length; ++i) {
      const NodeRef node = checked_ref(graph, in.u32());
      require_intact(i > 0 || node.kind() != NodeKind::kJoin, "a chain begins with a join");
      runs->chains.entries.push_back({node, in.u32()});
      for (size_t v = 0; v < width_; ++v) values.push_back(in.i64());
      const auto own = std::span(values).last(width_);
      require_intact(graph[node].max_start == own[0], "a chain and its node differ");
      if (i == 0) continue;
      const Order order = compare(std::span(values).last(2 * width_).first(width_), own);
      require_intact(order == Order::kBefore || (i == 1 && order == Order::kEqual),
                     "a chain is out of order");
    }
    const NodeRef only = runs->chains.entries.back().node;
    runs->chains.all.push_back({state, length, length == 1 ? only : kNoNode});
  }
  note_states(*runs);
  return runs;
}

}  // namespace catena
