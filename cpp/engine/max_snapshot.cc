// The runs of MAX as bytes (max_selection.h).
//
// Written are: where runs start from; the outlook's rivals and clocks; then each bundle with its
// members, its clocks and its list. Standings are written as the sets they are, since their numbers
// are an evaluator's own; what is merged is not written, it can be made again. Sets are a count and
// their elements; states and ranks are u32, clocks i64.
//
// The reader checks every invariant that does not need the graph below a list: a standing must be
// settled (max_standing.h), so whatever is read could have come about. Cost: linear in what is
// written, and in the square of the automaton's states for each standing.
#include <algorithm>
#include <string>

#include "base/error.h"
#include "engine/max_selection.h"
#include "engine/snapshot.h"

namespace catena {
namespace {

void write_states(ByteWriter& out, const std::vector<StateId>& states) {
  out.u64(states.size());
  for (StateId state : states) out.u32(state);
}

void write_rivals(ByteWriter& out, const std::vector<Ranked>& rivals) {
  out.u64(rivals.size());
  for (const Ranked& entry : rivals) {
    out.u32(entry.state);
    out.u32(entry.rank);
  }
}

void write_clocks(ByteWriter& out, std::span<const Clock> clocks) {
  out.u64(clocks.size());
  for (Clock clock : clocks) out.i64(clock);
}

void write_members(ByteWriter& out, const Standing& standing) {
  out.u64(standing.members.size());
  for (const Member& member : standing.members) {
    out.u8(member.is_unmarked ? 1 : 0);
    write_rivals(out, member.equals);
    write_rivals(out, member.betters);
    write_states(out, member.runs);
  }
}

// Reads the parts of one part's runs, checking each.
class Reader {
 public:
  Reader(ByteReader& in, const Cea& cea, const Graph& graph, bool has_window, StandingTable& table)
      : in_(in), cea_(cea), graph_(graph), has_window_(has_window), table_(table) {}

  std::unique_ptr<MaxRuns> read();

 private:
  StateId state();
  std::vector<StateId> states();
  std::vector<StateId> before();
  std::vector<Ranked> rivals();
  std::vector<Clock> clocks();
  void outlook(MaxRuns& runs);
  void bundle(const std::vector<StateId>& before, Bundles& bundles);
  Standing standing(const std::vector<StateId>& before);
  StandingId checked(Standing standing, size_t clock_count);

  ByteReader& in_;
  const Cea& cea_;
  const Graph& graph_;
  bool has_window_;
  StandingTable& table_;
};

StateId Reader::state() {
  const StateId state = in_.u32();
  require_intact(state < cea_.state_count(), "a state is out of range");
  return state;
}

std::vector<StateId> Reader::states() {
  std::vector<StateId> result(in_.count(4));
  for (StateId& member : result) member = state();
  require_intact(std::ranges::adjacent_find(result, std::ranges::greater_equal{}) == result.end(),
                 "a set of states is out of order");
  return result;
}

std::vector<StateId> Reader::before() {
  std::vector<StateId> result = states();
  const bool all_watch =
      std::ranges::all_of(result, [&](StateId state) { return cea_.is_observer(state); });
  require_intact(result == table_[table_.initial()].before || (all_watch && !result.empty()),
                 "runs start from a state that none can start from");
  return result;
}

std::vector<Ranked> Reader::rivals() {
  std::vector<Ranked> result(in_.count(8));
  for (Ranked& entry : result) {
    entry = {state(), in_.u32()};
    require_intact(!cea_.is_observer(entry.state), "a run is in an observer");
  }
  return result;
}

std::vector<Clock> Reader::clocks() {
  std::vector<Clock> result(in_.count(8));
  for (Clock& clock : result) clock = in_.i64();
  require_intact(std::ranges::adjacent_find(result, std::ranges::less_equal{}) == result.end(),
                 "the clocks of rivals are out of order");
  require_intact(has_window_ || result.empty(), "there are clocks without a window");
  return result;
}

StandingId Reader::checked(Standing standing, size_t clock_count) {
  require_intact(is_settled(cea_, table_.rivals(), standing), "a standing is not settled");
  require_intact(rank_count(standing) == clock_count, "ranks and clocks differ in number");
  return table_.intern(std::move(standing));
}

// In a window the rivals of an outlook are all older than the next row, else none is.
void Reader::outlook(MaxRuns& runs) {
  Standing outlook{before(), {{true, {}, {}, {table_.rivals().waiting()}}}};
  Member& member = outlook.members.front();
  member.equals = rivals();
  member.betters = rivals();
  const auto is_own = [](const Ranked& entry) { return entry.rank == 0; };
  require_intact(!has_window_ || (std::ranges::none_of(member.equals, is_own) &&
                                  std::ranges::none_of(member.betters, is_own)),
                 "a rival is as late as the next row");
  runs.outlook_clocks = clocks();
  runs.outlook = checked(std::move(outlook), runs.outlook_clocks.size());
}

Standing Reader::standing(const std::vector<StateId>& before) {
  Standing result;
  result.members.resize(in_.count(25));
  for (Member& member : result.members) {
    const uint8_t flag = in_.u8();
    require_intact(flag <= 1, "a flag is neither true nor false");
    member.is_unmarked = flag == 1;
    member.equals = rivals();
    member.betters = rivals();
    member.runs = states();
    require_intact(
        std::ranges::none_of(member.runs, [&](StateId s) { return cea_.is_observer(s); }),
        "a run is in an observer");
    if (member.is_unmarked) result.before = before;
  }
  return result;
}

void Reader::bundle(const std::vector<StateId>& before, Bundles& bundles) {
  Bundle bundle{};
  Standing members = standing(before);
  const std::vector<Clock> older = clocks();
  bundle.clock_count = static_cast<uint32_t>(older.size());
  bundle.kind = checked(std::move(members), older.size());
  read_list(in_, graph_, bundles, bundle);
  require_intact(older.empty() || older.front() < bundles.entries.back().max_start,
                 "a rival started no earlier than a match");
  bundles.clocks.insert(bundles.clocks.end(), older.begin(), older.end());
  bundles.all.push_back(bundle);
}

std::unique_ptr<MaxRuns> Reader::read() {
  auto runs = std::make_unique<MaxRuns>();
  outlook(*runs);
  const std::vector<StateId> before = table_[runs->outlook].before;
  const uint64_t count = in_.count(41);
  for (uint64_t i = 0; i < count; ++i) bundle(before, runs->bundles);
  return runs;
}

}  // namespace

void MaxSelection::write(const StrategyRuns& opaque, ByteWriter& out) const {
  const auto& runs = static_cast<const MaxRuns&>(opaque);
  const Standing& outlook = table_[runs.outlook];
  write_states(out, outlook.before);
  write_rivals(out, outlook.members.front().equals);
  write_rivals(out, outlook.members.front().betters);
  write_clocks(out, runs.outlook_clocks);
  out.u64(runs.bundles.all.size());
  size_t clocks_at = 0;
  size_t entries_at = 0;
  for (const Bundle& bundle : runs.bundles.all) {
    write_members(out, table_[bundle.kind]);
    write_clocks(out, std::span(runs.bundles.clocks).subspan(clocks_at, bundle.clock_count));
    write_list(out, std::span(runs.bundles.entries).subspan(entries_at, bundle.length));
    clocks_at += bundle.clock_count;
    entries_at += bundle.length;
  }
}

std::unique_ptr<StrategyRuns> MaxSelection::read(ByteReader& in, const Graph& graph) {
  return Reader(in, cea_, graph, has_window_, table_).read();
}

}  // namespace catena
