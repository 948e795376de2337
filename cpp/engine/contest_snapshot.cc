// Contests as bytes: for each the configurations, then what its strategy knows of them; then the
// bundles, each its set of references and its list. docs/formats.md.
#include <algorithm>

#include "engine/contest_evaluator.h"
#include "engine/snapshot.h"

namespace catena {

void Contest::write(const ContestState& state, ByteWriter& out) const {
  out.u64(state.configurations.size());
  for (ConfigurationId id = 0; id < state.configurations.size(); ++id) {
    write_configuration(state.configurations[id], out);
  }
  write_more(state, out);
}

// Clocks as they are, registers by their values, which may be of any length.
void Contest::write_configuration(std::span<const int64_t> configuration, ByteWriter& out) const {
  const size_t first = 1 + cea_.clock_count();
  const size_t last = first + kRegisterWords * valuation_.registers().size();
  const RegisterView run = valuation_.view(words_of(configuration));
  for (int64_t value : configuration.first(first)) out.i64(value);
  for (RegisterId id : valuation_.registers()) {
    write_value(out, read_register(run, id), machine_.pool());
  }
  for (int64_t value : configuration.subspan(last)) out.i64(value);
}

void Contest::read_configuration(ByteReader& in, std::vector<int64_t>& configuration) const {
  configuration.clear();
  while (configuration.size() < 1 + cea_.clock_count()) configuration.push_back(in.i64());
  for (size_t i = 0; i < valuation_.registers().size(); ++i) {
    append_register(read_value(in, machine_.pool()), configuration);
  }
  while (configuration.size() < width()) configuration.push_back(in.i64());
}

void Contest::read(ByteReader& in, std::span<const ContestState* const> scope_states,
                   ContestState& state) const {
  const size_t register_count = valuation_.registers().size();
  const uint64_t count = in.count(8 * (width() - kRegisterWords * register_count) + register_count);
  require_intact(count < kNotStarted, "there are too many configurations");
  SequenceTable<int64_t> distinct;
  std::vector<int64_t> configuration;
  for (uint64_t i = 0; i < count; ++i) {
    read_configuration(in, configuration);
    check_configuration(configuration, scope_states);
    require_intact(distinct.find_or_add(configuration) == i, "a configuration comes twice");
    state.states.push_back(static_cast<StateId>(configuration[0]));
  }
  state.configurations.copy(distinct.all());
  std::ranges::sort(state.states);
  state.states.erase(std::ranges::unique(state.states).begin(), state.states.end());
  read_more(in, state);
}

void Contest::check_configuration(std::span<const int64_t> configuration,
                                  std::span<const ContestState* const> scope_states) const {
  const bool is_state = configuration[0] >= 0 && configuration[0] < cea_.state_count();
  require_intact(is_state, "a state is out of range");
  const auto state = static_cast<StateId>(configuration[0]);
  require_intact(cea_.has_future(state) && !cea_.is_observer(state), "a run is where none can be");
  const auto references = references_of(configuration);
  for (ScopeId scope = 0; scope < scopes_.size(); ++scope) {
    const StateId inside = state_in_scope(state, scope);
    if (inside == kNowhere) {
      require_intact(references[scope] == kNowhere, "a run is in a scope that it is not in");
      continue;
    }
    const ContestState& within = *scope_states[scope];
    const bool is_reference =
        references[scope] >= 0 && references[scope] < scopes_[scope]->reference_count(within);
    require_intact(is_reference, "a reference is out of range");
    const ConfigurationId id =
        scopes_[scope]->configuration_of(within, static_cast<Reference>(references[scope]));
    require_intact(within.configurations[id][0] == inside, "a run and its scope differ");
  }
}

void ContestEvaluator::write(const StrategyRuns& opaque, ByteWriter& out) const {
  const auto& runs = static_cast<const ContestRuns&>(opaque);
  write_state_set(out, runs.before);
  for (Clock clock : runs.now) out.i64(clock);
  for (size_t i = 0; i < levels_.size(); ++i) levels_[i].contest->write(runs.states[i], out);
  out.u64(runs.bundles.all.size());
  size_t entries_at = 0;
  for (const Bundle& bundle : runs.bundles.all) {
    const auto key = runs.keys[bundle.kind];
    out.u64(key.size());
    for (Reference reference : key) out.u32(reference);
    write_list(out, std::span(runs.bundles.entries).subspan(entries_at, bundle.length));
    entries_at += bundle.length;
  }
}

std::unique_ptr<StrategyRuns> ContestEvaluator::read(ByteReader& in, const Graph& graph) {
  auto runs = std::make_unique<ContestRuns>();
  runs->before = read_state_set(in, cea_);
  for (Clock& clock : runs->now) clock = in.i64();
  runs->states.resize(levels_.size());
  for (size_t i = 0; i < levels_.size(); ++i) {
    std::vector<const ContestState*> within;
    for (uint32_t scope : levels_[i].scopes) within.push_back(&runs->states[scope]);
    levels_[i].contest->read(in, within, runs->states[i]);
  }
  const uint64_t count = in.count(16);
  for (uint64_t i = 0; i < count; ++i) read_bundle(in, graph, *runs);
  return runs;
}

void ContestEvaluator::read_bundle(ByteReader& in, const Graph& graph, ContestRuns& runs) const {
  std::vector<Reference> key(in.count(4));
  for (Reference& reference : key) reference = in.u32();
  const uint32_t reference_count = levels_.back().contest->reference_count(runs.states.back());
  const bool is_sorted = std::ranges::adjacent_find(key, std::ranges::greater_equal{}) == key.end();
  require_intact(!key.empty() && is_sorted && key.back() < reference_count,
                 "a set of references is out of order or range");
  Bundle bundle{};
  bundle.kind = runs.keys.size();
  runs.keys.add(key);
  read_list(in, graph, runs.bundles, bundle);
  runs.bundles.all.push_back(bundle);
}

}  // namespace catena
