// Calls functions with values that it knows, and writes each call, as ada is to show it, to the file in its first argument.
// A star stands for an address.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
)

type point struct{ X, Y int }
type person struct {
	Age  int
	Tall bool
}
type odd struct {
	A int8
	B string
	C [1]int
	D struct{}
	E bool
	F float32
}
type label struct {
	Name  string
	Sizes []int16
	Err   error
}
type shape interface{ area(by int) int }
type square int

//go:noinline
func add(a, b int) int { return a + b }

//go:noinline
func narrow(a int8, b uint8, c int16, d uint32, e uint64, f rune) (int8, uint64) { return a, e }

//go:noinline
func blank(_ int, s string, b bool) int { return len(s) }

//go:noinline
func sum(xs []int, extra int8, up bool) (int, error) {
	t := 0
	for _, x := range xs {
		t += x
	}
	if up {
		return t + int(extra), nil
	}
	return t, errors.New("down")
}

//go:noinline
func scale(x float64, by int, y float32) float64 { return x * float64(by) * float64(y) }

//go:noinline
func half(x float32) (float32, bool) { return x / 2, true }

//go:noinline
func turn(c complex128) complex128 { return c * 1i }

//go:noinline
func move(p point, by *point) point { return point{p.X + by.X, p.Y + by.Y} }

//go:noinline
func (p *person) older(years int) (name string) { p.Age += years; return "Ada" }

//go:noinline
func tell(l *label) (int, string) { return len(l.Sizes), l.Name }

//go:noinline
func (s square) area(by int) int { return int(s) * int(s) * by }

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j int, s string, x float64) (r int, t string) {
	return a + b + c + d + e + f + g + h + i + j + int(x), s
}

//go:noinline
func boxed(v interface{}, e error, f func(int) int, m map[string]int, ch chan int) bool {
	return v != nil && e == nil && f != nil && m != nil && ch != nil
}

//go:noinline
func mixed(o odd, x float32) (n int32, ok bool, y float64) {
	return int32(o.A) + int32(o.C[0]), o.E, float64(o.F + x)
}

//go:noinline
func pair(a [2]int, b int) ([2]int, int) { return a, b }

//go:noinline
func raw(data []byte) []byte { return data[1:] }

//go:noinline
func parts(data []byte, at int) (head, tail []byte, err error) { return data[:at], data[at:], nil }

//go:noinline
func join(a, b string) string { return a + b }

//go:noinline
func generic[T int | string](_ int, x T, n int) (T, int) { return x, n }

//go:noinline
func fails(n int) int {
	if n > 0 {
		panic("no")
	}
	return n
}

//go:noinline
func recovers(n int) (r int) {
	defer func() { r = -1; recover() }()
	return fails(n)
}

//go:noinline
func sets(n int) (r int32, s string, err error) {
	defer func() {
		if recover() != nil {
			s, err = "caught", errors.New("caught")
		}
	}()
	return int32(fails(n)), "fine", nil
}

//go:noinline
func nothing() {}

// The stack is copied to a larger place on the way.
//
//go:noinline
func deep(n int, s string) (string, int) {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return s, room[0]
	}
	t, m := deep(n-1, s)
	return t, m + 1 + room[n%64] - n
}

// The goroutine may go on on another thread.
//
//go:noinline
func hop(id int, name string, again int) (int, string) {
	for i := 0; i < again; i++ {
		runtime.Gosched()
	}
	return 2 * id, name
}

const hops, depth = 40, 600

