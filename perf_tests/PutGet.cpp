// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// put: both ranks write to each other at once, and only the writing is timed. get: rank 0 reads
// what rank 1 has just written to its own memory.

#include <MpiWindow.hpp>
#include <RawAccess.hpp>
#include <Session.hpp>
#include <rma/KokkosIris_CopyEngineHostPut.hpp>
#include <rma/KokkosIris_Quiet.hpp>

namespace Bench {
namespace {

using Words = Context::view_type<std::uint64_t*>;
using Role = Entrant::Role;

void require(bool good, const char* text) {
  if (!good) throw std::runtime_error(text);
}

/// Operands of one size.
struct Blocks {
  Blocks(Session& the_session, std::size_t the_words)
      : session(the_session),
        words(the_words),
        bytes(words * sizeof(std::uint64_t)),
        peer(1 - the_session.rank()),
        here(the_session.context().zeros<std::uint64_t*>("here", words)),
        there(the_session.context().zeros<std::uint64_t*>("there", words)),
        window(words) {}

  Record record(const char* op) const {
    Record common;
    common.op = op;
    common.bytes = static_cast<std::int64_t>(bytes);
    return common;
  }

  Session& session;
  std::size_t words, bytes;
  int peer;
  Words here;   ///< what this rank sends (put), or where it stores what it fetches (get)
  Words there;  ///< the peer's copy is written by this rank (put), or read by it (get)
  MpiWindow window;
  std::uint64_t round = 0;
};

/// Words that nobody has seen before; `first` is the same on both ranks.
std::uint64_t first_word(int rank, std::uint64_t round) {
  return (round << 20) + std::uint64_t(rank);
}
void write_fresh(std::uint64_t* words, std::size_t count, std::uint64_t first) {
  for (std::size_t i = 0; i < count; ++i) words[i] = first + i * 0x9e3779b97f4a7c15ull;
}
bool is_fresh(const std::uint64_t* words, std::size_t count, std::uint64_t first) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong |= words[i] ^ (first + i * 0x9e3779b97f4a7c15ull);
  return wrong == 0;
}

/// \param arrival where the peer's block arrives here
std::function<double()> put_entrant(Blocks& b, const std::uint64_t* arrival,
                                    std::function<void()> write) {
  return [&b, arrival, write = std::move(write)] {
    const std::uint64_t round = ++b.round;
    write_fresh(b.here.data(), b.words, first_word(b.session.rank(), round));
    b.session.start();
    const double us = timed(write);
    b.session.start();
    b.window.synchronize();
    require(is_fresh(arrival, b.words, first_word(b.peer, round)), "put: wrong data have arrived");
    return us;
  };
}

void measure_put(Session& session, std::size_t words) {
  Blocks b(session, words);
  const auto d = session.device();
  const auto& engine = KokkosIris::copy_engine;
  std::uint64_t* const theirs = b.there.peer(b.peer).data();
  const auto ours = [&](std::function<void()> write) {
    return put_entrant(b, b.there.data(), write);
  };
  const auto by_hand = [&](CopyFunction copy) {
    return ours([&b, theirs, copy] { copy(theirs, b.here.data(), b.bytes); });
  };
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, "thread",
                      ours([&b, d] { put(d, b.there.data(), b.here.data(), b.words, b.peer); })});
  entrants.push_back({Role::ours, "host", ours([&b, &session] {
                        put(session.exec(), session.context(), b.there, b.here, b.peer);
                        session.exec().fence("put");
                      })});
  entrants.push_back({Role::ours, "engine", ours([&b, d, &engine] {
                        put(d, b.there.data(), b.here.data(), b.words, b.peer, engine);
                        quiet(d, b.peer);
                      })});
  entrants.push_back({Role::ours, "engine-host", ours([&b, &session, &engine] {
                        put(session.exec(), session.context(), b.there, b.here, b.peer, engine);
                        quiet(session.exec(), session.context(), b.peer);
                      })});
  entrants.push_back({Role::reference, "rep movsb", by_hand(copy_string)});
  entrants.push_back({Role::reference, "non-temporal", by_hand(copy_non_temporal)});
  entrants.push_back({Role::informative, "memcpy", by_hand(copy_memcpy)});
  entrants.push_back({Role::informative, "MPI_Put+flush", put_entrant(b, b.window.data(), [&b] {
                        b.window.put(b.here.data(), b.words, b.peer);
                      })});
  session.measure(b.record("put"), entrants);
}

/// \param source where rank 1 writes
std::function<double()> get_entrant(Blocks& b, std::uint64_t* source, std::function<void()> read) {
  return [&b, source, read = std::move(read)] {
    const std::uint64_t first = first_word(1, ++b.round);
    if (b.session.rank() == 1) write_fresh(source, b.words, first);
    b.window.synchronize();
    b.session.start();
    if (b.session.rank() != 0) return 0.0;
    const double us = timed(read);
    require(is_fresh(b.here.data(), b.words, first), "get: wrong data have been read");
    return us;
  };
}

void measure_get(Session& session, std::size_t words) {
  Blocks b(session, words);
  const auto d = session.device();
  const auto& engine = KokkosIris::copy_engine;
  const std::uint64_t* const theirs = b.there.peer(1).data();
  const auto ours = [&](std::function<void()> read) {
    return get_entrant(b, b.there.data(), read);
  };
  const bool has_target = b.bytes >= (256 << 10);
  const Target target = has_target ? Target::speedup(0.9) : Target{};
  std::vector<Entrant> entrants;
  entrants.push_back({Role::ours, "thread",
                      ours([&b, d] { get(d, b.here.data(), b.there.data(), b.words, 1); }),
                      target});
  entrants.push_back({Role::ours, "host", ours([&b, &session] {
                        get(session.exec(), session.context(), b.here, b.there, 1);
                        session.exec().fence("get");
                      })});
  entrants.push_back({Role::ours, "engine-host", ours([&b, &session, &engine] {
                        get(session.exec(), session.context(), b.here, b.there, 1, engine);
                        quiet(session.exec(), session.context(), 1);
                      })});
  entrants.push_back({Role::reference, "memcpy",
                      ours([&b, theirs] { copy_memcpy(b.here.data(), theirs, b.bytes); })});
  entrants.push_back({Role::informative, "MPI_Get+flush", get_entrant(b, b.window.data(), [&b] {
                        b.window.get(b.here.data(), b.words, 1);
                      })});
  session.measure(b.record("get"), entrants);
}

void run(Session& session) {
  if (session.size() != 2) return;
  std::vector<std::size_t> sizes = {4 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
  if (session.options().quick) sizes = {256 << 10};
  for (const std::size_t bytes : sizes) {
    const std::size_t words = bytes / sizeof(std::uint64_t);
    if (session.wants("put/" + std::to_string(bytes))) measure_put(session, words);
    if (session.wants("get/" + std::to_string(bytes))) measure_get(session, words);
  }
}

const Suite suite(20, &run);

}  // namespace
}  // namespace Bench
