#include "engine/absences.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "base/error.h"
#include "engine/liveness.h"
#include "engine/register_machine.h"
#include "engine/snapshot.h"

namespace catena {
namespace {

bool leads_on(const Cea& cea, const Transition& t) {
  return cea.is_final(t.target) || cea.has_future(t.target);
}

bool is_waiting(const Transition& t) { return t.source == t.target && t.actions == 0; }

}  // namespace

bool rests(const Cea& absence, StateId entry, const ClassTrie& classes, ClassId cls) {
  std::vector<bool> is_inside(absence.state_count(), false);
  for (const Transition& t : absence.transitions()) {
    if (!absence.is_final(t.target) && absence.has_future(t.target)) is_inside[t.target] = true;
  }
  for (StateId state = 0; state < absence.state_count(); ++state) {
    bool waits = !is_inside[state];
    for (const Transition& t : absence.from(state)) {
      if (!is_open(t, classes, cls) || !leads_on(absence, t)) continue;
      if (state == entry) return false;
      if (is_inside[state] && !is_waiting(t)) return false;
      waits |= is_waiting(t);
    }
    if (!waits) return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// What is known of an absence beforehand

Absences::Absences(const Cea& cea, const ClassTrie& classes, uint32_t count_max)
    : classes_(classes), count_max_(count_max), holders_(cea.register_count(), kNobody) {
  for (const auto& absence : cea.absences()) operands_.push_back(make_operand(absence));
  for (ConditionId i = 0; i < cea.condition_reads().size(); ++i) {
    const std::optional<Follow>& follow = cea.condition_follow(i);
    if (follow && follow->before != kNoRegister) holders_[follow->before] = follow->absence;
  }
  for (UpdateId i = 0; i < cea.update_reads().size(); ++i) {
    const std::optional<Follow>& follow = cea.update_follow(i);
    if (follow && follow->before != kNoRegister) holders_[follow->before] = follow->absence;
  }
}

Absences::Operand Absences::make_operand(const Absence& absence) const {
  const Cea& cea = *absence.operand;
  Operand operand{&cea, absence.replayed.get(), {}, {}, {}, {}};
  const std::vector<std::vector<bool>> live = live_values(cea);
  for (StateId state = 0; state < cea.state_count(); ++state) {
    Layout& layout = operand.layouts.emplace_back();
    layout.places.offsets.assign(cea.register_count(), RegisterLayout::kAbsent);
    uint32_t words = 0;
    for (RegisterId id = 0; id < cea.register_count(); ++id) {
      if (!live[state][cea.clock_count() + id]) continue;
      layout.registers.push_back(id);
      layout.places.offsets[id] = words;
      words += kRegisterWords;
    }
    for (ClockId clock = 0; clock < cea.clock_count(); ++clock) {
      if (live[state][clock]) layout.clocks.push_back(clock);
    }
    layout.word_count = 1 + words + static_cast<uint32_t>(layout.clocks.size());
  }
  return operand;
}

void Absences::bind(const std::vector<Interval>& intervals) {
  intervals_ = intervals;
  for (Operand& operand : operands_) {
    operand.needs = ClockNeeds(*operand.cea, intervals_);
    find_asks(operand);
    operand.serves.assign(operand.cea->clock_count(), Serves::kEqual);
    for (ClockId clock = 0; clock < operand.cea->clock_count(); ++clock) {
      bool from_above = true;
      bool from_below = true;
      for (const auto& by_clock : operand.asks) {
        for (IntervalId id : by_clock[clock]) {
          from_above &= intervals_[id].bounds_from_above();
          from_below &= intervals_[id].bounds_from_below();
        }
      }
      operand.serves[clock] = from_above   ? Serves::kLater
                              : from_below ? Serves::kEarlier
                                           : Serves::kEqual;
    }
  }
}

// The checks that a run from a state may make of a clock before it resets it.
void Absences::find_asks(Operand& operand) const {
  const Cea& cea = *operand.cea;
  operand.asks.assign(cea.state_count(), std::vector<std::vector<IntervalId>>(cea.clock_count()));
  const auto add = [](std::vector<IntervalId>& to, IntervalId id) {
    if (std::ranges::find(to, id) != to.end()) return false;
    to.push_back(id);
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Transition& t : cea.transitions()) {
      const ClockActions& actions = cea.actions_of(t);
      auto& asks = operand.asks[t.source];
      for (const ClockCheck& check : actions.checks) {
        changed |= add(asks[check.clock], check.interval);
      }
      for (ClockId clock = 0; clock < cea.clock_count(); ++clock) {
        if (std::ranges::binary_search(actions.resets, clock)) continue;
        const std::vector<IntervalId> later = operand.asks[t.target][clock];
        for (IntervalId id : later) changed |= add(asks[clock], id);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------
// A row

void Absences::load(const Row& row, ClassId cls, bool is_again) {
  loaded_ = row;
  cls_ = cls;
  is_again_ = is_again;
  known_.clear();
}

bool Absences::ends(const Follow& follow, const RegisterView& run, RegisterMachine& machine) {
  return step(follow, run, machine).ends;
}

Value Absences::after(const Follow& follow, const RegisterView& run, RegisterMachine& machine) {
  return step(follow, run, machine).open;
}

Absences::Outcome Absences::step(const Follow& follow, const RegisterView& run,
                                 RegisterMachine& machine) {
  const Operand& operand = operands_[follow.absence];
  const Value held = follow.before == kNoRegister ? Value() : read_register(run, follow.before);
  const bool is_empty = held.tag == ValueTag::kUnbound;
  assert(is_empty || held.tag == ValueTag::kMatches);
  std::vector<Clock> key{follow.absence, follow.entry, is_empty ? -1 : held.low};
  if (follow.entry != kNoState) {
    for (RegisterId id : operand.layouts[follow.entry].registers) {
      append_register(read_register(run, id), key);
    }
  }
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  Found found;
  if (!is_empty) {
    const auto open = sets_[static_cast<uint32_t>(held.low)];
    const std::vector<Clock> set(open.begin(), open.end());  // Steps inside add sets.
    assert(static_cast<AbsenceId>(set[0]) == follow.absence);
    for_each_configuration(set, [&](const Layout& layout, std::span<const Clock> words) {
      move(operand, static_cast<StateId>(words[0]), {words.subspan(1), layout.places},
           words.last(layout.clocks.size()), machine, found);
    });
  }
  if (follow.entry != kNoState) move(operand, follow.entry, run, {}, machine, found);
  settle(operand, found.all);
  const Outcome outcome{found.ends, intern(follow.absence, found.all)};
  known_.emplace(std::move(key), outcome);
  return outcome;
}

const Cea& Absences::automaton_of(const Operand& operand) const {
  assert(!is_again_ || operand.replayed);
  return is_again_ ? *operand.replayed : *operand.cea;
}

void Absences::move(const Operand& operand, StateId source, const RegisterView& run,
                    std::span<const Clock> clocks, RegisterMachine& machine, Found& found) {
  const Cea& cea = automaton_of(operand);
  ++operations_;
  for (const Transition& t : cea.from(source)) {
    if (!is_open(t, classes_, cls_) || !leads_on(cea, t)) continue;
    if (!may_take(operand, t, run, clocks, machine)) continue;
    if (cea.is_final(t.target)) {
      found.ends = true;
    } else {
      take(operand, t, run, clocks, machine, found);
    }
  }
}

bool Absences::may_take(const Operand& operand, const Transition& t, const RegisterView& run,
                        std::span<const Clock> clocks, RegisterMachine& machine) const {
  const Cea& cea = automaton_of(operand);
  const std::vector<ClockId>& live = operand.layouts[t.source].clocks;
  const auto is_met = [&](const ClockCheck& check) {
    const auto place = std::ranges::lower_bound(live, check.clock) - live.begin();
    return intervals_[check.interval].contains(clocks[static_cast<size_t>(place)],
                                               loaded_.on(cea.kind_of(check.clock)));
  };
  const auto all_hold = [&](const std::vector<ConditionId>& conditions) {
    return std::ranges::all_of(conditions, [&](ConditionId c) { return machine.holds(c, run); });
  };
  const RegisterActions& actions = cea.register_actions_of(t);
  return std::ranges::all_of(cea.actions_of(t).checks, is_met) && all_hold(actions.conditions) &&
         std::ranges::none_of(actions.forbids, all_hold);
}

void Absences::take(const Operand& operand, const Transition& t, const RegisterView& run,
                    std::span<const Clock> clocks, RegisterMachine& machine, Found& found) const {
  const Cea& cea = automaton_of(operand);
  const Layout& before = operand.layouts[t.source];
  const Layout& layout = operand.layouts[t.target];
  const std::vector<RegisterUpdate>& updates = cea.register_actions_of(t).updates;
  Configuration made{static_cast<Clock>(t.target)};
  made.reserve(layout.word_count);
  for (RegisterId id : layout.registers) {
    const auto update = std::ranges::lower_bound(updates, id, {}, &RegisterUpdate::target);
    const bool is_set = update != updates.end() && update->target == id;
    append_register(is_set ? machine.updated(update->update, run) : read_register(run, id), made);
  }
  for (ClockId clock : layout.clocks) {
    Clock then = loaded_.on(cea.kind_of(clock));
    if (!std::ranges::binary_search(cea.actions_of(t).resets, clock)) {
      const auto place = std::ranges::lower_bound(before.clocks, clock) - before.clocks.begin();
      then = clocks[static_cast<size_t>(place)];
    }
    const uint32_t need = operand.needs.of(t.target, clock);
    if (need == ClockNeeds::kNever) return;
    if (need != ClockNeeds::kForEver &&
        intervals_[need].is_past(then, loaded_.on(cea.kind_of(clock)))) {
      return;
    }
    made.push_back(aged(operand, t.target, clock, then));
  }
  found.all.push_back(std::move(made));
}

// When a clock was reset, or just long ago if no check on the way tells the difference any more.
Clock Absences::aged(const Operand& operand, StateId state, ClockId clock, Clock then) const {
  const Clock now = loaded_.on(operand.cea->kind_of(clock));
  const std::vector<IntervalId>& asks = operand.asks[state][clock];
  const auto is_settled = [&](IntervalId id) { return intervals_[id].is_settled(then, now); };
  return std::ranges::all_of(asks, is_settled) ? intervals_[asks.front()].long_ago() : then;
}

// Whether the other configuration is of no use beside this one, which has the same state.
bool Absences::stands_for(const Operand& operand, const Configuration& one,
                          const Configuration& other) const {
  const Layout& layout = operand.layouts[static_cast<size_t>(one[0])];
  const size_t first = layout.word_count - layout.clocks.size();
  if (!std::equal(one.begin(), one.begin() + static_cast<ptrdiff_t>(first), other.begin())) {
    return false;
  }
  for (size_t i = 0; i < layout.clocks.size(); ++i) {
    const Clock mine = one[first + i];
    const Clock its = other[first + i];
    const Serves serves = operand.serves[layout.clocks[i]];
    if (mine == its) continue;
    if (serves == Serves::kEqual || (serves == Serves::kLater) != (mine > its)) return false;
  }
  return true;
}

// In order, each once, and without those that others stand for: these lie close in the order.
void Absences::settle(const Operand& operand, std::vector<Configuration>& all) const {
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  if (operand.cea->clock_count() == 0) return;
  std::vector<Configuration> kept;
  size_t group = 0;  // Those kept with this state and these registers begin here.
  for (Configuration& one : all) {
    const Layout& layout = operand.layouts[static_cast<size_t>(one[0])];
    const size_t held = layout.word_count - layout.clocks.size();
    if (kept.empty() || kept.back()[0] != one[0] ||
        !std::equal(one.begin(), one.begin() + static_cast<ptrdiff_t>(held), kept.back().begin())) {
      group = kept.size();
    }
    const auto begin = kept.begin() + static_cast<ptrdiff_t>(group);
    const auto serves = [&](const Configuration& c) { return stands_for(operand, c, one); };
    if (std::any_of(begin, kept.end(), serves)) continue;
    kept.erase(std::remove_if(begin, kept.end(),
                              [&](const Configuration& c) { return stands_for(operand, one, c); }),
               kept.end());
    kept.push_back(std::move(one));
  }
  all = std::move(kept);
}

// ---------------------------------------------------------------------------------------------
// Sets

Value Absences::intern(AbsenceId absence, const std::vector<Configuration>& all) {
  if (all.empty()) return {};
  check_size(all.size());
  std::vector<Clock> set{absence};
  for (const Configuration& one : all) set.insert(set.end(), one.begin(), one.end());
  return Value::of_matches(sets_.find_or_add(set));
}

void Absences::mark_held(std::vector<bool>& in_use) const {
  for (uint32_t number = sets_.size(); number-- > 0;) {
    if (!in_use[number]) continue;
    for_each_configuration(sets_[number], [&](const Layout& layout, std::span<const Clock> words) {
      for (RegisterId id : layout.registers) {
        const Value value = read_register({words.subspan(1), layout.places}, id);
        if (value.tag == ValueTag::kMatches) in_use[static_cast<size_t>(value.low)] = true;
      }
    });
  }
}

std::vector<uint32_t> Absences::keep(const std::vector<bool>& in_use,
                                     const std::vector<uint32_t>& strings) {
  std::vector<uint32_t> moved(sets_.size(), 0);
  SequenceTable<Clock> kept;
  count_ = 0;
  for (uint32_t number = 0; number < sets_.size(); ++number) {
    if (!in_use[number]) continue;
    std::vector<Clock> set(sets_[number].begin(), sets_[number].end());
    size_t at = 1;
    for_each_configuration(sets_[number], [&](const Layout& layout, std::span<const Clock>) {
      for (size_t i = 0; i < layout.registers.size(); ++i) {
        const size_t word = at + 1 + kRegisterWords * i;
        Clock& low = set[word + 1];
        if (set[word] == static_cast<Clock>(ValueTag::kString)) {
          low = strings[static_cast<size_t>(low)];
        } else if (set[word] == static_cast<Clock>(ValueTag::kMatches)) {
          low = moved[static_cast<size_t>(low)];
        }
      }
      at += layout.word_count;
      ++count_;
    });
    moved[number] = kept.find_or_add(set);
  }
  sets_ = std::move(kept);
  known_.clear();
  trim_at_ = std::max(kTrimMin, 2 * sets_.all().value_count());
  return moved;
}

void Absences::check_size(size_t count) const {
  if (count <= count_max_) return;
  throw Error(ErrorKind::kLimit, "what must be absent has more than " + std::to_string(count_max_) +
                                     " open matches told apart (valuation_count_max)");
}

// ---------------------------------------------------------------------------------------------
// Snapshots: the number of configurations, then each: its state, registers and clocks

void Absences::write(const Value& value, ByteWriter& out, const RegisterMachine& machine) const {
  if (value.tag != ValueTag::kMatches) return out.u64(0);
  const std::span<const Clock> set = sets_[static_cast<uint32_t>(value.low)];
  uint64_t count = 0;
  for_each_configuration(set, [&](const Layout&, std::span<const Clock>) { ++count; });
  out.u64(count);
  for_each_configuration(set, [&](const Layout& layout, std::span<const Clock> words) {
    out.u32(static_cast<uint32_t>(words[0]));
    for (RegisterId id : layout.registers) {
      machine.write(id, read_register({words.subspan(1), layout.places}, id), out);
    }
    for (Clock clock : words.last(layout.clocks.size())) out.i64(clock);
  });
}

Value Absences::read(RegisterId id, ByteReader& in, RegisterMachine& machine) {
  const AbsenceId absence = holders_[id];
  const Operand& operand = operands_[absence];
  const uint64_t count = in.count(4);
  std::vector<Configuration> all;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t state = in.u32();
    require_intact(state < operand.cea->state_count() && !operand.cea->is_final(state),
                   "an open match is in no state");
    const Layout& layout = operand.layouts[state];
    Configuration& made = all.emplace_back(Configuration{static_cast<Clock>(state)});
    for (RegisterId held : layout.registers) append_register(machine.read(held, in), made);
    for (size_t k = 0; k < layout.clocks.size(); ++k) made.push_back(in.i64());
  }
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return intern(absence, all);
}

}  // namespace catena
