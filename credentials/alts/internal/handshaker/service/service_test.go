// SPDX-License-Identifier: Apache-2.0

package service

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
)

// testPool counts what is dialled. The connections stay idle.
func testPool() (p *pool, dialled *[]*grpc.ClientConn) {
	dialled = new([]*grpc.ClientConn)
	return &pool{dial: func(addr string) (*grpc.ClientConn, error) {
		if addr == "bad" {
			return nil, errors.New("a bad address")
		}
		cc, err := dial(addr)
		*dialled = append(*dialled, cc)
		return cc, err
	}}, dialled
}

func acquire(t *testing.T, p *pool, addr string) (grpc.ClientConnInterface, func()) {
	t.Helper()
	cc, release, err := p.acquire(addr)
	if err != nil {
		t.Fatal(err)
	}
	return cc, release
}

func closed(cc *grpc.ClientConn) bool { return cc.GetState() == connectivity.Shutdown }

func TestSharing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, dialled := testPool()
		a, releaseA := acquire(t, p, "127.0.0.1:1")
		b, releaseB := acquire(t, p, "127.0.0.1:1")
		other, releaseOther := acquire(t, p, "127.0.0.1:2")
		if a != b || a == other || len(*dialled) != 2 {
			t.Fatalf("%d connections", len(*dialled))
		}
		first := (*dialled)[0]
		releaseA()
		releaseA() // once is enough
		time.Sleep(2 * linger)
		if closed(first) {
			t.Fatal("closed while somebody uses it")
		}
		releaseB()
		time.Sleep(linger - 1)
		if closed(first) {
			t.Fatal("closed too soon")
		}
		c, releaseC := acquire(t, p, "127.0.0.1:1") // the last moment
		if c != a {
			t.Fatal("a new connection")
		}
		time.Sleep(2 * linger)
		if closed(first) {
			t.Fatal("closed by a stopped timer")
		}
		releaseC()
		time.Sleep(linger)
		synctest.Wait()
		if !closed(first) {
			t.Error("not closed when nobody used it")
		}
		d, releaseD := acquire(t, p, "127.0.0.1:1")
		if d == a {
			t.Error("lent after it was closed")
		}
		releaseD()
		releaseOther()
		p.closeIdle()
		for i, cc := range *dialled {
			if !closed(cc) {
				t.Errorf("connection %d is not closed", i)
			}
		}
		if len(p.conns) != 0 {
			t.Errorf("%d connections are kept", len(p.conns))
		}
	})
}

func TestCloseIdleSparesUsers(t *testing.T) {
	p, dialled := testPool()
	_, release := acquire(t, p, "127.0.0.1:1")
	p.closeIdle()
	if closed((*dialled)[0]) {
		t.Error("closed while somebody uses it")
	}
	release()
	p.closeIdle()
	if !closed((*dialled)[0]) {
		t.Error("not closed")
	}
}

func TestDialError(t *testing.T) {
	p, _ := testPool()
	if _, _, err := p.acquire("bad"); err == nil {
		t.Error("no error")
	}
	if len(p.conns) != 0 {
		t.Error("a connection that is none is kept")
	}
}
