// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/tlsconn"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/mem"
)

// run passes the connection on to a server, or closes it.
func (a *arrival) run() {
	left := true
	defer func() {
		if left { // code of the program, such as a GetCertificate, has ended the goroutine
			a.port.forget(a)
			_ = a.conn.Close()
		}
	}()
	a.arrive()
	left = false
}

// arrive does what run says, as far as the program's code returns.
func (a *arrival) arrive() {
	err := a.shake()
	if err == nil && a.step != decided {
		err = a.sniff()
	}
	if !a.port.forget(a) {
		a.turnAway()
		err = net.ErrClosed
	}
	if err == nil {
		err = a.pass()
	}
	if err == nil {
		return
	}
	_ = a.conn.Close() // whatever Close returns
	if logger.V(2) && !errors.Is(err, io.EOF) {
		logger.Infof("oneport: the connection with %v is closed before a server has it: %v", a.raw.RemoteAddr(), err)
	}
}

// shake performs the TLS handshake, and decides for HTTP if the handshake shows that.
func (a *arrival) shake() error {
	config := a.port.config
	if config == nil {
		return nil
	}
	looks := tlsconn.CanGiveBack() && releases()
	a.secure = tls.Server(a.raw, config)
	if looks {
		if c, ok := tlsconn.New(a.raw, config, tlsconn.Options{Server: true, Release: true, Rest: rests()}); ok {
			a.secure = c
		}
	}
	// A deadline is not enough: a wrapper's Read may set its own, and some connections, such as the channels of SSH,
	// have none.
	defer time.AfterFunc(a.port.timeout, func() { a.raw.Close() }).Stop()
	a.limit(net.Conn.SetDeadline, time.Now().Add(a.port.timeout))
	if err := a.secure.HandshakeContext(context.Background()); err != nil {
		a.explain(err)
		return err
	}
	_ = a.raw.SetDeadline(time.Time{}) // clear the deadline; a connection that returns an error has none
	a.port.mu.Lock()
	a.conn = a.secure
	a.port.mu.Unlock()
	a.state = a.secure.ConnectionState()
	if !looks || a.state.NegotiatedProtocol != "h2" {
		a.decide(forHTTP)
	}
	return nil
}

// limit calls set with deadline t, or with a time in the past if the port is closed. It reports whether the
// connection has deadlines.
func (a *arrival) limit(set func(net.Conn, time.Time) error, t time.Time) bool {
	conn, closed := a.now()
	if closed {
		t = past
	}
	ok := set(conn, t) == nil
	if _, since := a.now(); since && !closed {
		_ = set(conn, past)
	}
	return ok
}

// now returns the connection, and whether the port is closed.
func (a *arrival) now() (conn net.Conn, closed bool) {
	a.port.mu.Lock()
	defer a.port.mu.Unlock()
	return a.conn, a.port.closed
}

