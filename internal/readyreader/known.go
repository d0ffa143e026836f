// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"net"
	"reflect"
	"strings"
)

// A wrapper that takes a header off the stream is never even: see wrapped. What it took
// can be told from what it holds only by a Read that a deadline ends: it would have
// returned what it holds. That is right for wrappers of which it is known that they leave the
// socket alone between reads, and read on after a deadline. These are known by their names.
//
// When such a Read has ended with nothing, and the socket is empty, what is missing from the
// account was taken for good. From then on the account is even without it.

// takers are the packages whose Conn is such a wrapper: implementations of the PROXY
// protocol. Servers of net/http end their reads by a deadline for every request.
var takers = []string{"github.com/pires/go-proxyproto", "github.com/armon/go-proxyproto"}

// isTaker reports whether conn, or what it leaves its Read to, is one.
func isTaker(conn net.Conn) bool {
	in := descend(conn, inward)
	if in.end == nil || in.better {
		return false
	}
	t := reflect.TypeOf(in.end)
	if t.Kind() != reflect.Pointer {
		return false
	}
	t = t.Elem()
	for _, pkg := range takers {
		if t.Name() == "Conn" && (t.PkgPath() == pkg || strings.HasSuffix(t.PkgPath(), "/vendor/"+pkg)) {
			return true
		}
	}
	return false
}

// takes makes w one of a wrapper that is known to take something.
func (w *wrapped) takes() {
	w.trust, w.taker = trusted, true
}

// learn follows a Read that a deadline has ended with nothing.
func (w *wrapped) learn() {
	_ = w.rc.Control(func(fd uintptr) { // it fails on a connection that is closed
		before, _ := received(fd)
		empty := !isReadable(fd)
		if after, open := received(fd); open && empty && after == before {
			w.taken.Store(after - w.returned.Load())
			w.learned = true
		}
	})
}
