// lld's ELF driver as one static program, for demo_lld.py: the allocator is whichever object comes
// first on its link line.
#include <lld/Common/Driver.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/InitLLVM.h>
#include <llvm/Support/raw_ostream.h>

#ifdef LLD_HAS_DRIVER // since LLVM 17
LLD_HAS_DRIVER(elf)
#endif

// Debian's LLVM refers to the plugin Polly, which takes no part in a link and is left out.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "0", [](llvm::PassBuilder &) {}};
}

int main(int argc, const char **argv) {
  llvm::InitLLVM start(argc, argv);
  llvm::SmallVector<const char *, 256> arguments(argv, argv + argc);
  arguments[0] = "ld.lld";
  // exitEarly: as lld itself does, without freeing everything at the end.
  return !lld::elf::link(arguments, llvm::outs(), llvm::errs(), true, false);
}
