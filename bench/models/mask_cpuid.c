// Hides the vector instructions beyond AVX2 from a peer of run.py. mask_cpuid.py replaces the peer's `cpuid` by `ud2`
// (both have two bytes); this library, loaded first (LD_PRELOAD), answers the trap with the processor's values less
// those bits.
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#define BIT(n) (1u << (n))

static void answer(int number, siginfo_t* info, void* context) {
  greg_t* at = ((ucontext_t*)context)->uc_mcontext.gregs;
  unsigned leaf = (unsigned)at[REG_RAX], part = (unsigned)at[REG_RCX], a, b, c, d;
  (void)info;
  if (memcmp((const void*)at[REG_RIP], "\x0f\x0b", 2) != 0) {  // another illegal instruction
    signal(number, SIG_DFL);
    return;
  }
  __cpuid_count(leaf, part, a, b, c, d);
  if (leaf == 7 && part == 0) {
    b &= ~(BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31));  // AVX-512 F, DQ, .., VL
    c &= ~(BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14));                                  // VBMI, VNNI, BITALG, ..
    d &= ~(BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25));               // FP16, AMX
  } else if (leaf == 7 && part == 1) {
    a &= ~(BIT(4) | BIT(5) | BIT(21) | BIT(23));  // AVX-VNNI, BF16, AMX-FP16, AVX-IFMA
    d &= ~(BIT(4) | BIT(5) | BIT(10) | BIT(19));  // AVX-VNNI-INT8, AVX-NE-CONVERT, AVX-VNNI-INT16, AVX10
  }
  at[REG_RAX] = a, at[REG_RBX] = b, at[REG_RCX] = c, at[REG_RDX] = d;
  at[REG_RIP] += 2;
}

__attribute__((constructor)) static void install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, 0);
}
