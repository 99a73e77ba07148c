/* platform.h on a board with Linux, for programs of `dovetail export`: registers and interrupt through UIO, memory from
 * u-dma-buf. docs/howto/boards.md has the device tree. The environment names the device, DOVETAIL_UIO (default uio0)
 * and DOVETAIL_UDMABUF (udmabuf0); its buffer must begin at the program's memory (`--memory-base`), or before it. */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform.h"

#define WINDOW_BYTES 4096u

struct board {
  struct dovetail_machine machine; /* the first member: platform_close gets a pointer to it */
  struct dovetail_device device;
  int uio, buffer, coherent;
  volatile uint32_t* registers;
  char attributes[256]; /* the folder of u-dma-buf's attributes, with a slash */
};

static uint32_t read_register(void* context, uint32_t offset) {
  return ((struct board*)context)->registers[offset / 4];
}
static void write_register(void* context, uint32_t offset, uint32_t value) {
  __sync_synchronize(); /* after what was written to memory */
  ((struct board*)context)->registers[offset / 4] = value;
}

/* UIO disables the interrupt when it comes; a write enables it again. */
static void wait_for_interrupt(void* context) {
  const struct board* const board = context;
  const uint32_t enable = 1;
  uint32_t count;
  struct pollfd ready = {board->uio, POLLIN, 0};
  if (write(board->uio, &enable, sizeof enable) == sizeof enable && poll(&ready, 1, 50) > 0 &&
      read(board->uio, &count, sizeof count) == sizeof count)
    return;
  usleep(50);
}

static int attribute_path(const struct board* board, const char* name, char* path, size_t bytes) {
  return snprintf(path, bytes, "%s%s", board->attributes, name) < (int)bytes;
}
static int read_attribute(const struct board* board, const char* name, uint64_t* value) {
  char path[320], text[32];
  FILE* file;
  if (!attribute_path(board, name, path, sizeof path) || !(file = fopen(path, "r"))) return 0;
  text[0] = 0;
  if (fgets(text, sizeof text, file)) *value = strtoull(text, NULL, 0);
  fclose(file);
  return text[0] != 0;
}
static void write_attribute(const struct board* board, const char* name, uint64_t value) {
  char path[320], text[32];
  const int length = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  int file;
  if (!attribute_path(board, name, path, sizeof path)) return;
  file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, (size_t)length) != length) perror(path);
  if (file >= 0) close(file);
}

static void maintain(const struct board* board, const char* action, int direction, const void* address, size_t bytes) {
  if (board->coherent) return;
  write_attribute(board, "sync_offset", (uint64_t)((const unsigned char*)address - board->machine.memory));
  write_attribute(board, "sync_size", bytes);
  write_attribute(board, "sync_direction", (uint64_t)direction);
  write_attribute(board, action, 1);
}
static void clean(void* context, const void* address, size_t bytes) {
  maintain(context, "sync_for_device", 1, address, bytes);
}
static void invalidate(void* context, void* address, size_t bytes) {
  maintain(context, "sync_for_cpu", 2, address, bytes);
}

static const char* name_of(const char* variable, const char* usual) {
  const char* const given = getenv(variable);
  return given ? given : usual;
}

struct dovetail_machine* platform_open(const char* hardware, uint64_t base, uint64_t bytes) {
  struct board* const board = calloc(1, sizeof *board);
  const char* const uio = name_of("DOVETAIL_UIO", "uio0");
  const char* const buffer = name_of("DOVETAIL_UDMABUF", "udmabuf0");
  char path[256];
  uint64_t coherent = 0;
  void* mapped;
  (void)hardware; /* the registers tell it */
  if (!board) return NULL;
  board->uio = board->buffer = -1;
  snprintf(board->attributes, sizeof board->attributes, "/sys/class/u-dma-buf/%s/", buffer);
  if (!read_attribute(board, "phys_addr", &board->machine.base) ||
      !read_attribute(board, "size", &board->machine.bytes)) {
    fprintf(stderr, "%s: there is no such buffer of u-dma-buf\n", board->attributes);
    goto failed;
  }
  if (base < board->machine.base || bytes > board->machine.bytes ||
      base - board->machine.base > board->machine.bytes - bytes) {
    fprintf(stderr, "the program needs %llu bytes at %#llx, and %s has %llu at %#llx: export with --memory-base %#llx\n",
            (unsigned long long)bytes, (unsigned long long)base, buffer, (unsigned long long)board->machine.bytes,
            (unsigned long long)board->machine.base, (unsigned long long)board->machine.base);
    goto failed;
  }
  if (read_attribute(board, "dma_coherent", &coherent)) board->coherent = coherent != 0;
  snprintf(path, sizeof path, "/dev/%s", buffer);
  board->buffer = open(path, O_RDWR | O_CLOEXEC);
  mapped = mmap(NULL, (size_t)board->machine.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, board->buffer, 0);
  if (board->buffer < 0 || mapped == MAP_FAILED) {
    perror(path);
    goto failed;
  }
  board->machine.memory = mapped;
  snprintf(path, sizeof path, "/dev/%s", uio);
  board->uio = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
  mapped = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, board->uio, 0);
  if (board->uio < 0 || mapped == MAP_FAILED) {
    perror(path);
    goto failed;
  }
  board->registers = mapped;
  board->device.context = board->machine.context = board;
  board->device.read = read_register;
  board->device.write = write_register;
  board->device.pause = wait_for_interrupt;
  board->machine.accelerators = &board->device;
  board->machine.count = 1;
  board->machine.clean = clean;
  board->machine.invalidate = invalidate;
  return &board->machine;
failed:
  platform_close(&board->machine);
  return NULL;
}

void platform_close(struct dovetail_machine* machine) {
  struct board* const board = (struct board*)machine;
  if (!board) return;
  if (board->registers) munmap((void*)board->registers, WINDOW_BYTES);
  if (board->machine.memory) munmap(board->machine.memory, (size_t)board->machine.bytes);
  if (board->uio >= 0) close(board->uio);
  if (board->buffer >= 0) close(board->buffer);
  free(board);
}
