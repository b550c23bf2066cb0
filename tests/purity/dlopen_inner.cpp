// The library that dlopen_caller.cpp and logging.cpp open.
extern "C" [[gnu::visibility("default")]] int inner_answer() { return 42; }
