#include "engine/snapshot.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/envelope.h"
#include "base/error.h"
#include "engine/engine.h"

namespace catena {

NodeRef checked_ref(const Graph& graph, uint32_t bits) {
  const NodeRef ref = NodeRef::from_bits(bits);
  require_intact(ref.index() < graph.size() && graph.at(ref.index()).kind() == ref.kind(),
                 "a node points nowhere");
  return ref;
}

void write_state_set(ByteWriter& out, std::span<const StateId> set) {
  out.u64(set.size());
  for (StateId member : set) out.u32(member);
}

std::vector<StateId> read_state_set(ByteReader& in, const Cea& cea) {
  std::vector<StateId> set(in.count(4));
  for (StateId& member : set) {
    member = in.u32();
    require_intact(member < cea.state_count(), "a state is out of range");
  }
  require_intact(
      !set.empty() && std::ranges::is_sorted(set) && std::ranges::adjacent_find(set) == set.end(),
      "a set of states is out of order");
  return set;
}

// Its tag, as u8; then what the tag needs.
void write_value(ByteWriter& out, const Value& value, const StringPool& pool) {
  out.u8(static_cast<uint8_t>(value.tag));
  if (!value.is_known()) return;
  if (value.tag == ValueTag::kString) return out.text(pool.text(static_cast<uint32_t>(value.low)));
  out.i64(value.low);
  if (value.tag == ValueTag::kWide) out.i64(value.high);
}

Value read_value(ByteReader& in, StringPool& pool) {
  const uint8_t tag = in.u8();
  require_intact(tag < kValueTagCount && tag != static_cast<uint8_t>(ValueTag::kMatches),
                 "a register holds an unknown kind of value");
  Value value{static_cast<ValueTag>(tag), 0, 0};
  if (!value.is_known()) return value;
  if (value.tag == ValueTag::kString) return Value::of_pooled(pool.intern(in.text()));
  value.low = in.i64();
  if (value.tag == ValueTag::kWide) value.high = in.i64();
  return value;
}

namespace {

void write_graph(ByteWriter& out, const Graph& graph) {
  out.u64(graph.size());
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const GraphNode& node = graph.at(i);
    out.i64(node.max_start);
    out.i64(node.position_or_right_max_start);
    out.u32(node.first);
    out.u32(node.second);
    if (graph.clock_count() == 0) continue;
    for (Clock clock : graph.clocks({node.kind(), i})) out.i64(clock);
  }
}

void check_node(const Graph& graph, const GraphNode& node, const Cea& cea, Position position) {
  const NodeKind kind = node.kind();
  if (kind != NodeKind::kStart) {
    require_intact(graph[checked_ref(graph, node.first)].max_start == node.max_start,
                   "a node is later than its child");
  }
  if (kind == NodeKind::kJoin) {
    require_intact(graph[checked_ref(graph, node.second)].max_start == node.right_max_start() &&
                       node.max_start >= node.right_max_start(),
                   "the sides of a join are out of order");
    return;
  }
  require_intact(node.second >= kMarksTag, "a node has no marks");
  if (kind == NodeKind::kOutput && node.is_gate()) {
    require_intact(node.resets() >> graph.clock_count() == 0, "a gate resets an unknown clock");
    return;
  }
  require_intact(node.marks() < cea.marks_count(), "a node has unknown marks");
  const bool is_pivot = kind == NodeKind::kStart && node.position() == kPivot;
  require_intact(is_pivot || (node.position() >= 0 && node.position() < position),
                 "a position is out of range");
}

void read_graph(ByteReader& in, Graph& graph, const Cea& cea, Position position) {
  std::vector<Clock> clocks(graph.clock_count());
  const uint64_t count = in.count(sizeof(GraphNode) + clocks.size() * sizeof(Clock));
  require_intact(count < NodeRef::kIndexMask, "there are too many nodes");
  for (uint64_t i = 0; i < count; ++i) {
    GraphNode node{};
    node.max_start = in.i64();
    node.position_or_right_max_start = in.i64();
    node.first = in.u32();
    node.second = in.u32();
    check_node(graph, node, cea, position);
    for (Clock& clock : clocks) clock = in.i64();
    graph.add(node, clocks);
  }
}

void write_part(ByteWriter& out, const SnapshotContext& context, std::string_view key,
                const PartState& part) {
  out.text(key);
  out.i64(part.row_count);
  out.u64(part.last_clocks.size());
  for (Clock clock : part.last_clocks) out.i64(clock);
  const auto& [before, states] = context.frontiers.key_of(part.frontier);
  write_state_set(out, context.determinizer.states_of(before));
  out.u64(states.size());
  for (DetStateId state : states) write_state_set(out, context.determinizer.states_of(state));
  out.u64(part.slots.size());
  for (const Slot& slot : part.slots) {
    out.i64(slot.max_start);
    out.u32(slot.node.bits());
    out.u32(slot.length);
  }
  out.u8(part.runs ? 1 : 0);
  if (part.runs) context.strategy->write(*part.runs, out);
}

FrontierId read_frontier(ByteReader& in, const SnapshotContext& context) {
  const DetStateId before = context.determinizer.intern(read_state_set(in, context.cea));
  std::vector<DetStateId> states(in.count(8));
  for (DetStateId& state : states) {
    state = context.determinizer.intern(read_state_set(in, context.cea));
  }
  std::vector<DetStateId> sorted = states;
  std::ranges::sort(sorted);
  require_intact(std::ranges::adjacent_find(sorted) == sorted.end(), "a state stands twice");
  return context.frontiers.intern({before, std::move(states)});
}

void read_slots(ByteReader& in, const Graph& graph, PartState& part) {
  part.slots.resize(in.count(16));
  for (Slot& slot : part.slots) {
    slot.max_start = in.i64();
    slot.node = checked_ref(graph, in.u32());
    slot.length = in.u32();
  }
}

PartState read_part(ByteReader& in, const SnapshotContext& context) {
  PartState part;
  part.row_count = in.i64();
  part.last_clocks.resize(in.count(8));
  for (Clock& clock : part.last_clocks) clock = in.i64();
  require_intact(part.row_count >= 0, "a part has a negative number of rows");
  part.frontier = read_frontier(in, context);
  read_slots(in, *context.state.graph, part);
  require_intact(Evaluator::has_consistent_slots(part, *context.state.graph,
                                                 context.frontiers.states_of(part.frontier).size()),
                 "the lists of a part are out of order");
  if (in.u8() != 0) {
    require_intact(context.strategy != nullptr, "a part has runs of a strategy");
    part.runs = context.strategy->read(in, *context.state.graph);
  }
  return part;
}

void read_state(ByteReader& in, const SnapshotContext& context) {
  EngineState& state = context.state;
  state.position = in.i64();
  require_intact(state.position >= 0, "the position is negative");
  state.late_count = in.u64();
  state.last_order.resize(in.count(8));
  for (Clock& clock : state.last_order) clock = in.i64();
  read_graph(in, *state.graph, context.cea, state.position);
  const uint64_t part_count = in.count(32);
  for (uint64_t i = 0; i < part_count; ++i) {
    const std::string_view key = in.text();
    const size_t size_before = state.parts.size();
    const uint32_t place = state.parts.find_or_add(key);
    require_intact(state.parts.size() > size_before, "a part stands twice");
    state.parts[place] = read_part(in, context);
  }
}

}  // namespace

std::string write_snapshot(const SnapshotContext& context, const std::string& plan_hash,
                           const std::string& extra) {
  EngineState& state = context.state;
  ByteWriter payload;
  payload.text(extra);
  payload.i64(state.position);
  payload.u64(state.late_count);
  payload.u64(state.last_order.size());
  for (Clock clock : state.last_order) payload.i64(clock);
  write_graph(payload, *state.graph);
  payload.u64(state.parts.size());
  state.parts.for_each([&](std::string_view key, const PartState& part) {
    write_part(payload, context, key, part);
  });
  return seal(payload.view(), plan_hash);
}

std::string read_snapshot(const SnapshotContext& context, std::string_view bytes,
                          const std::string& plan_hash) {
  ByteReader in(unseal(bytes, plan_hash));
  std::string extra(in.text());
  read_state(in, context);
  in.expect_end();
  return extra;
}

}  // namespace catena
