// Works until its input ends: four goroutines that wait for jobs, for a lock and for time to pass, and one more every millisecond.
package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

var lock sync.Mutex

func works(jobs chan int) {
	for range jobs {
		lock.Lock()
		time.Sleep(100 * time.Microsecond)
		lock.Unlock()
	}
}

//go:noinline
func short(jobs chan int, number int) {
	jobs <- number
}

func main() {
	jobs := make(chan int)
	for i := 0; i < 4; i++ {
		go works(jobs)
	}
	go func() {
		for i := 0; ; i++ {
			go short(jobs, i)
			time.Sleep(time.Millisecond)
		}
	}()
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}
