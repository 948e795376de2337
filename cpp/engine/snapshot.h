// Snapshots: the state of an engine as bytes, to go on from in another process.
//
// The format is in docs/formats.md; base/envelope.h wraps it. Determinized states are written as
// the sets they are, since their numbers are an engine's own. A reader takes nothing on trust:
// whatever the bytes, it gives a state that keeps all invariants of the graph and the lists, or
// throws Error of kind kSnapshot. Cost: linear in what is live.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "automaton/cea.h"
#include "automaton/determinizer.h"
#include "base/bytes.h"
#include "base/envelope.h"
#include "columns/value.h"
#include "engine/frontier.h"
#include "engine/strategy.h"
#include "engine/string_pool.h"

namespace catena {

struct EngineState;

struct SnapshotContext {
  const Cea& cea;
  Determinizer& determinizer;
  FrontierTable& frontiers;
  StrategyEvaluator* strategy;  // Null for ALL.
  EngineState& state;
};

std::string write_snapshot(const SnapshotContext& context, const std::string& plan_hash,
                           const std::string& extra);

// A handle that a reader has found, if it is one to a node of the kind it claims.
NodeRef checked_ref(const Graph& graph, uint32_t bits);

// A set of automaton states, which is not empty and sorted.
void write_state_set(ByteWriter& out, std::span<const StateId> set);
std::vector<StateId> read_state_set(ByteReader& in, const Cea& cea);

// What a register holds, unless open matches (absences.h); a string with its text.
void write_value(ByteWriter& out, const Value& value, const StringPool& pool);
Value read_value(ByteReader& in, StringPool& pool);

// Fills in the state, which must be new; gives `extra` back.
std::string read_snapshot(const SnapshotContext& context, std::string_view bytes,
                          const std::string& plan_hash);

}  // namespace catena
