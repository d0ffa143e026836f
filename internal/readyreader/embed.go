// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"net"
	"reflect"
	"runtime"
	"strings"
	"sync"
)

// Many programs pass in connections that they have wrapped: to count bytes, to limit them, or to close
// something else with the connection. Most such wrappers embed the connection and leave Read and Write as
// they are. The functions below find out whether that is so. If it is, the embedded connection is used for
// reading and writing, and the wrapper for everything else.
//
// Reading below a wrapper whose Read does something would hand out ciphertext, or a header that the wrapper
// has to skip. So in any doubt the answer is no.

// maxDepth bounds how many wrappers are looked through. A wrapper may embed itself.
const maxDepth = 16

// method says where a method of a type comes from.
type method int

const (
	unsure   method = -2 // it can't be told, or the type has no such method
	declared method = -1 // the type's own
	// From 0 on, the number of the embedded field that it is promoted from.
)

// shape is what is known of a wrapper's type. until has SetReadDeadline, and
// follows a wrapper that names what it reads from, which is believed not to set deadlines.
type shape struct{ in, out, until way }

// way describes one direction (reading or writing) of a wrapper's type: where each method comes from.
//
//   - plain: Read or Write.
//   - better: ReadOnReady or TryWrite.
//   - tries: TryRead or TryWrite, which don't wait.
//   - other: ReadsOf or WritesOf, which names another connection.
//   - count: CountRead or CountWritten, which is told how many bytes that connection reads or writes.
//
// A method that the type does not have is unsure. counts says that there is a count method, even if only the
// pointer type has it.
type way struct {
	plain, better, tries, other, count method
	counts                             bool
}

func better(w *way) method { return w.better }
func other(w *way) method  { return w.other }

// trying is TryRead where ReadOnReady has the same origin. A type that declares one of the two alone wants to
// see each read, and would not see those by the other.
func trying(w *way) method {
	if w.tries != w.better {
		return unsure
	}
	return w.tries
}

func inward(s *shape) *way   { return &s.in }
func outward(s *shape) *way  { return &s.out }
func bounding(s *shape) *way { return &s.until }

var shapes sync.Map // of reflect.Type to *shape

// shapeOf returns the shape of t. It needs little stack, as most connections begin on goroutines that have little.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	return learnShape(t)
}

func learnShape(t reflect.Type) *shape {
	// The names are constants: with a variable the linker would have to keep every exported method of every
	// type.
	s := &shape{
		in: wayOf(t,
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Read") },
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("ReadOnReady") },
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("TryRead") },
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("ReadsOf") },
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("CountRead") },
		),
		out: wayOf(t,
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("Write") },
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("TryWrite") },
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("TryWrite") },
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("WritesOf") },
			func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("CountWritten") },
		),
	}
	s.until = way{better: unsure, tries: unsure, other: s.in.other, count: s.in.count, counts: s.in.counts}
	s.until.plain = origin(t, func(t reflect.Type) (reflect.Method, bool) { return t.MethodByName("SetReadDeadline") })
	shapes.Store(t, s)
	return s
}

func wayOf(t reflect.Type, plain, better, tries, other, count lookup) way {
	return way{
		origin(t, plain), origin(t, better), origin(t, tries), origin(t, other), origin(t, count),
		provides(t, count),
	}
}

// lookup finds a method, always the same one, in a type's method set.
type lookup func(reflect.Type) (reflect.Method, bool)

// origin returns where a method of t comes from.
func origin(t reflect.Type, find lookup) method {
	if _, ok := find(t); !ok {
		return unsure
	}
	st := t
	if t.Kind() == reflect.Pointer {
		st = t.Elem()
	}
	if st.Kind() != reflect.Struct {
		return declared // only structs embed
	}
	from := declared
	for i := range st.NumField() {
		f := st.Field(i)
		if !f.Anonymous || !provides(f.Type, find) {
			continue
		}
		if from != declared {
			// By the language's rules the shallower method is promoted. To find out which that is would
			// mean repeating these rules here.
			return unsure
		}
		from = method(i)
	}
	switch {
	case from == declared:
		return declared
	case strings.Contains(st.Name(), "["):
		// The methods of a generic type are called through others, which the compiler generates as it
		// generates promoted ones: the two can't be told apart.
		return unsure
	case !generated(t, find):
		return declared
	case st != t && !generated(st, find):
		// The compiler generates a pointer's method from each of the value's.
		return declared
	}
	return from
}

