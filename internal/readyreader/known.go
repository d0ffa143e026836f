// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"net"
	"reflect"
	"strings"
)

// A wrapper that takes a header off the stream is never even: see wrapped. While its Read waits, and
// the socket is empty, it holds nothing, and what is missing from the account was taken for good. But
// so it looks, too, while a wrapper waits for the rest of something, or for anything else. Of
// some it is known that they do nothing of the kind. These are known by their names.

// takers are the packages whose Conn is such a wrapper: implementations of the PROXY protocol.
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

// learn is for when nothing has come for a while: what a taker has taken is known if it waits, and
// has read all that there was, the header at least.
func (w *wrapped) learn() {
	if !w.taker || w.taken.Load() > 0 {
		return
	}
	returned := w.returned.Load()
	first := count(w.rc)
	second := count(w.rc)
	if returned > 0 && w.inside.Load() && first.empty && second == first && w.returned.Load() == returned {
		w.taken.Store(first.received - returned)
	}
}
