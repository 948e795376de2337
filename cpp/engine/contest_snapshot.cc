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
    machine_.write(id, read_register(run, id), out);
  }
  for (int64_t value : configuration.subspan(last)) out.i64(value);
}

void Contest::read_configuration(ByteReader& in, std::vector<int64_t>& configuration) const {
  configuration.clear();
  while (configuration.size() < 1 + cea_.clock_count()) configuration.push_back(in.i64());
  for (RegisterId id : valuation_.registers())
    append_register(machine_.read(id, in), configuration);
  while (configuration.size() < width()) configuration.push_back(in.i64());
}

void Contest::read(ByteReader& in, const StateAt& state_at, ContestState& state) const {
  const size_t register_count = valuation_.registers().size();
  const uint64_t count = in.count(8 * (width() - kRegisterWords * register_count) + register_count);
  require_intact(count < kNotStarted, "there are too many configurations");
  SequenceTable<int64_t> distinct;
  std::vector<int64_t> configuration;
  for (uint64_t i = 0; i < count; ++i) {
    read_configuration(in, configuration);
    check_configuration(configuration, state_at);
    require_intact(distinct.find_or_add(configuration) == i, "a configuration comes twice");
    state.states.push_back(static_cast<StateId>(configuration[0]));
  }
  state.configurations.copy(distinct.all());
  std::ranges::sort(state.states);
  state.states.erase(std::ranges::unique(state.states).begin(), state.states.end());
  read_more(in, state);
}

void Contest::check_configuration(std::span<const int64_t> configuration,
                                  const StateAt& state_at) const {
  const bool is_state = configuration[0] >= 0 && configuration[0] < cea_.state_count();
  require_intact(is_state, "a state is out of range");
  const auto state = static_cast<StateId>(configuration[0]);
  require_intact(cea_.has_future(state) && !cea_.is_observer(state), "a run is where none can be");
  const auto places = references_of(configuration);
  for (ScopeId scope = 0; scope < scopes_.size(); ++scope) {
    const StateId inside = state_in_scope(state, scope);
    const StateId found = places[scope] == kNowhere ? kNowhere : state_at(scope, places[scope]);
    require_intact(found == inside && (inside != kNowhere || places[scope] == kNowhere),
                   "a run and its scope differ");
  }
}

// Of every scope its members, then the contest around, which refers to them.
void ContestTree::write(const TreeState& state, ByteWriter& out) const {
  for (size_t i = 0; i < scopes_.size(); ++i) {
    out.u64(state.scopes[i].members.size());
    for (const auto& member : state.scopes[i].members) {
      size_t at = 0;
      for (RegisterId id : scopes_[i]->scope().lent) {
        parts_.machine.write(id, register_at(member->lent, at), out);
        at += kRegisterWords;
      }
      scopes_[i]->any().write(member->tree, out);
    }
  }
  contest_->write(state.own, out);
}

void ContestTree::read(ByteReader& in, TreeState& state) const {
  state.scopes.resize(scopes_.size());
  for (size_t i = 0; i < scopes_.size(); ++i) {
    ScopeState& scope = state.scopes[i];
    const std::vector<RegisterId>& lent = scopes_[i]->scope().lent;
    const uint64_t count = in.count(8 + lent.size());
    require_intact(!lent.empty() || count == 1, "a scope has several members");
    for (uint64_t k = 0; k < count; ++k) {
      auto member = std::make_unique<MemberState>();
      for (RegisterId id : lent) append_register(parts_.machine.read(id, in), member->lent);
      require_intact(ScopeContests::find(scope, member->lent) == kNowhere, "two members are alike");
      scopes_[i]->any().read(in, member->tree);
      scope.members.push_back(std::move(member));
    }
  }
  contest_->read(
      in,
      [&](ScopeId scope, int64_t place) {
        const auto& members = state.scopes[scope].members;
        if (place < 0 || ScopeContests::member_of(place) >= members.size()) return kNowhere;
        const ContestState& own = members[ScopeContests::member_of(place)]->tree.own;
        const Contest& contest = *scopes_[scope]->any().contest_;
        const Reference reference = ScopeContests::reference_of(place);
        if (reference >= contest.reference_count(own)) return kNowhere;
        return static_cast<StateId>(
            own.configurations[contest.configuration_of(own, reference)][0]);
      },
      state.own);
}

void ContestEvaluator::write(const StrategyRuns& opaque, ByteWriter& out) const {
  const auto& runs = static_cast<const ContestRuns&>(opaque);
  write_state_set(out, runs.before);
  for (Clock clock : runs.now) out.i64(clock);
  tree_.write(runs.tree, out);
  if (keeps_history_) runs.history.write(out, classes_, cea_.guard_count(), machine_.pool());
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
  tree_.read(in, runs->tree);
  if (keeps_history_) {
    const auto attribute_count = static_cast<uint32_t>(cea_.history().size());
    runs->history.read(in, classes_, cea_.guard_count(), attribute_count, machine_.pool());
  }
  const uint64_t count = in.count(16);
  for (uint64_t i = 0; i < count; ++i) read_bundle(in, graph, *runs);
  return runs;
}

void ContestEvaluator::read_bundle(ByteReader& in, const Graph& graph, ContestRuns& runs) {
  std::vector<Reference> key(in.count(4));
  for (Reference& reference : key) reference = in.u32();
  const uint32_t reference_count = outermost().reference_count(runs.tree.own);
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
