#include "integration/conformance/peer_protocol.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rsock::conformance {

namespace {

// The kernel without any library between. MSG_NOSIGNAL: SIGPIPE is for the tests.
long raw_transfer(long number, int control, void* bytes, std::size_t count) {
  register long flags asm("r10") = MSG_NOSIGNAL;
  register long address asm("r8") = 0;
  register long length asm("r9") = 0;
  long result = number;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(static_cast<long>(control)), "S"(bytes), "d"(count), "r"(flags), "r"(address),
                 "r"(length)
               : "rcx", "r11", "memory");
  return result;
}

bool transfer(long number, int control, char* bytes, std::size_t count) {
  for (std::size_t done = 0; done < count;) {
    const long moved = raw_transfer(number, control, bytes + done, count - done);
    if (moved == -EINTR) continue;
    if (moved <= 0) return false;
    done += static_cast<std::size_t>(moved);
  }
  return true;
}

struct DescriptorMessage {
  char byte = 'd';
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{nullptr, 0, &part, 1, control, sizeof(control), 0};
};

}  // namespace

bool write_control(int control, const void* bytes, std::size_t count) {
  return transfer(SYS_sendto, control, const_cast<char*>(static_cast<const char*>(bytes)), count);
}

bool read_control(int control, void* bytes, std::size_t count) {
  return transfer(SYS_recvfrom, control, static_cast<char*>(bytes), count);
}

// These two are tested calls themselves: descriptors pass through the library's sendmsg and
// recvmsg.
bool write_descriptor(int control, int fd) {
  DescriptorMessage message;
  cmsghdr* header = CMSG_FIRSTHDR(&message.header);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  return sendmsg(control, &message.header, 0) == 1;
}

int read_descriptor(int control) {
  DescriptorMessage message;
  if (recvmsg(control, &message.header, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message.header);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  return fd;
}

}  // namespace rsock::conformance
