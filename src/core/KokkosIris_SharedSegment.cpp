// SPDX-FileCopyrightText: Copyright Contributors to the KokkosIris project
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <core/KokkosIris_Error.hpp>
#include <core/KokkosIris_SharedSegment.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace KokkosIris::Impl {
namespace {

/// Text of the failed system call, or empty: failures are collected and raised on all ranks at
/// once.
using Failure = std::string;

Failure failure_of(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

class Descriptor {
 public:
  explicit Descriptor(int value = -1) : m_value(value) {}
  Descriptor(Descriptor&& other) noexcept : m_value(std::exchange(other.m_value, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(m_value, other.m_value);
    return *this;
  }
  ~Descriptor() {
    if (m_value >= 0) close(m_value);
  }
  int get() const { return m_value; }

 private:
  int m_value;
};

/// A datagram socket in the abstract name space (no file), bound to a name that the kernel chooses.
class DescriptorMailbox {
 public:
  struct Address {
    sockaddr_un name;
    socklen_t length;
  };

  Failure open() {
    m_socket = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (m_socket.get() < 0) return failure_of("socket");
    const timeval limit{60, 0};
    setsockopt(m_socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(m_socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    sockaddr_un request{};
    request.sun_family = AF_UNIX;  // only the family: the kernel picks a free name
    if (bind(m_socket.get(), reinterpret_cast<sockaddr*>(&request), sizeof(sa_family_t)) != 0) {
      return failure_of("bind");
    }
    m_address.length = sizeof(m_address.name);
    if (getsockname(m_socket.get(), reinterpret_cast<sockaddr*>(&m_address.name),
                    &m_address.length) != 0) {
      return failure_of("getsockname");
    }
    return {};
  }

  const Address& address() const { return m_address; }

  Failure send(const Address& to, int my_rank, int descriptor) const {
    iovec payload{&my_rank, sizeof(my_rank)};
    ControlBuffer control{};
    msghdr message = header(payload, control);
    message.msg_name = const_cast<sockaddr_un*>(&to.name);
    message.msg_namelen = to.length;
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
    ssize_t sent = 0;
    do {
      sent = sendmsg(m_socket.get(), &message, 0);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? failure_of("sendmsg") : Failure();
  }

  Failure receive(int& from_rank, Descriptor& descriptor) const {
    iovec payload{&from_rank, sizeof(from_rank)};
    ControlBuffer control{};
    msghdr message = header(payload, control);
    ssize_t received = 0;
    do {
      received = recvmsg(m_socket.get(), &message, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received < 0) return failure_of("recvmsg");
    if (received != sizeof(from_rank)) return "recvmsg: message of an unknown sender";
    const cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return "recvmsg: no descriptor";
    int value = -1;
    std::memcpy(&value, CMSG_DATA(rights), sizeof(int));
    descriptor = Descriptor(value);
    return {};
  }

 private:
  struct alignas(cmsghdr) ControlBuffer {
    std::array<char, CMSG_SPACE(sizeof(int))> bytes;
  };

  static msghdr header(iovec& payload, ControlBuffer& control) {
    msghdr message{};
    message.msg_iov = &payload;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    return message;
  }

  Descriptor m_socket;
  Address m_address{};
};

/// Tells processes apart also where each has a process number space of its own.
struct ProcessIdentity {
  pid_t pid;
  std::uint64_t token;
  bool operator==(const ProcessIdentity&) const = default;
};

ProcessIdentity this_process() {
  static const std::uint64_t token = [] {
    std::uint64_t value = 0;
    if (getrandom(&value, sizeof(value), 0) != sizeof(value)) value = 0;
    return value;
  }();
  return {getpid(), token};
}

/// Raises on all ranks if any rank has a failure.
void agree_on_success(Bootstrap& bootstrap, const Failure& failure, std::size_t bytes) {
  if (bootstrap.all_ok(failure.empty())) return;
  const std::string size = std::to_string(bytes) + " bytes of shared memory";
  if (failure.empty()) {
    throw_error(ErrorCode::peer_failed, bootstrap.rank(), "Context",
                "another rank could not create or map " + size);
  }
  const bool room = failure.rfind("ftruncate", 0) == 0 || failure.rfind("mmap", 0) == 0;
  throw_error(room ? ErrorCode::out_of_memory : ErrorCode::system, bootstrap.rank(), "Context",
              "cannot create or map " + size + ": " + failure +
                  (room ? "; ask for a smaller heap or raise the limits of this process" : ""));
}

Failure create_memfd(std::size_t bytes, const std::string& label, Descriptor& descriptor) {
  descriptor = Descriptor(memfd_create(label.c_str(), MFD_CLOEXEC));
  if (descriptor.get() < 0) return failure_of("memfd_create");
  if (ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0) return failure_of("ftruncate");
  return {};
}

/// The ranks' mailboxes as rank `rank` sees them.
struct Mailboxes {
  const DescriptorMailbox& mine;
  std::vector<DescriptorMailbox::Address> addresses;
  std::vector<bool> elsewhere;  ///< true for ranks of other processes
};

/// One step of exchange_descriptors().
Failure exchange_with(const Mailboxes& boxes, int rank, int to, int from, int descriptor,
                      std::vector<Descriptor>& theirs) {
  if (boxes.elsewhere[static_cast<std::size_t>(to)]) {
    const auto& address = boxes.addresses[static_cast<std::size_t>(to)];
    if (auto failure = boxes.mine.send(address, rank, descriptor); !failure.empty()) return failure;
  }
  if (boxes.elsewhere[static_cast<std::size_t>(from)]) {
    int sender = -1;
    Descriptor received;
    if (auto failure = boxes.mine.receive(sender, received); !failure.empty()) return failure;
    if (sender < 0 || static_cast<std::size_t>(sender) >= theirs.size()) {
      return "recvmsg: message of an unknown rank";
    }
    theirs[static_cast<std::size_t>(sender)] = std::move(received);
  }
  return {};
}

/// Sends `descriptor` to all ranks of other processes and receives theirs. In step s every rank
/// sends to the rank s after it and receives one.
Failure exchange_descriptors(Bootstrap& bootstrap, const Mailboxes& boxes, int descriptor,
                             std::vector<Descriptor>& theirs) {
  // A mailbox holds ten messages before its senders block: nobody may run ahead by more steps.
  constexpr int steps_between_barriers = 8;
  const int size = bootstrap.size();
  const int rank = bootstrap.rank();
  Failure failure;
  for (int step = 1; step < size; ++step) {
    if (failure.empty()) {
      failure = exchange_with(boxes, rank, (rank + step) % size, (rank - step + size) % size,
                              descriptor, theirs);
    }
    if (step % steps_between_barriers == 0) bootstrap.barrier();
  }
  return failure;
}

}  // namespace

struct SharedSegment::Mapping {
  Mapping(void* where, std::size_t size) : data(where), bytes(size) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(data, bytes); }

  void* data;
  std::size_t bytes;
};

void* SharedSegment::data() const noexcept { return m_mapping ? m_mapping->data : nullptr; }
std::size_t SharedSegment::bytes() const noexcept { return m_mapping ? m_mapping->bytes : 0; }

SharedSegment SharedSegment::map(int descriptor, std::size_t bytes) {
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (data == MAP_FAILED) return {};
  return SharedSegment(std::make_shared<const Mapping>(data, bytes));
}

std::vector<SharedSegment> SharedSegment::create_all(Bootstrap& bootstrap, std::size_t bytes,
                                                     const std::string& label) {
  const auto size = static_cast<std::size_t>(bootstrap.size());
  const auto rank = static_cast<std::size_t>(bootstrap.rank());
  Descriptor mine;
  DescriptorMailbox mailbox;
  Failure failure = create_memfd(bytes, label, mine);
  if (failure.empty()) failure = mailbox.open();

  std::vector<SharedSegment> segments(size);
  if (failure.empty()) {
    segments[rank] = map(mine.get(), bytes);
    if (segments[rank].data() == nullptr) failure = failure_of("mmap");
  }
  agree_on_success(bootstrap, failure, bytes);

  Mailboxes boxes{mailbox, bootstrap.all_gather(mailbox.address()), {}};
  for (const auto& other : bootstrap.all_gather(this_process())) {
    boxes.elsewhere.push_back(other != this_process());
  }
  const auto in_process = bootstrap.all_gather(&segments[rank]);
  std::vector<Descriptor> theirs(size);
  failure = exchange_descriptors(bootstrap, boxes, mine.get(), theirs);
  for (std::size_t other = 0; other < size && failure.empty(); ++other) {
    if (other == rank) continue;
    segments[other] = boxes.elsewhere[other] ? map(theirs[other].get(), bytes) : *in_process[other];
    if (segments[other].data() == nullptr) failure = failure_of("mmap");
  }
  agree_on_success(bootstrap, failure, bytes);
  return segments;
}

}  // namespace KokkosIris::Impl