// provides reports whether embedding a field of type t can promote the method.
func provides(t reflect.Type, find lookup) bool {
	if _, ok := find(t); ok {
		return true
	}
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return false
	}
	_, ok := find(reflect.PointerTo(t))
	return ok
}

// generated reports whether the compiler generated the method, or t has no such method.
func generated(t reflect.Type, find lookup) bool {
	m, ok := find(t)
	if !ok {
		return true
	}
	pc := m.Func.Pointer()
	f := runtime.FuncForPC(pc)
	if f == nil {
		return false
	}
	file, _ := f.FileLine(pc)
	return file == "<autogenerated>"
}

// path is the result of a search for the innermost connection whose Read, or whose Write, a connection has:
// that connection itself, or one that is embedded in it.
type path struct {
	end    net.Conn // nil if it can't be told
	layer  Layer    // end as a Layer; nil if it is none
	counts counters // of the wrappers on the way
}

// descend searches for the innermost connection, starting at conn. It bypasses wrappers that count only if
// there is a socket at the end.
func descend(conn net.Conn, direction func(*shape) *way) path {
	p := passBy(conn, direction, mayCount)
	if len(p.counts) > 0 && !isSocket(p) {
		return passBy(conn, direction, false)
	}
	return p
}

// passBy is descend; evenCounting says whether it bypasses wrappers that count.
func passBy(conn net.Conn, direction func(*shape) *way, evenCounting bool) path {
	var counts counters
	v := reflect.ValueOf(conn)
	for range maxDepth {
		if conn != nil && isExactSocket(conn) {
			return path{conn, nil, counts}
		}
		if !wraps(v) {
			return path{conn, nil, counts}
		}
		w := direction(shapeOf(v.Type()))
		if conn != nil && w.better != unsure && offers(v, direction, better) {
			if layer := offered(conn, v); layer != nil {
				return path{conn, layer, counts}
			}
		}
		if conn != nil && w.other != unsure {
			if named, count := namedBy(conn, v, direction); named != nil && (count == nil || evenCounting) {
				if count != nil {
					counts = append(counts, count)
				}
				conn, v = named, reflect.ValueOf(named)
				continue
			}
		}
		switch field := w.plain; field {
		case unsure:
			return path{nil, nil, counts}
		case declared:
			return path{conn, nil, counts}
		default:
			v = embedded(v, int(field))
		}
		conn = nil // a field that is not exported is looked through, not used
		if v.IsValid() && v.CanInterface() {
			conn, _ = v.Interface().(net.Conn)
		}
	}
	return path{nil, nil, counts}
}

// offered returns conn as a Layer, or nil if it is none. v is conn's reflect.Value.
func offered(conn net.Conn, v reflect.Value) Layer {
	switch c := conn.(type) {
	case Layer:
		return c
	case readyWaiter:
		ready := readyConn{plainConn: plainConn{Conn: conn}, waiter: c}
		if t, ok := conn.(tryReader); ok && offers(v, inward, trying) {
			if rc := t.RawConn(); rc != nil {
				return &tryConn{ready, t, rc}
			}
		}
		return &ready
	}
	return nil
}

// namedBy returns the connection to which conn says that it leaves its reads or its writes, and the method
// of conn that counts them, if it has one. named is nil if conn names no connection, or if it is not
// certain what counts. conn is not nil; v is its reflect.Value. The methods are defined in package experimental.
func namedBy(conn net.Conn, v reflect.Value, direction func(*shape) *way) (named net.Conn, tell func(int)) {
	if !offers(v, direction, other) {
		return nil, nil
	}
	if direction(&shape{out: way{plain: 1}}).plain != 1 {
		if r, ok := conn.(interface{ ReadsOf() net.Conn }); ok {
			named = r.ReadsOf()
		}
		if c, ok := conn.(interface{ CountRead(n int) }); ok {
			tell = c.CountRead
		}
	} else {
		if w, ok := conn.(interface{ WritesOf() net.Conn }); ok {
			named = w.WritesOf()
		}
		if c, ok := conn.(interface{ CountWritten(n int) }); ok {
			tell = c.CountWritten
		}
	}
	if !agrees(v, direction, tell != nil) {
		return nil, nil
	}
	return named, tell
}

