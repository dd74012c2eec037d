/* What the compiler calls for large frames, and a C runtime has. Once in a program. */
#ifndef LOAM_TESTS_CHKSTK_H
#define LOAM_TESTS_CHKSTK_H

/* Touches the pages of a frame of RAX bytes in their order, since the stack grows by a guard page;
 * changes no register. */
__asm__(".globl __chkstk\n"
        "__chkstk:\n"
        "  pushq %rcx\n"
        "  pushq %rdx\n"
        "  leaq 24(%rsp), %rcx\n"
        "  movq %rcx, %rdx\n"
        "  subq %rax, %rdx\n"
        "1: subq $4096, %rcx\n"
        "  cmpq %rdx, %rcx\n"
        "  jbe 2f\n"
        "  testb $0, (%rcx)\n"
        "  jmp 1b\n"
        "2: testb $0, (%rdx)\n"
        "  popq %rdx\n"
        "  popq %rcx\n"
        "  ret\n");

#endif
