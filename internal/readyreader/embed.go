// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"net"
	"reflect"
	"runtime"
	"strings"
	"sync"
)

// Many programs hand over connections that they wrapped: to count them, to limit them,
// to close something else along. Most such wrappers embed the connection and leave Read
// and Write as they are. What follows finds out whether that is so, in order to use the
// connection that is embedded for reading and writing, and the wrapper for all else.
//
// Reading below a wrapper whose Read does something would hand out ciphertext, or a
// header that was to be skipped. So in any doubt the answer is no.

// maxDepth bounds how many wrappers are looked through. A wrapper may embed itself.
const maxDepth = 16

// method says where a method of a type comes from.
type method int

const (
	unsure   method = -2 // it can't be told
	declared method = -1 // the type's own
	// From 0 on, the number of the embedded field that it is promoted from.
)

// shape is what is known of a wrapper's type.
type shape struct{ in, out way }

// way is one direction of a wrapper's: where it has Read from, or Write; where it has the
// better way from, which is ReadOnReady or TryWrite, unsure if from nowhere; where the one that
// doesn't wait, TryRead or TryWrite; where the method that names another connection, ReadsOf or WritesOf; and where the one that counts what is done
// to that, CountRead or CountWritten. counts says that there is such a one, if only of a pointer.
type way struct {
	plain, better, tries, other, count method
	counts                             bool
}

func better(w way) method { return w.better }
func trying(w way) method { return w.tries }
func other(w way) method  { return w.other }

func inward(s shape) way  { return s.in }
func outward(s shape) way { return s.out }

var shapes sync.Map // of reflect.Type to shape

func shapeOf(t reflect.Type) shape {
	if s, ok := shapes.Load(t); ok {
		return s.(shape)
	}
	// The names are constants so that the linker need not keep every method of every
	// type, for fear of this.
	s := shape{
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

// origin tells where a method of t comes from.
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
			// By the language's rules the shallower one is promoted. To tell which
			// that is would be to repeat these rules here.
			return unsure
		}
		from = method(i)
	}
	switch {
	case from == declared:
		return declared
	case strings.Contains(st.Name(), "["):
		// The methods of a generic type are reached through others, which the compiler
		// makes, as it makes promoted ones.
		return unsure
	case !generated(t, find):
		return declared
	case st != t && !generated(st, find):
		// The compiler makes a method of the pointer's out of each of the value's.
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

// generated reports whether the method is the compiler's, or t has none.
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

// path is the way down to the innermost connection whose Read, or whose Write, is that of the
// one where it begins: that itself, or one that is embedded in it.
type path struct {
	end    net.Conn // nil if it can't be told
	layer  Layer    // end as a Layer; nil if it is none
	counts counters // of the wrappers on the way
}

// descend goes the way down from conn. Who counts is passed by on the way to a socket only.
func descend(conn net.Conn, direction func(shape) way) path {
	p := passBy(conn, direction, mayCount)
	if len(p.counts) > 0 && !isSocket(p) {
		return passBy(conn, direction, false)
	}
	return p
}

// passBy is descend, past those who count, or not.
func passBy(conn net.Conn, direction func(shape) way, evenCounting bool) path {
	var counts counters
	v := reflect.ValueOf(conn)
	for range maxDepth {
		if conn != nil && IsSocket(conn) {
			return path{conn, nil, counts}
		}
		if conn != nil && offers(v, direction, better) {
			if layer := offered(conn, v); layer != nil {
				return path{conn, layer, counts}
			}
		}
		if named, count := namedBy(conn, v, direction); named != nil && (count == nil || evenCounting) {
			if count != nil {
				counts = append(counts, count)
			}
			conn, v = named, reflect.ValueOf(named)
			continue
		}
		if !wraps(v) {
			return path{conn, nil, counts}
		}
		switch field := direction(shapeOf(v.Type())).plain; field {
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

// offered is conn, which is v, as a Layer, nil if it is none.
func offered(conn net.Conn, v reflect.Value) Layer {
	switch c := conn.(type) {
	case Layer:
		return c
	case readyWaiter:
		ready := readyConn{plainConn{Conn: conn}, c}
		if t, ok := conn.(tryReader); ok && offers(v, inward, trying) {
			if rc := t.RawConn(); rc != nil {
				return &tryConn{ready, t, rc}
			}
		}
		return &ready
	}
	return nil
}

// namedBy is the connection that conn, which is v, says its reads or its writes are those
// of, and what it counts them with; nil if it says nothing, or if it is not sure what counts.
// The methods are those of package experimental.
func namedBy(conn net.Conn, v reflect.Value, direction func(shape) way) (named net.Conn, tell func(int)) {
	if conn == nil || !offers(v, direction, other) {
		return nil, nil
	}
	if direction(shape{in: way{plain: 1}}).plain == 1 {
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

// agrees reports whether what names another connection in v, see offers, is what counts, if v tells,
// and counts nothing else. Else something would not be counted.
func agrees(v reflect.Value, direction func(shape) way, tells bool) bool {
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

// offers reports whether v has another method for a direction: its own, or that of what
// it embeds if the plain one is from there as well. A wrapper that declares Read alone
// got ReadOnReady from what it embeds, and must not be passed by.
func offers(v reflect.Value, direction func(shape) way, another func(way) method) bool {
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

// embedded is what a field of the wrapper v holds.
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

// onlyConn is the connection that a wrapper embeds, nil if that is not exactly one.
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

// SocketBelow returns the TCP or unix socket that carries conn: conn itself, or what is below
// any wrappers, even those with a Read or Write of their own. It returns nil if it finds none.
func SocketBelow(conn net.Conn) net.Conn {
	for range maxDepth {
		if conn == nil {
			return nil
		}
		if IsSocket(conn) {
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

// Innermost is the connection that conn's Read and Write are those of: conn itself, or one
// that it embeds; nil if that can't be told, or if they are different ones.
func Innermost(conn net.Conn) net.Conn {
	in, out := descend(conn, inward).end, descend(conn, outward).end
	if in == nil || out == nil || reflect.TypeOf(in) != reflect.TypeOf(out) ||
		reflect.TypeOf(in).Kind() != reflect.Pointer || in != out {
		return nil
	}
	return in
}
