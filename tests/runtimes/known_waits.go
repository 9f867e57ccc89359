// A program that knows what its goroutines wait for and who wakes them: nobody is woken before all of them are seen to wait, in a
// profile of the runtime's own. It prints the line of the `go` statement, and the number of each goroutine in the order of their
// creation, the leaked ones last.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Does not lock, so that a condition is all that is waited for.
type nothing struct{}

func (nothing) Lock()   {}
func (nothing) Unlock() {}

var (
	first, second []chan int
	condition     = sync.NewCond(nothing{})
	group         sync.WaitGroup
	numbers       []string
	never         = make(chan int)
	arrived       int64
)

func number() string {
	var text [64]byte
	length := runtime.Stack(text[:], false)
	return strings.Fields(string(text[:length]))[1]
}

//go:noinline
func receives(i int) {
	atomic.AddInt64(&arrived, 1)
	<-first[i]
}

//go:noinline
func selects(i int) {
	atomic.AddInt64(&arrived, 1)
	select {
	case <-second[i]:
	case <-never:
	}
	if i+1 < len(second) {
		second[i+1] <- 1
	}
}

//go:noinline
func waits() {
	atomic.AddInt64(&arrived, 1)
	condition.Wait()
}

//go:noinline
func sleeps() {
	time.Sleep(time.Millisecond)
}

func worker(i int) {
	defer group.Done()
	numbers[i] = number()
	receives(i)
	selects(i)
	waits()
	sleeps()
	if i%2 == 1 {
		runtime.Goexit()
	}
}

//go:noinline
func leaks(i int) {
	numbers[i] = number()
	group.Done()
	atomic.AddInt64(&arrived, 1)
	<-never
}

func name(address uintptr) string {
	return runtime.FuncForPC(address - 1).Name()
}

// Whether a goroutine waits in a function.
func isWaiting(stack []uintptr, function string) bool {
	if len(stack) == 0 || name(stack[0]) != "runtime.gopark" {
		return false
	}
	for _, address := range stack {
		if name(address) == function {
			return true
		}
	}
	return false
}

// Returns when so many goroutines are seen to wait in a function.
func seen(count int, function string) {
	records := make([]runtime.StackRecord, 2*count+1000)
	for waiting := 0; waiting < count; {
		time.Sleep(10 * time.Millisecond)
		if atomic.LoadInt64(&arrived) < int64(count) {
			continue
		}
		length, _ := runtime.GoroutineProfile(records)
		waiting = 0
		for i := range records[:length] {
			if isWaiting(records[i].Stack(), function) {
				waiting++
			}
		}
	}
	atomic.StoreInt64(&arrived, 0)
}

func main() {
	// The collector has goroutines wait for it.
	debug.SetGCPercent(-1)
	count, _ := strconv.Atoi(os.Args[1])
	leaked, _ := strconv.Atoi(os.Args[2])
	numbers = make([]string, count+leaked)
	group.Add(count)
	for i := 0; i < count; i++ {
		first = append(first, make(chan int, 1))
		second = append(second, make(chan int, 1))
	}
	var line int
	for i := 0; i < count; i++ {
		_, _, line, _ = runtime.Caller(0)
		go worker(i)
	}
	seen(count, "main.receives")
	for i := 0; i < count; i++ {
		first[i] <- 1
	}
	seen(count, "main.selects")
	second[0] <- 1
	seen(count, "main.waits")
	condition.Broadcast()
	group.Wait()
	group.Add(leaked)
	for i := 0; i < leaked; i++ {
		go leaks(count + i)
	}
	group.Wait()
	seen(leaked, "main.leaks")
	fmt.Println(line+1, strings.Join(numbers, " "))
}
