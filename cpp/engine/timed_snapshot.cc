// The runs of a timed query as bytes: where runs start from, whether outputs may repeat, the clocks
// of the last row, then each bundle: its states, its clocks and registers, its list.
// docs/formats.md.
#include <algorithm>

#include "engine/snapshot.h"
#include "engine/timed.h"

namespace catena {
void TimedEvaluator::write(const StrategyRuns& opaque, ByteWriter& out) const {
  const auto& runs = static_cast<const TimedRuns&>(opaque);
  write_state_set(out, table_.states_of(runs.before));
  out.u8(runs.is_split ? 1 : 0);
  for (Clock clock : runs.now) out.i64(clock);
  out.u64(runs.bundles.size());
  for (uint32_t place : runs.bundles.in_order()) {
    const StoredBundle& one = runs.bundles[place];
    const TimedSetId set = one.bundle.kind;
    write_state_set(out, table_.states_of(set));
    for (size_t i = 0; i < table_.live_clocks(set).size(); ++i) out.i64(one.values[i]);
    for (RegisterId id : table_.live_registers(set)) {
      machine_.write(id, read_register({one.values, table_.layout(set)}, id), out);
    }
    write_list(out, one.entries);
  }
}

std::unique_ptr<StrategyRuns> TimedEvaluator::read(ByteReader& in, const Graph& graph) {
  auto runs = std::make_unique<TimedRuns>();
  runs->before = table_.intern(read_state_set(in, cea_));
  runs->is_split = in.u8() != 0;
  for (Clock& clock : runs->now) clock = in.i64();
  const uint64_t count = in.count(32);
  Bundles read;  // Those read so far; their order is checked.
  for (uint64_t i = 0; i < count; ++i) {
    Bundle bundle{};
    std::vector<StateId> states = read_state_set(in, cea_);
    require_intact(std::ranges::none_of(states, [&](StateId s) { return cea_.is_observer(s); }),
                   "a run is in an observer");
    bundle.kind = table_.intern(std::move(states));
    std::vector<Clock> words;
    for (size_t k = 0; k < table_.live_clocks(bundle.kind).size(); ++k) words.push_back(in.i64());
    for (RegisterId id : table_.live_registers(bundle.kind)) {
      append_register(machine_.read(id, in), words);
    }
    bundle.clock_count = static_cast<uint32_t>(words.size());
    read.entries.clear();
    read_list(in, graph, read, bundle);
    read.all.assign(1, bundle);
    require_intact(runs->bundles.find(bundle.kind, words) == BundleStore::kNowhere,
                   "two bundles are alike");
    runs->bundles.add(bundle, words, read.entries);
  }
  return runs;
}

}  // namespace catena
