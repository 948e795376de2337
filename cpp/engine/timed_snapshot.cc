// The runs of a timed query as bytes: where runs start from, whether outputs may repeat, the clocks
// of the last row, then each bundle: its states, its clocks, its list. docs/formats.md.
#include <algorithm>

#include "base/error.h"
#include "engine/snapshot.h"
#include "engine/timed.h"

namespace catena {
namespace {

void write_states(ByteWriter& out, std::span<const StateId> states) {
  out.u64(states.size());
  for (StateId state : states) out.u32(state);
}

std::vector<StateId> read_states(ByteReader& in, const Cea& cea) {
  std::vector<StateId> states(in.count(4));
  for (StateId& state : states) {
    state = in.u32();
    require_intact(state < cea.state_count(), "a state is out of range");
  }
  require_intact(!states.empty() && std::ranges::adjacent_find(
                                        states, std::ranges::greater_equal{}) == states.end(),
                 "a set of states is out of order");
  return states;
}

}  // namespace

void TimedEvaluator::write(const StrategyRuns& opaque, ByteWriter& out) const {
  const auto& runs = static_cast<const TimedRuns&>(opaque);
  write_states(out, table_.states_of(runs.before));
  out.u8(runs.is_split ? 1 : 0);
  for (Clock clock : runs.now) out.i64(clock);
  out.u64(runs.bundles.all.size());
  size_t clocks_at = 0;
  size_t entries_at = 0;
  for (const Bundle& bundle : runs.bundles.all) {
    write_states(out, table_.states_of(bundle.kind));
    for (uint32_t i = 0; i < bundle.clock_count; ++i) out.i64(runs.bundles.clocks[clocks_at + i]);
    write_list(out, std::span(runs.bundles.entries).subspan(entries_at, bundle.length));
    clocks_at += bundle.clock_count;
    entries_at += bundle.length;
  }
}

std::unique_ptr<StrategyRuns> TimedEvaluator::read(ByteReader& in, const Graph& graph) {
  auto runs = std::make_unique<TimedRuns>();
  runs->before = table_.intern(read_states(in, cea_));
  runs->is_split = in.u8() != 0;
  for (Clock& clock : runs->now) clock = in.i64();
  const uint64_t count = in.count(32);
  for (uint64_t i = 0; i < count; ++i) {
    Bundle bundle{};
    std::vector<StateId> states = read_states(in, cea_);
    require_intact(std::ranges::none_of(states, [&](StateId s) { return cea_.is_observer(s); }),
                   "a run is in an observer");
    bundle.kind = table_.intern(std::move(states));
    bundle.clock_count = static_cast<uint32_t>(table_.live_clocks(bundle.kind).size());
    for (uint32_t clock = 0; clock < bundle.clock_count; ++clock) {
      runs->bundles.clocks.push_back(in.i64());
    }
    read_list(in, graph, runs->bundles, bundle);
    runs->bundles.all.push_back(bundle);
  }
  note_kinds(*runs);
  return runs;
}

}  // namespace catena
