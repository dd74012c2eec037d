/* child.exe STATUS [WORDS...]: says its arguments and whether loam is there, repeats standard input,
 * and ends with the status; `start COMMAND` starts another one first and ends as that does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static int start(const char *command) {
  char line[1024];
  STARTUPINFOA info = {.cb = sizeof info};
  PROCESS_INFORMATION process;
  DWORD status = 99;
  snprintf(line, sizeof line, "%s", command);
  if (!CreateProcessA(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &info, &process)) return 98;
  WaitForSingleObject(process.hProcess, INFINITE);
  GetExitCodeProcess(process.hProcess, &status);
  return (int)status;
}

int main(int count, char **arguments) {
  int c;
  if (count > 2 && strcmp(arguments[1], "start") == 0) return start(arguments[2]);
  printf("loam %s", GetModuleHandleA("loam-redirect.dll") != NULL ? "yes" : "no");
  for (int i = 2; i < count; i++) printf(" [%s]", arguments[i]);
  printf("\n");
  while ((c = getchar()) != EOF) putchar(c);
  return count > 1 ? atoi(arguments[1]) : 0;
}
