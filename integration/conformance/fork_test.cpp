// Sockets that parent and child share.
#include <fcntl.h>
#include <signal.h>

#include <cstdlib>
#include <thread>

#include "integration/conformance/children.h"
#include "integration/conformance/ends.h"
#include "integration/conformance/harness.h"

using namespace rsock::conformance;

CONFORMANCE_CASE("fork: a child writes to the parent's connection") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  CHECK(in_child([&] {
          CHILD_CHECK(sends(connection.fd(), "of the child"));
          return 0;
        }) == 0);
  CHECK(connection.remote_receives(12) == "of the child");
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("fork: a child reads from the parent's connection") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  connection.remote_sends("for the child");
  CHECK(in_child([&] {
          CHILD_CHECK(receives(connection.fd(), "for the child"));
          return 0;
        }) == 0);
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("fork: parent and child take turns in one stream") {
  Connection connection(TestType::family);
  connection.remote_sends("abcdef");
  CHECK(receive_all(connection.fd(), 2) == "ab");
  send_all(connection.fd(), "12");
  CHECK(in_child([&] {
          CHILD_CHECK(receives(connection.fd(), "cd"));
          CHILD_CHECK(sends(connection.fd(), "34"));
          return 0;
        }) == 0);
  CHECK(receive_all(connection.fd(), 2) == "ef");
  send_all(connection.fd(), "56");
  CHECK(connection.remote_receives(6) == "123456");
}

CONFORMANCE_CASE("fork: one process writes and the other reads") {
  constexpr int kRounds = 100;
  const bool child_writes = GENERATE(true, false);
  Connection connection(TestType::family);
  const pid_t child = start_child([&] {
    for (int round = 0; round < kRounds; ++round) {
      CHILD_CHECK((child_writes ? sends : receives)(connection.fd(), "word"));
    }
    return 0;
  });
  connection.peer().start_echo(connection.remote(), kRounds * 4);
  for (int round = 0; round < kRounds; ++round) {
    CHECK((child_writes ? receives : sends)(connection.fd(), "word"));
  }
  CHECK(connection.peer().finish().result == kRounds * 4);
  CHECK(wait_for_child(child) == 0);
}

