/* A runtime whose functions are shorter than a jump, and stand side by side. */
  .globl malloc, free
  .text
malloc:
  xorl %eax, %eax
  ret
free:
  ret
  .section .drectve
  .ascii " -export:malloc -export:free"
