// How the runs of NEXT and LAST are written and read back; docs/formats.md has the layout.
#include <algorithm>

#include "base/error.h"
#include "engine/selection.h"
#include "engine/snapshot.h"

namespace catena {
namespace {

void write_slot(ByteWriter& out, const Slot& slot) {
  out.u64(slot.size());
  for (EntryId entry : slot) out.u32(entry);
}

NodeRef read_node(ByteReader& in, const Graph& graph) {
  const NodeRef node = checked_ref(graph, in.u32());
  require_intact(graph[node].max_start == 0, "a node of a strategy has a clock");
  return node;
}

}  // namespace

void Selection::write(const StrategyRuns& base, ByteWriter& out) const {
  const Runs& runs = cast(base);
  const Preorder& preorder = back_[runs.preorder];
  size_t number = 0;
  out.u64(preorder.size());
  for (const auto& group : preorder) {
    out.u64(group.size());
    for (const Slot& slot : group) {
      write_slot(out, slot);
      out.u32(runs.nodes[number++].bits());
    }
  }
  out.u64(runs.fronts.size());
  for (const Front& front : runs.fronts) {
    out.i64(front.clock);
    out.u32(front.rank_nothing);
    out.u32(front.first_way);
  }
  out.u64(runs.ways.size());
  for (const Way& way : runs.ways) {
    out.u32(way.state);
    out.u32(way.rank);
    out.u32(way.node.bits());
  }
  write_log(runs, out);
}

// Classes and the places that runs start from are an engine's own numbers: each is written once, as
// the guards it satisfies and as the entries it is.
void Selection::write_log(const Runs& runs, ByteWriter& out) const {
  std::vector<ClassId> classes;
  std::vector<BeforeId> befores;
  const auto number_of = [](auto& list, auto value) {
    const auto found = std::ranges::find(list, value);
    if (found != list.end()) return static_cast<uint32_t>(found - list.begin());
    list.push_back(value);
    return static_cast<uint32_t>(list.size() - 1);
  };
  ByteWriter rows;
  for (const LoggedRow& row : runs.log) {
    rows.i64(row.clock);
    rows.i64(row.position);
    rows.u32(number_of(classes, row.cls));
    rows.u32(number_of(befores, row.before));
  }
  out.u64(classes.size());
  for (ClassId cls : classes) {
    for (GuardId guard = 0; guard < guard_count_; ++guard) {
      out.u8(classes_.satisfies(cls, guard) ? 1 : 0);
    }
  }
  out.u64(befores.size());
  for (BeforeId before : befores) write_slot(out, befores_[before]);
  out.bytes(rows.view());
}

std::unique_ptr<StrategyRuns> Selection::read(ByteReader& in, const Graph& graph) {
  auto runs = std::make_unique<Runs>();
  read_preorder(in, graph, *runs);
  read_fronts(in, graph, *runs);
  read_log(in, *runs);
  return runs;
}

Slot Selection::read_slot(ByteReader& in) const {
  Slot slot(in.count(4));
  for (EntryId& entry : slot) {
    entry = in.u32();
    require_intact(entry < forward_machine_.entry_count(), "an entry is out of range");
  }
  require_intact(!slot.empty() && std::ranges::is_sorted(slot) &&
                     std::ranges::adjacent_find(slot) == slot.end(),
                 "a slot is out of order");
  const bool is_before = forward_machine_.is_before(slot.front());
  const uint32_t lane = forward_machine_.lane_of(slot.front());
  for (EntryId entry : slot) {
    require_intact(forward_machine_.is_before(entry) == is_before &&
                       forward_machine_.lane_of(entry) == lane && !(is_before && lane > 0),
                   "a slot mixes what has and what has not started");
  }
  return slot;
}

void Selection::read_preorder(ByteReader& in, const Graph& graph, Runs& runs) {
  Preorder preorder(in.count(16));
  size_t before_count = 0;
  for (auto& group : preorder) {
    group.resize(in.count(16));
    require_intact(!group.empty(), "a group is empty");
    for (Slot& slot : group) {
      slot = read_slot(in);
      const bool is_before = forward_machine_.is_before(slot.front());
      before_count += is_before ? 1 : 0;
      if (is_before) {
        require_intact(in.u32() == kNoNode.bits(), "what has not started has a node");
        runs.nodes.push_back(kNoNode);
      } else {
        runs.nodes.push_back(read_node(in, graph));
      }
    }
  }
  require_intact(before_count == 1, "there is not one place that runs start from");
  runs.preorder = back_.intern(std::move(preorder));
}

void Selection::read_fronts(ByteReader& in, const Graph& graph, Runs& runs) const {
  runs.fronts.resize(in.count(16));
  for (Front& front : runs.fronts) {
    front.clock = in.i64();
    front.rank_nothing = in.u32();
    front.first_way = in.u32();
  }
  runs.ways.resize(in.count(12));
  for (Way& way : runs.ways) {
    way.state = in.u32();
    way.rank = in.u32();
    require_intact(way.state < forward_machine_.cea().state_count(), "a state is out of range");
    way.node = read_node(in, graph);
  }
  uint32_t last = 0;
  for (const Front& front : runs.fronts) {
    require_intact(front.first_way >= last && front.first_way <= runs.ways.size(),
                   "the fronts are out of order");
    last = front.first_way;
  }
}

void Selection::read_log(ByteReader& in, Runs& runs) {
  std::vector<ClassId> classes(in.count(std::max(guard_count_, 1u)));
  for (ClassId& cls : classes) {
    std::vector<bool> bits(guard_count_);
    for (GuardId guard = 0; guard < guard_count_; ++guard) bits[guard] = in.u8() != 0;
    cls = classes_.class_of(bits);
  }
  std::vector<BeforeId> befores(in.count(12));
  for (BeforeId& before : befores) {
    const Slot slot = read_slot(in);
    require_intact(forward_machine_.is_before(slot.front()), "a row has nothing to start from");
    before = intern_before(slot);
  }
  ByteReader rows(in.bytes());
  while (rows.remaining() > 0) {
    LoggedRow row{rows.i64(), rows.i64(), rows.u32(), rows.u32()};
    require_intact(row.cls < classes.size() && row.before < befores.size(),
                   "a row is of no known class");
    require_intact(row.position >= 0, "a position is out of range");
    row.cls = classes[row.cls];
    row.before = befores[row.before];
    require_intact(runs.log.empty() || runs.log.back().clock <= row.clock,
                   "the rows are out of order");
    runs.log.push_back(row);
  }
}

}  // namespace catena