CONFORMANCE_CASE("fork: the connection stays open when the child ends, however it does") {
  Connection connection(TestType::family);
  CHECK(in_child([&] { return sends(connection.fd(), "1") ? 7 : 1; }) == 7);
  CHECK(in_child([&] {
          CHILD_CHECK(sends(connection.fd(), "2"));
          raise(SIGKILL);
          return 1;
        }) == kSignalBase + SIGKILL);
  CHECK(in_child([&] {
          CHILD_CHECK(sends(connection.fd(), "3"));
          signal(SIGABRT, SIG_DFL);
          abort();
          return 1;
        }) == kSignalBase + SIGABRT);
  CHECK(in_child([&]() -> int {
          CHILD_CHECK(sends(connection.fd(), "4"));
          quick_exit(9);
        }) == 9);
  CHECK(connection.remote_receives(4) == "1234");
  CHECK(remote_sees_no_end(connection));
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("fork: the connection stays open when the child closes its descriptor") {
  Connection connection(TestType::family);
  CHECK(in_child([&] {
          CHILD_CHECK(close(connection.fd()) == 0);
          CHILD_CHECK(close(connection.fd()) == -1);
          CHILD_CHECK(errno == EBADF);
          return 0;
        }) == 0);
  CHECK(remote_sees_no_end(connection));
  check_exchange(connection, connection.fd());
  connection.local().reset();
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("fork: the child goes on when the parent closes; its exit ends the stream") {
  Connection connection(TestType::family, GENERATE(Role::client, Role::server));
  const pid_t child = start_child([&] {
    CHILD_CHECK(receives(connection.fd(), "go on"));
    CHILD_CHECK(sends(connection.fd(), "going"));
    CHILD_CHECK(at_end(connection.fd()));
    return 0;
  });
  connection.local().reset();
  CHECK(remote_sees_no_end(connection));
  connection.remote_sends("go on");
  CHECK(connection.remote_receives(5) == "going");
  connection.remote_shuts_down_writing();
  CHECK(wait_for_child(child) == 0);
  CHECK(remote_sees_end(connection));
}

CONFORMANCE_CASE("fork: shutdown in the child ends the parent's stream too") {
  Connection connection(TestType::family);
  CHECK(in_child([&] {
          CHILD_CHECK(shutdown(connection.fd(), SHUT_WR) == 0);
          return 0;
        }) == 0);
  CHECK(remote_sees_end(connection));
  CHECK_FAILS(send(connection.fd(), "x", 1, MSG_NOSIGNAL), EPIPE);
}

CONFORMANCE_CASE("fork: O_NONBLOCK that the child sets holds in the parent") {
  Connection connection(TestType::family);
  CHECK(in_child([&] {
          CHILD_CHECK(fcntl(connection.fd(), F_SETFL, O_NONBLOCK) == 0);
          return 0;
        }) == 0);
  char byte = 0;
  CHECK_FAILS(recv(connection.fd(), &byte, 1, 0), EAGAIN);
}

CONFORMANCE_CASE("fork: descriptors that the child makes are its own") {
  Connection connection(TestType::family);
  const int before = open_descriptors();
  CHECK(in_child([&] {
          CHILD_CHECK(new_sockets_work(TestType::family));
          CHILD_CHECK(dup2(connection.fd(), 330) == 330);
          CHILD_CHECK(close(connection.fd()) == 0);
          const int reused = socket(TestType::family, SOCK_STREAM, 0);
          CHILD_CHECK(reused >= 0);
          CHILD_CHECK(sends(330, "copy"));
          return 0;
        }) == 0);
  CHECK(open_descriptors() == before);
  CHECK(connection.remote_receives(4) == "copy");
  check_exchange(connection, connection.fd());
}

CONFORMANCE_CASE("fork: parent and child use the same new number for different connections") {
  const Fd parents_listener = listening_socket(TestType::family);
  const Address address = local_address(parents_listener);
  const pid_t child = start_child([&] {
    CHILD_CHECK(new_sockets_work(TestType::family));
    const int own = connect_to_port(TestType::family, port_of(address));
    CHILD_CHECK(sends(own, "child"));
    CHILD_CHECK(at_end(own));
    return 0;
  });
  const Fd server(accept(parents_listener, nullptr, nullptr));
  const LocalPair pair = local_pair(TestType::family);
  check_exchange(pair.client, pair.server);
  CHECK(receive_all(server, 5) == "child");
  CHECK(shutdown(server, SHUT_WR) == 0);
  CHECK(wait_for_child(child) == 0);
  CHECK(receive_all(server, 1).empty());
}

CONFORMANCE_CASE("fork: the parent accepts and one child for each connection serves it") {
  const Fd listener = listening_socket(TestType::family);
  Peer peer;
  for (int round = 0; round < 5; ++round) {
    const int remote = peer.connect(TestType::family, port_of(listener));
    Fd served(accept(listener, nullptr, nullptr));
    const pid_t child = start_child([&] {
      close(listener);
      CHILD_CHECK(receives(served, "hello"));
      CHILD_CHECK(sends(served, "served"));
      return 0;
    });
    served.reset();
    CHECK(peer.send(remote, "hello").result == 5);
    CHECK(peer.receive_all(remote, 7) == "served");  // and the end
    CHECK(wait_for_child(child) == 0);
    peer.close(remote);
  }
}

CONFORMANCE_CASE("fork: three workers accept from one listener") {
  constexpr int kWorkers = 3;
  Fd listener = listening_socket(TestType::family);
  const auto port = port_of(listener);
  Peer peer;
  pid_t workers[kWorkers];
  for (pid_t& worker : workers) {
    worker = start_child([&] {
      for (bool last = false; !last;) {
        const int served = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        CHILD_CHECK(served >= 0);
        char order = 0;
        CHILD_CHECK(recv(served, &order, 1, 0) == 1);
        CHILD_CHECK(sends(served, "done"));
        CHILD_CHECK(close(served) == 0);
        last = order == 'q';
      }
      return 0;
    });
  }
  listener.reset();
  for (int round = 0; round < 12 + kWorkers; ++round) {
    const int remote = peer.connect(TestType::family, port);
    CHECK(peer.send(remote, round < 12 ? "w" : "q").result == 1);
    CHECK(peer.receive_all(remote, 5) == "done");
    peer.close(remote);
  }
  for (const pid_t worker : workers) CHECK(wait_for_child(worker) == 0);
}

CONFORMANCE_CASE("fork: a grandchild in its own session keeps the connection") {
  Connection connection(TestType::family);
  CHECK(in_child([&] {
          const pid_t grandchild = fork();
          if (grandchild == 0) {
            setsid();
            alarm(kChildSeconds);
            const bool right = receives(connection.fd(), "deep") && sends(connection.fd(), "down");
            _exit(right ? 0 : 1);
          }
          return grandchild > 0 ? 0 : 1;
        }) == 0);
  connection.local().reset();
  connection.remote_sends("deep");
  CHECK(connection.remote_receives(5) == "down");  // and the end, as the grandchild exits
}

CONFORMANCE_CASE("fork: a child forked while another thread uses sockets has working ones") {
  Connection connection(TestType::family);
  bool worked = true;
  std::thread other([&] {
    for (int round = 0; round < 200; ++round) worked = new_sockets_work(TestType::family) && worked;
  });
  for (int round = 0; round < 20; ++round) {
    const int status = in_child([&] {
      CHILD_CHECK(sends(connection.fd(), "x"));
      CHILD_CHECK(new_sockets_work(TestType::family));
      return 0;
    });
    CHECK(status == 0);
  }
  other.join();
  CHECK(worked);
  CHECK(connection.remote_receives(20) == std::string(20, 'x'));
  check_exchange(connection, connection.fd());
}