// agrees reports whether all bytes will be counted that v wants counted. If tells is true, the type that
// names the other connection (see offers) has to be the one that counts. If tells is false, no type on the
// way to it may have a method that counts.
func agrees(v reflect.Value, direction func(*shape) *way, tells bool) bool {
	for range maxDepth {
		switch w := direction(shapeOf(v.Type())); {
		case tells && w.count != w.other, !tells && w.counts:
			return false
		case w.other == declared:
			return true
		default:
			v = embedded(v, int(w.other))
		}
	}
	return false
}

// offers reports whether v has another method for a direction, in a place where it may be used: v declares
// it, or both it and the plain one are promoted from the same field. A wrapper that declares Read alone has
// ReadOnReady from what it embeds, and its Read must not be bypassed.
func offers(v reflect.Value, direction func(*shape) *way, another func(*way) method) bool {
	for range maxDepth {
		if !wraps(v) {
			return false
		}
		switch w := direction(shapeOf(v.Type())); {
		case another(w) == declared:
			return true
		case another(w) == unsure || w.plain != another(w):
			return false
		default:
			v = embedded(v, int(w.plain))
		}
	}
	return false
}

// wraps reports whether v is of a kind that can embed something.
func wraps(v reflect.Value) bool {
	return v.Kind() == reflect.Struct || v.Kind() == reflect.Pointer && !v.IsNil()
}

// embedded returns what a field of the wrapper v holds.
func embedded(v reflect.Value, field int) reflect.Value {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	v = v.Field(field)
	switch {
	case v.Kind() == reflect.Interface:
		return v.Elem()
	case v.Kind() == reflect.Struct && v.CanAddr():
		return v.Addr() // its methods may want the pointer
	}
	return v
}

// onlyConn returns the connection that a wrapper embeds, or nil if it does not embed exactly one.
func onlyConn(conn net.Conn) net.Conn {
	v := reflect.ValueOf(conn)
	if !wraps(v) {
		return nil
	}
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var only net.Conn
	for i := range t.NumField() {
		if !t.Field(i).Anonymous {
			continue
		}
		f := embedded(v, i)
		if !f.IsValid() || !f.CanInterface() {
			continue
		}
		if c, ok := f.Interface().(net.Conn); ok {
			if only != nil {
				return nil
			}
			only = c
		}
	}
	return only
}

// Find returns the connection for which is returns true: conn, or one that it embeds, or that this embeds, and so on. It
// returns nil if there is none.
func Find(conn net.Conn, is func(net.Conn) bool) net.Conn {
	for range maxDepth {
		if conn == nil || is(conn) {
			return conn
		}
		conn = onlyConn(conn)
	}
	return nil
}

// SocketBelow returns the TCP or unix socket that carries conn: conn itself, or what is below
// any wrappers, even those with a Read or Write of their own. It returns nil if it finds none.
func SocketBelow(conn net.Conn) net.Conn {
	for range maxDepth {
		if conn == nil {
			return nil
		}
		if isExactSocket(conn) {
			return conn
		}
		if n, ok := conn.(interface{ NetConn() net.Conn }); ok {
			conn = n.NetConn()
			continue
		}
		if n, ok := conn.(interface{ TCPConn() (*net.TCPConn, bool) }); ok { // go-proxyproto's way
			if tcp, ok := n.TCPConn(); ok {
				return tcp
			}
			return nil
		}
		conn = onlyConn(conn)
	}
	return nil
}

// Innermost returns the connection that does conn's Read and Write: conn itself, or one that it embeds. It
// returns nil if that can't be told, or if two different connections do them.
func Innermost(conn net.Conn) net.Conn {
	in, out := descend(conn, inward).end, descend(conn, outward).end
	if in == nil || out == nil || reflect.TypeOf(in) != reflect.TypeOf(out) ||
		reflect.TypeOf(in).Kind() != reflect.Pointer || in != out {
		return nil
	}
	return in
}
