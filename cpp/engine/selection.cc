#include "engine/selection.h"

#include <algorithm>

#include "matches/union_list.h"

namespace catena {
namespace {

// Preorders cached before those in use are interned anew.
constexpr uint32_t kPreorderCountMin = 1u << 14;
constexpr Clock kNoClock = 0;  // Of all nodes: see the invariants.

NodeRef extended(NodeRef source, const Label& label, Position position, Direction direction,
                 Graph& graph) {
  if (direction == Direction::kForwards && label.starts) {
    return graph.start(kNoClock, position, label.marks);
  }
  if (label.marks == kNoMarks && !label.starts) return source;
  return graph.output(source, kNoClock, position, label.marks);
}

}  // namespace

Selection::Selection(const Cea& cea, ClassTrie& classes, Strategy strategy, bool has_window)
    : classes_(classes),
      guard_count_(cea.guard_count()),
      decides_in_front_(strategy == Strategy::kNext),
      has_window_(has_window),
      forward_machine_(cea, classes, Direction::kForwards),
      backward_machine_(cea, classes, Direction::kBackwards),
      back_(forward_machine_,
            decides_in_front_ ? Significance::kOlderFirst : Significance::kNewerFirst),
      front_(backward_machine_,
             decides_in_front_ ? Significance::kNewerFirst : Significance::kOlderFirst),
      trim_at_(kPreorderCountMin) {
  assert(strategy == Strategy::kNext || strategy == Strategy::kLast);
  Slot before;
  for (StateId state : cea.initial()) before.push_back(forward_machine_.before_entry(0, state));
  std::ranges::sort(before);
  before.erase(std::ranges::unique(before).begin(), before.end());
  initial_ = back_.intern({{before}});
  intern_before(before);
}

std::unique_ptr<StrategyRuns> Selection::make_runs() const {
  auto runs = std::make_unique<Runs>();
  runs->preorder = initial_;
  runs->nodes = {kNoNode};
  return runs;
}

Selection::BeforeId Selection::intern_before(const Slot& slot) {
  const auto [place, is_new] =
      before_ids_.try_emplace(slot, static_cast<BeforeId>(befores_.size()));
  if (is_new) befores_.push_back(slot);
  return place->second;
}

const Selection::Info& Selection::info(PreorderId id) {
  if (infos_.size() <= id) infos_.resize(id + 1);
  if (!infos_[id]) infos_[id] = make_info(back_[id]);
  return *infos_[id];
}

Selection::Info Selection::make_info(const Preorder& preorder) {
  Info info{0, false, {}};
  for (const auto& group : preorder) {
    for (const Slot& slot : group) {
      if (forward_machine_.is_before(slot.front())) {
        info.before = intern_before(slot);
      } else if (forward_machine_.lane_of(slot.front()) > 0) {
        info.has_lanes = true;
      } else {
        for (EntryId entry : slot) info.fresh.push_back(forward_machine_.state_of(entry));
      }
    }
  }
  std::ranges::sort(info.fresh);
  info.fresh.erase(std::ranges::unique(info.fresh).begin(), info.fresh.end());
  return info;
}

bool Selection::is_neutral(ClassId cls) {
  if (neutral_.size() <= cls) neutral_.resize(cls + 1, 0);
  if (neutral_[cls] == 0) neutral_[cls] = forward_machine_.is_neutral(cls) ? 2 : 1;
  return neutral_[cls] == 2;
}

void Selection::advance(StrategyRuns& base, ClassId cls, const Row& row, Graph& graph,
                        std::vector<Root>& roots) {
  if (is_neutral(cls)) return;
  Runs& runs = cast(base);
  if (has_window_) slide(runs, row.threshold, graph);
  const SelectionStep& step = back_.step(runs.preorder, cls);
  ++operations_;
  if (has_window_) {
    if (info(step.next).fresh.empty()) {
      runs.log.clear();
    } else {
      runs.log.push_back({row.clock, row.position, cls, info(runs.preorder).before});
    }
  }
  if (step.is_identity) return;
  if (!step.endings.empty()) add_roots(runs, step.endings, row.position, graph, roots);
  take_moves(step, row.position, Direction::kForwards, runs.nodes, back_.slot_count(step.next),
             graph);
  runs.preorder = step.next;
}

// Makes the nodes of the next slots from those of the slots before.
void Selection::take_moves(const SelectionStep& step, Position position, Direction direction,
                           std::vector<NodeRef>& nodes, uint32_t slot_count, Graph& graph) {
  next_nodes_.assign(slot_count, kNoNode);
  operations_ += step.moves.size();
  for (const SlotMove& move : step.moves) {
    const NodeRef node = extended(nodes[move.source], move.label, position, direction, graph);
    NodeRef& target = next_nodes_[move.target];
    target = target == kNoNode ? node : unite(graph, target, node);
  }
  nodes.assign(next_nodes_.begin(), next_nodes_.end());
}

// ---------------------------------------------------------------------------------------------
// Results

// The best way through the front to the state that a lane starts from: its rank and its node.
std::optional<std::pair<uint32_t, NodeRef>> Selection::way_along(const Runs& runs,
                                                                 uint32_t lane) const {
  if (lane == 0) {
    return std::pair(runs.fronts.empty() ? 0 : runs.fronts.back().rank_nothing, kNoNode);
  }
  if (runs.fronts.empty()) return std::nullopt;
  for (size_t i = runs.fronts.back().first_way; i < runs.ways.size(); ++i) {
    const Way& way = runs.ways[i];
    if (way.state + 1 == lane) return std::pair(way.rank, way.node);
  }
  return std::nullopt;
}

void Selection::add_roots(const Runs& runs, const std::vector<Ending>& endings, Position position,
                          Graph& graph, std::vector<Root>& roots) const {
  using Rank = std::pair<uint32_t, uint32_t>;
  std::optional<Rank> best;
  const size_t first_root = roots.size();
  uint32_t last_lane = 0;
  bool may_repeat = false;  // Two lanes may have come apart and meet again with the same marks.
  for (const Ending& ending : endings) {
    const auto way = way_along(runs, ending.lane);
    if (!way) continue;
    const Rank rank =
        decides_in_front_ ? Rank(way->first, ending.rank) : Rank(ending.rank, way->first);
    if (best && rank > *best) continue;
    if (!best || rank < *best) {
      best = rank;
      roots.resize(first_root);
      last_lane = 0;
      may_repeat = false;
    }
    if (ending.lane > 0) {
      may_repeat |= last_lane > 0 && last_lane != ending.lane;
      last_lane = ending.lane;
    }
    const NodeRef node =
        extended(runs.nodes[ending.source], ending.label, position, Direction::kForwards, graph);
    roots.push_back({position, kClockMin, node, way->second});
  }
  for (size_t i = first_root; i < roots.size(); ++i) roots[i].may_repeat = may_repeat;
}

// ---------------------------------------------------------------------------------------------
// The window

// Begins a new back: no fresh runs, and a lane for each state that the front's top leads to.
void Selection::reset(Runs& runs, BeforeId before, Graph* graph) {
  std::vector<Slot> group{befores_[before]};
  const size_t first_way = runs.fronts.empty() ? 0 : runs.fronts.back().first_way;
  for (size_t i = first_way; i < runs.ways.size(); ++i) {
    const StateId state = runs.ways[i].state;
    group.push_back({forward_machine_.run_entry(state + 1, state)});
  }
  std::ranges::sort(group);
  const bool has_lanes = group.size() > 1;
  const NodeRef pivot = has_lanes ? graph->start(kNoClock, kPivot, kNoMarks) : kNoNode;
  runs.nodes.clear();
  for (const Slot& slot : group) {
    runs.nodes.push_back(forward_machine_.is_before(slot.front()) ? kNoNode : pivot);
  }
  runs.preorder = back_.intern({std::move(group)});
  runs.log.clear();
}

void Selection::pop_fronts(Runs& runs, Clock threshold) {
  while (!runs.fronts.empty() && runs.fronts.back().clock < threshold) {
    runs.ways.resize(runs.fronts.back().first_way);
    runs.fronts.pop_back();
  }
}

void Selection::slide(Runs& runs, Clock threshold, Graph& graph) {
  pop_fronts(runs, threshold);
  if (!runs.fronts.empty()) return;
  const Info& now = info(runs.preorder);
  if (!runs.log.empty() && (now.has_lanes || runs.log.front().clock < threshold)) {
    turn(runs, threshold, graph);
  } else if (now.has_lanes) {
    reset(runs, now.before, nullptr);
  }
}

// Makes the back the front: reads its rows backwards, those inside the window.
void Selection::turn(Runs& runs, Clock threshold, Graph& graph) {
  const BeforeId before = info(runs.preorder).before;
  std::vector<Slot> group{{backward_machine_.nothing()}};
  for (StateId state : info(runs.preorder).fresh) {
    group.push_back({backward_machine_.run_entry(state + 1, state)});
  }
  std::ranges::sort(group);  // Lane 0 comes first: that is `nothing`.
  std::vector<NodeRef> nodes(group.size(), graph.start(kNoClock, kPivot, kNoMarks));
  nodes.front() = kNoNode;
  PreorderId preorder = front_.intern({std::move(group)});
  for (size_t i = runs.log.size(); i-- > 0 && runs.log[i].clock >= threshold;) {
    const SelectionStep& step = front_.step(preorder, runs.log[i].cls);
    ++operations_;
    if (!step.is_identity) {
      take_moves(step, runs.log[i].position, Direction::kBackwards, nodes,
                 front_.slot_count(step.next), graph);
      preorder = step.next;
    }
    push_front(runs, runs.log[i], front_[preorder], nodes, graph);
  }
  reset(runs, before, &graph);
}

// Adds the front of the starts from a row on, if it differs from that of the row after it.
void Selection::push_front(Runs& runs, const LoggedRow& row, const Preorder& preorder,
                           const std::vector<NodeRef>& nodes, Graph& graph) {
  const auto starts_here = [&](EntryId entry) {
    const EntryId place = backward_machine_.before_entry(0, backward_machine_.state_of(entry));
    return backward_machine_.is_before(entry) &&
           std::ranges::binary_search(befores_[row.before], place);
  };
  const auto below = static_cast<uint32_t>(runs.ways.size());
  Front front{row.clock, 0, below};
  size_t slot_number = 0;
  for (uint32_t rank = 0; rank < preorder.size(); ++rank) {
    for (const Slot& slot : preorder[rank]) {
      const NodeRef node = nodes[slot_number++];
      if (slot.front() == backward_machine_.nothing()) front.rank_nothing = rank;
      if (!std::ranges::any_of(slot, starts_here)) continue;
      const StateId state = backward_machine_.lane_of(slot.front()) - 1;
      const auto known = std::find_if(runs.ways.begin() + below, runs.ways.end(),
                                      [&](const Way& way) { return way.state == state; });
      if (known == runs.ways.end()) {
        runs.ways.push_back({state, rank, node});
      } else if (known->rank == rank) {
        known->node = unite(graph, known->node, node);
      }
    }
  }
  const auto added = std::span(runs.ways).subspan(below);
  const auto top = runs.fronts.empty()
                       ? std::span<Way>()
                       : std::span(runs.ways).subspan(runs.fronts.back().first_way,
                                                      below - runs.fronts.back().first_way);
  const bool is_new = !std::ranges::equal(added, top, [](const Way& a, const Way& b) {
    return a.state == b.state && a.node == b.node;
  });
  if (is_new) {
    runs.fronts.push_back(front);
  } else {
    runs.ways.resize(below);
  }
}

// ---------------------------------------------------------------------------------------------
// Housekeeping

void Selection::consume(StrategyRuns& base) {
  Runs& runs = cast(base);
  runs.fronts.clear();
  runs.ways.clear();
  reset(runs, info(runs.preorder).before, nullptr);
}

void Selection::expire(StrategyRuns& base, Clock threshold) {
  if (!has_window_) return;
  Runs& runs = cast(base);
  pop_fronts(runs, threshold);
  const bool has_fresh = !runs.log.empty() && runs.log.back().clock >= threshold;
  if (runs.fronts.empty() && !has_fresh) reset(runs, info(runs.preorder).before, nullptr);
}

Position Selection::oldest_row(const StrategyRuns& base) const {
  const Runs& runs = cast(base);
  return runs.log.empty() ? std::numeric_limits<Position>::max() : runs.log.front().position;
}

bool Selection::is_idle(const StrategyRuns& base) const {
  const Runs& runs = cast(base);
  return runs.fronts.empty() && runs.preorder == initial_;
}

void Selection::mark_nodes(const StrategyRuns& base, Compaction& compaction) const {
  const Runs& runs = cast(base);
  for (NodeRef node : runs.nodes) {
    if (node != kNoNode) compaction.mark(node, kClockMin);
  }
  for (const Way& way : runs.ways) compaction.mark(way.node, kClockMin);
}

void Selection::move_nodes(StrategyRuns& base, const Compaction& compaction) const {
  Runs& runs = cast(base);
  for (NodeRef& node : runs.nodes) {
    if (node != kNoNode) node = compaction.moved(node);
  }
  for (Way& way : runs.ways) way.node = compaction.moved(way.node);
}

size_t Selection::bytes(const StrategyRuns& base) const {
  const Runs& runs = cast(base);
  return sizeof(Runs) + runs.nodes.capacity() * sizeof(NodeRef) +
         runs.fronts.capacity() * sizeof(Front) + runs.ways.capacity() * sizeof(Way) +
         runs.log.capacity() * sizeof(LoggedRow);
}

void Selection::trim(std::span<StrategyRuns* const> all) {
  const Preorder initial = back_[initial_];
  std::vector<Preorder> in_use;
  for (StrategyRuns* runs : all) in_use.push_back(back_[cast(*runs).preorder]);
  back_.clear();
  front_.clear();
  infos_.clear();
  initial_ = back_.intern(initial);
  for (size_t i = 0; i < all.size(); ++i) {
    cast(*all[i]).preorder = back_.intern(std::move(in_use[i]));
  }
  trim_at_ = std::max(kPreorderCountMin, 2 * back_.size());
}

}  // namespace catena
