/* loam-run.exe [--children] [--verify] program arguments: runs the program with loam-redirect.dll,
 * which stands beside it. Ends as the program does; with --verify with 1 where something escapes,
 * and with 2 or 127 where there is no program or it cannot be started. It has no C runtime. */
#include "base/format.h"
#include "redirect/inject_windows.h"
#include "redirect/proof_windows.h"

#define USAGE_STATUS 2
#define NO_PROGRAM_STATUS 127

struct run_options {
  bool children, verify;
};

static void print_line(const char *what, uint64_t number, const char *rest) {
  DWORD written;
  LM_TEXT(text, 512);
  lm_text_string(&text, "loam-run: ");
  lm_text_string(&text, what);
  if (number != 0) lm_text_number(&text, number);
  lm_text_string(&text, rest);
  lm_text_char(&text, '\n');
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), text.bytes, (DWORD)text.length, &written, NULL);
}

/* ---- The command line, of which the program gets its part as it is ---- */

static wchar_t *after_blanks(wchar_t *line) {
  while (*line == ' ' || *line == '\t') line++;
  return line;
}

/* As for the name of a program: quotes hide blanks, and nothing hides quotes. */
static wchar_t *after_word(wchar_t *line) {
  bool quoted = false;
  for (; *line != 0 && (quoted || (*line != ' ' && *line != '\t')); line++)
    if (*line == '"') quoted = !quoted;
  return after_blanks(line);
}

static bool takes(wchar_t **line, const wchar_t *option) {
  size_t length = 0;
  while (option[length] != 0 && (*line)[length] == option[length]) length++;
  wchar_t end = (*line)[length];
  if (option[length] != 0 || (end != 0 && end != ' ' && end != '\t')) return false;
  *line = after_blanks(*line + length);
  return true;
}

/* NULL: it says nothing that could be run. */
static wchar_t *read_command(struct run_options *options) {
  wchar_t *line = after_word(GetCommandLineW());
  while (*line == '-') {
    if (takes(&line, L"--")) break;
    if (takes(&line, L"--children")) options->children = true;
    else if (takes(&line, L"--verify")) options->verify = true;
    else return NULL;
  }
  return *line != 0 ? line : NULL;
}

/* ---- The program ---- */

/* The library beside this program. */
static bool find_library(wchar_t *path, DWORD capacity) {
  static const wchar_t name[] = L"loam-redirect.dll";
  DWORD length = GetModuleFileNameW(NULL, path, capacity);
  if (length == 0 || length >= capacity) return false;
  while (length > 0 && path[length - 1] != '\\') length--;
  if (length + sizeof name / sizeof *name > capacity) return false;
  for (size_t i = 0; i < sizeof name / sizeof *name; i++) path[length + i] = name[i];
  return true;
}

/* As LOAM_REDIRECT, which processes hand down. */
static void ask_for_children(void) {
  char words[256];
  DWORD length = GetEnvironmentVariableA("LOAM_REDIRECT", words, sizeof words);
  struct lm_text text = {words, sizeof words - 1, length < sizeof words - 16 ? length : 0};
  lm_text_string(&text, text.length != 0 ? ",children" : "children");
  lm_text_char(&text, 0);
  SetEnvironmentVariableA("LOAM_REDIRECT", words);
}

/* Keys that end a program are the program's, which they come to as well. */
static BOOL WINAPI leave_to_program(DWORD event) {
  return event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
}

/* Whoever ends this process ends the program; what that has started goes on. */
static void bind_to_this(HANDLE program) {
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
      .BasicLimitInformation.LimitFlags =
          JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK};
  HANDLE job = CreateJobObjectW(NULL, NULL);
  if (job != NULL && SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits,
                                             sizeof limits))
    AssignProcessToJobObject(job, program);
}

static struct lm_proof *ask_for_proof(DWORD process) {
  char name[LM_PROOF_NAME_LENGTH];
  lm_proof_name(process, name);
  HANDLE section = CreateFileMappingA(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0,
                                      sizeof(struct lm_proof), name);
  return section != NULL ? MapViewOfFile(section, FILE_MAP_READ, 0, 0, sizeof(struct lm_proof))
                         : NULL;
}

static DWORD judge(const struct lm_proof *proof, DWORD status) {
  if (proof != NULL && proof->is_complete) return proof->escape_count == 0 ? status : 1;
  print_line("the program has not said what leads to loam: it ended without its libraries", 0, "");
  return 1;
}

static DWORD run(wchar_t *command, const struct run_options *options) {
  wchar_t library[1024];
  STARTUPINFOW start;
  PROCESS_INFORMATION program;
  DWORD status = 1;
  struct lm_proof *proof = NULL;
  GetStartupInfoW(&start); /* handles that a C runtime hands down are in there, too */
  if (options->children) ask_for_children();
  SetConsoleCtrlHandler(leave_to_program, TRUE);
  if (!CreateProcessW(NULL, command, NULL, NULL, TRUE, CREATE_SUSPENDED, NULL, NULL, &start,
                      &program)) {
    print_line("the program cannot be started: error ", GetLastError(), "");
    return NO_PROGRAM_STATUS;
  }
  bind_to_this(program.hProcess);
  const char *reason = find_library(library, 1024) ? lm_inject(program.hProcess, library)
                                                   : "the path of loam-redirect.dll is too long";
  if (reason != NULL) print_line("the program runs without loam: ", 0, reason);
  if (options->verify) proof = ask_for_proof(program.dwProcessId);
  ResumeThread(program.hThread);
  WaitForSingleObject(program.hProcess, INFINITE);
  GetExitCodeProcess(program.hProcess, &status);
  return options->verify ? judge(proof, status) : status;
}

void lm_run_start(void);
void lm_run_start(void) {
  struct run_options options = {false, false};
  wchar_t *command = read_command(&options);
  if (command == NULL) {
    print_line("usage: loam-run [--children] [--verify] program [argument...]", 0, "");
    ExitProcess(USAGE_STATUS);
  }
  ExitProcess(run(command, &options));
}
