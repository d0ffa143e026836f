// SPDX-License-Identifier: Apache-2.0

package transports

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	coder "github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
	oldsocket "golang.org/x/net/websocket"
)

// TestWebSocketCoder uses the net.Conn that the library has, the addresses of which are no
// addresses.
func TestWebSocketCoder(t *testing.T) {
	testLink(t, func(t *testing.T) link {
		q, url := openWeb(t, func(q *queue) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ws, err := coder.Accept(w, r, nil)
				if err != nil {
					return
				}
				conn := newWaited(coder.NetConn(context.Background(), ws, coder.MessageBinary))
				q.put(conn)
				<-conn.closed
			})
		})
		return link{lis: q, dial: func(ctx context.Context) (net.Conn, error) {
			ws, _, err := coder.Dial(ctx, url, nil)
			if err != nil {
				return nil, err
			}
			return coder.NetConn(context.Background(), ws, coder.MessageBinary), nil
		}}
	})
}

// TestWebSocketGorilla makes its messages a stream, as programs do.
func TestWebSocketGorilla(t *testing.T) {
	testLink(t, func(t *testing.T) link {
		q, url := openWeb(t, func(q *queue) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var up gorilla.Upgrader
				if ws, err := up.Upgrade(w, r, nil); err == nil {
					q.put(&messages{Conn: ws})
				}
			})
		})
		return link{lis: q, dial: func(ctx context.Context) (net.Conn, error) {
			ws, _, err := gorilla.DefaultDialer.DialContext(ctx, url, nil)
			if err != nil {
				return nil, err
			}
			return &messages{Conn: ws}, nil
		}}
	})
}

// TestWebSocketNet uses golang.org/x/net/websocket, the connection of which is a net.Conn.
func TestWebSocketNet(t *testing.T) {
	testLink(t, func(t *testing.T) link {
		q, url := openWeb(t, func(q *queue) http.Handler {
			return oldsocket.Handler(func(ws *oldsocket.Conn) {
				ws.PayloadType = oldsocket.BinaryFrame
				conn := newWaited(ws)
				q.put(conn)
				<-conn.closed
			})
		})
		return link{lis: q, dial: func(context.Context) (net.Conn, error) {
			ws, err := oldsocket.Dial(url, "", "http://127.0.0.1")
			if err != nil {
				return nil, err
			}
			ws.PayloadType = oldsocket.BinaryFrame
			return ws, nil
		}}
	})
}

// openWeb serves what handler makes over HTTP, and returns where.
func openWeb(t *testing.T, handler func(*queue) http.Handler) (q *queue, url string) {
	web := httptest.NewUnstartedServer(nil)
	q = newQueue(t, web.Listener.Addr())
	web.Config.Handler = handler(q)
	web.Start()
	t.Cleanup(web.CloseClientConnections)
	return q, strings.Replace(web.URL, "http", "ws", 1)
}

// waited is a connection that a handler of net/http keeps until it is closed.
type waited struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func newWaited(conn net.Conn) *waited { return &waited{Conn: conn, closed: make(chan struct{})} }

func (w *waited) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

// messages is the stream that binary messages hold.
type messages struct {
	*gorilla.Conn
	mu sync.Mutex // one writer at a time
	r  io.Reader  // the message that is being read
}

func (m *messages) Read(p []byte) (int, error) {
	for {
		if m.r == nil {
			_, r, err := m.NextReader()
			if err != nil {
				return 0, err
			}
			m.r = r
		}
		n, err := m.r.Read(p)
		if err == io.EOF {
			m.r = nil
			if n == 0 {
				continue
			}
			err = nil
		}
		return n, err
	}
}

func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.WriteMessage(gorilla.BinaryMessage, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (m *messages) SetDeadline(t time.Time) error {
	if err := m.SetReadDeadline(t); err != nil {
		return err
	}
	return m.SetWriteDeadline(t)
}