func main() {
	// What returns on another thread is shown without results.
	runtime.LockOSThread()
	log, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	say := func(format string, values ...interface{}) { fmt.Fprintf(log, format+"\n", values...) }
	say("main.add(%d, %d) = %d", -1, 3, add(-1, 3))
	small, large := narrow(-2, 255, -300, 4000000000, 1<<64-1, 'x')
	say("main.narrow(-2, 255, -300, 4000000000, %d, 120) = {r0: %d, r1: %d}", uint64(1<<64-1), small, large)
	blank(3, "four", true)
	total, err := sum([]int{1, 2, 3}, 4, true)
	say("main.sum([1, 2, 3], 4, true) = {r0: %d, r1: nil}", total)
	total, err = sum(nil, -4, err != nil)
	say("main.sum([], -4, false) = {r0: %d, r1: *}", total)
	say("main.scale(1.5, 2, 0.5) = %.1f", scale(1.5, 2, 0.5))
	_, is := half(3)
	say("main.half(3.0) = {r0: 1.5, r1: %v}", is)
	turned := turn(1 + 2i)
	say("main.turn({real: 1.0, imag: 2.0}) = {real: %.1f, imag: %.1f}", real(turned), imag(turned))
	moved := move(point{1, 2}, &point{3, 4})
	say("main.move({X: 1, Y: 2}, &{X: 3, Y: 4}) = {X: %d, Y: %d}", moved.X, moved.Y)
	ada := &person{36, true}
	say("main.(*person).older(&{Age: 36, Tall: true}, 1) = %q", ada.older(1))
	sizes, told := tell(&label{Name: "Grace", Sizes: []int16{-1, 2, 3}})
	say("main.tell(&{Name: \"Grace\", Sizes: [-1, 2, 3], Err: nil}) = {r0: %d, r1: %q}", sizes, told)
	var s shape = square(3)
	say("main.square.area(3, 4) = %d", s.area(4))
	r, t := many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "eleven", 12.5)
	say("main.many(1, 2, 3, 4, 5, 6, 7, 8, 9, ?, ?, 12.5) = {r: %d, t: %q}", r, t)
	is = boxed(3, nil, func(i int) int { return i }, map[string]int{}, make(chan int))
	say("main.boxed(*, nil, *, *, *) = %v", is)
	is = boxed(nil, nil, nil, nil, nil)
	say("main.boxed(nil, nil, nil, nil, nil) = %v", is)
	n, ok, y := mixed(odd{A: -1, B: "b", C: [1]int{7}, E: true, F: 0.5}, 0.25)
	say("main.mixed({A: -1, B: \"b\", C: (7), E: true, F: 0.5}, 0.25) = {n: %d, ok: %v, y: %.2f}", n, ok, y)
	_, last := pair([2]int{1, 2}, 3)
	say("main.pair(?, 3) = {r0: ?, r1: %d}", last)
	data := make([]byte, 5, 8)
	copy(data, "hello")
	rest := raw(data)
	say("main.raw(\"hello\") = %q", rest)
	head, tail, _ := parts(data, 2)
	say("main.parts(\"hello\", 2) = {head: %q, tail: %q, err: nil}", head, tail)
	say("main.join(\"a\", \"\") = %q", join("a", ""))
	generic(1, "x", 2)
	generic(1, 7, 8)
	say("main.recovers(5) = %d", recovers(5))
	r32, s32, _ := sets(0)
	say("main.sets(0) = {r: %d, s: %q, err: nil}", r32, s32)
	r32, s32, _ = sets(9)
	say("main.sets(9) = {r: %d, s: %q, err: *}", r32, s32)
	nothing()
	say("main.nothing()")
	text, levels := deep(depth, "down")
	for n := 0; n <= depth; n++ {
		say("main.deep(%d, %q) = {r0: %q, r1: %d}", depth-n, text, text, levels-n)
	}
	var all sync.WaitGroup
	var lock sync.Mutex
	for id := 0; id < hops; id++ {
		all.Add(1)
		go func(id int) {
			defer all.Done()
			name := fmt.Sprintf("goroutine %d", id)
			for again := 0; again < 10; again++ {
				double, same := hop(id, name, again)
				lock.Lock()
				say("main.hop(%d, %q, %d) = {r0: %d, r1: %q}", id, name, again, double, same)
				lock.Unlock()
			}
		}(id)
	}
	all.Wait()
}
