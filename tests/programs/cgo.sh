# A Go program that calls C: goroutines on threads that C does not know pass blocks of malloc around.
# label: long
# packages: golang-go
cat > program.go <<'GO'
package main

/*
#include <stdlib.h>
#include <string.h>
static char *filled(int size, char with) { char *block = malloc(size); memset(block, with, size); return block; }
extern int sizeFromGo(int number);
static int called_back(int number) { char *block = calloc(1, sizeFromGo(number)); int first = block[0]; free(block); return first; }
*/
import "C"
import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"unsafe"
)

//export sizeFromGo
func sizeFromGo(number C.int) C.int { runtime.Gosched(); return number*37%5000 + 1 }

func main() {
	blocks := make(chan unsafe.Pointer, 100)
	var makers, takers sync.WaitGroup
	sums := make([]int, 8)
	for maker := range sums {
		maker := maker
		makers.Add(1)
		go func() {
			defer makers.Done()
			for i := 0; i < 4000; i++ {
				blocks <- unsafe.Pointer(C.filled(C.int(i*97%3000+2), C.char(i%100)))
				C.called_back(C.int(i))
				if i%500 == 0 { runtime.LockOSThread(); runtime.GC(); runtime.UnlockOSThread() }
			}
		}()
		takers.Add(1)
		go func() {
			defer takers.Done()
			for block := range blocks {
				grown := C.realloc(block, 6000)
				sums[maker] += int(*(*C.char)(grown)) + int(*(*C.char)(unsafe.Add(grown, 1)))
				C.free(grown)
			}
		}()
	}
	// Threads that end with the goroutine that holds them.
	for i := 0; i < 100; i++ {
		makers.Add(1)
		go func() { defer makers.Done(); runtime.LockOSThread(); C.free(unsafe.Pointer(C.CString("ends"))) }()
	}
	makers.Wait()
	close(blocks)
	takers.Wait()
	total := 0
	for _, sum := range sums { total += sum }
	output, err := exec.Command("seq", "3").Output()
	fmt.Println(total, len(output), err)
}
GO
LD_PRELOAD= GO111MODULE=off CGO_ENABLED=1 go build -o program program.go
GODEBUG=asyncpreemptoff=0 GOMAXPROCS=4 ./program
