// Entries that must leave the caller's stack frame as it is, so they are not C++: the child of a
// vfork returns from vfork first and reuses the stack below the caller's frame; syscall() may
// make such a child too; and dlopen() takes its caller's identity from its return address. Each
// does its bookkeeping in a C function, which keeps the caller's arguments, and then jumps to the
// real function with the stack as it found it.

#include "preload/entries.h"

        .text

// pid_t vfork(void), pid_t __vfork(void)
        .macro  VFORK_ENTRY name, prepare
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        endbr64
        subq    $8, %rsp                // calls want the stack aligned to 16
        .cfi_adjust_cfa_offset 8
        call    \prepare                // returns the real function
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   \name, . - \name
        .endm

        VFORK_ENTRY vfork, rsock_prepare_vfork
        VFORK_ENTRY __vfork, rsock_prepare_alias_vfork

// void* dlopen(const char* file, int mode)
        .globl  dlopen
        .type   dlopen, @function
        .p2align 4
dlopen:
        .cfi_startproc
        endbr64
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    rsock_prepare_dlopen    // returns the real function
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%rax
        .cfi_endproc
        .size   dlopen, . - dlopen

// long syscall(long number, ...). Numbers that concern descriptors go to rsock_decode_syscall,
// which has the same arguments in the same places; clone only where the child gets memory of its
// own and goes on on the same stack (no CLONE_VM, no new stack), since a C frame could not
// return twice otherwise.
        .set    SYS_clone, 56
        .set    CLONE_VM, 0x100
        .globl  syscall
        .type   syscall, @function
        .p2align 4
syscall:
        .cfi_startproc
        endbr64
        cmpq    $RSOCK_SYSCALL_NUMBERS, %rdi
        jae     .Lpass
        leaq    rsock_syscall_is_decoded(%rip), %rax
        cmpb    $0, (%rax,%rdi)
        je      .Lpass
        cmpq    $SYS_clone, %rdi
        jne     rsock_decode_syscall
        testq   $CLONE_VM, %rsi
        jnz     .Lpass
        testq   %rdx, %rdx
        jz      rsock_decode_syscall
.Lpass:
        jmp     *rsock_real_syscall(%rip)
        .cfi_endproc
        .size   syscall, . - syscall

// What rsock_real_syscall points to until the library is initialised: allocators make system
// calls while the dynamic linker can't be asked for anything yet.
        .globl  rsock_early_syscall
        .hidden rsock_early_syscall
        .type   rsock_early_syscall, @function
        .p2align 4
rsock_early_syscall:
        .cfi_startproc
        endbr64
        movq    %rdi, %rax
        movq    %rsi, %rdi
        movq    %rdx, %rsi
        movq    %rcx, %rdx
        movq    %r8, %r10
        movq    %r9, %r8
        movq    8(%rsp), %r9
        syscall
        cmpq    $-4095, %rax
        jae     .Lerror
        ret
.Lerror:
        negl    %eax
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        call    __errno_location@PLT
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        movl    %ecx, (%rax)
        movq    $-1, %rax
        ret
        .cfi_endproc
        .size   rsock_early_syscall, . - rsock_early_syscall

        .section .note.GNU-stack, "", @progbits