// explain tells a client that speaks HTTP on a TLS port what is wrong, as net/http does.
func (a *arrival) explain(err error) {
	var e tls.RecordHeaderError
	if !errors.As(err, &e) || e.Conn == nil {
		return
	}
	switch string(e.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
		_, _ = io.WriteString(e.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nThis port speaks HTTPS; the request was HTTP.\n")
	}
}

const bufferSize = 4 << 10

// sniff reads until it is clear which server the connection is for.
func (a *arrival) sniff() error {
	pool := mem.DefaultBufferPool()
	end := time.Now().Add(a.port.settle)
	said := false
	if !a.limit(net.Conn.SetDeadline, end) {
		a.giveUp() // without deadlines it can't wait
	}
	defer func() { _ = a.conn.SetDeadline(time.Time{}) }()
	a.sock = readyreader.NewSocket(a.conn)
	wrapped := !readyreader.ReadsSocket(a.raw) || !readyreader.DeadlinesEndReads(a.raw) // its Read may set deadlines of its own
	if wrapped {
		defer time.AfterFunc(a.port.settle+time.Second, func() { a.raw.Close() }).Stop()
	}
	for !a.isDone() {
		until := end
		heard := saysNothing
		switch waits := a.mayWait() && !said; {
		case waits && wrapped:
			speech := a.speakAfter(a.port.patience)
			heard = func() error {
				spoke, err := speech()
				said, a.owed = spoke, spoke
				return err
			}
		case waits:
			until = time.Now().Add(a.port.patience)
		}
		a.limit(net.Conn.SetReadDeadline, until)
		err := a.hear(pool, heard)
		switch {
		case err == nil && !a.isStuck():
		case err == nil:
			return errors.New("it does not acknowledge SETTINGS")
		case !readyreader.Again(err):
			return err
		case a.mayWait() && !said && time.Now().Before(end):
			said, a.owed = true, true
			if err := a.speak(); err != nil {
				return err
			}
		case a.owed:
			return errors.New("it acknowledges no SETTINGS")
		default:
			a.giveUp()
		}
	}
	return nil
}

// speak sends the SETTINGS for which a client may wait.
func (a *arrival) speak() error {
	_, err := a.conn.Write(frame.AppendSettings(nil))
	return err
}

// saysNothing is hear's heard where the port has nothing to say.
func saysNothing() error { return nil }

// speakAfter calls speak after d, unless stop is called before. stop reports whether it has, and its error.
func (a *arrival) speakAfter(d time.Duration) (stop func() (spoke bool, err error)) {
	done := make(chan error, 1)
	t := time.AfterFunc(d, func() {
		err := errors.New("the connection's Write has ended the goroutine")
		defer func() { done <- err }()
		err = a.speak()
	})
	return func() (spoke bool, err error) {
		if t.Stop() {
			return false, nil
		}
		return true, <-done
	}
}

// hear reads what has arrived, and calls heard before it looks at that. If the connection can wait for input
// without a buffer, hear has none while it waits.
func (a *arrival) hear(pool mem.BufferPool, heard func() error) error {
	var (
		buf *[]byte
		n   int
		err error
	)
	if a.sock.Can().Has(readyreader.ReadsReady) {
		if buf, n, err = a.sock.ReadOnReady(bufferSize, pool); err != nil {
			return cmp.Or(heard(), err)
		}
	} else {
		buf = pool.Get(bufferSize)
		n, err = a.sock.Read((*buf)[:bufferSize])
	}
	defer pool.Put(buf)
	if err := heard(); err != nil {
		return err
	}
	a.add((*buf)[:n])
	if n > 0 && a.isDone() {
		return nil // a.sock returns the error to the server that gets the connection
	}
	return err
}

// pass gives the connection, with everything that was read from it, to its server.
func (a *arrival) pass() error {
	to, as := a.port.web, a.asHTTP
	if a.v == forGRPC {
		to, as = a.port.rpc, a.asGRPC
	}
	nc, err := as()
	if err != nil {
		return err
	}
	a.conn = nc
	return to.pass(nc)
}

// turnAway tells an HTTP/2 client that none of its requests was processed, so that it may send them
// elsewhere. The client is not told if only one side of the port is closed, as it would come back.
func (a *arrival) turnAway() {
	if !a.isHTTP2() {
		return
	}
	defer time.AfterFunc(time.Second, func() { _ = a.raw.Close() }).Stop() // where there are no deadlines
	a.cut.Wait()                                                           // its deadline must not come after this one
	_ = a.conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = a.conn.Write(frame.AppendGoAway(frame.AppendSettings(nil), 0, frame.NoError, []byte("closing")))
}

func (a *arrival) asGRPC() (net.Conn, error) {
	switch t := a.secure.(type) {
	case *tlsconn.Conn:
		t.GiveBack(a.seen)
		return &conn{Conn: t, auth: infoOf(a.state)}, nil
	case *tls.Conn:
		return &conn{Conn: a.sock.Prefixed(a.seen), auth: infoOf(a.state)}, nil
	}
	return &conn{Conn: a.sock.Prefixed(a.seen)}, nil
}

func (a *arrival) asHTTP() (net.Conn, error) {
	switch t := a.secure.(type) {
	case *tlsconn.Conn:
		return t.Surrender(a.seen)
	case *tls.Conn:
		if len(a.seen) > 0 {
			tlsconn.GiveBack(t, a.seen)
		}
		return t, nil
	}
	return a.sock.Unread(a.seen), nil
}
