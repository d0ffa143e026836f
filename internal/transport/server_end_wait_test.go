// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
)

// Streams that are over are not kept, and don't lengthen the list, however many there are.
func TestEndWaitsForgetWhatIsOver(t *testing.T) {
	calls := make(chan *ServerStream, 1)
	s := startServer(t, "tcp", ServerConfig{}, func(st *ServerStream) {
		calls <- st
		echoUnary(st)
	})
	c, _ := s.dial(nil)
	p := Payload{Data: OnePiece(mem.SliceBuffer([]byte{1}))}
	st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Unary", MaxRecvMsgSize: 4 << 20}, &p, true)
	if err != nil {
		t.Fatal(err)
	}
	st.AwaitEnd()
	if m, err := st.Recv(); err == nil {
		m.Data.Free()
	}
	over := <-calls
	c.Close(errors.New("over"))
	<-s.closed

	var e endWaits
	longest := 0
	for range 10_000 {
		e.add(over, 1, time.Hour)
		longest = max(longest, cap(e.list))
	}
	if longest > 2*fewEndWaits {
		t.Errorf("the list has had %d places", longest)
	}
	for i := range e.list {
		e.list[i].due = 0
	}
	if late := e.late(); len(late) != 0 || e.list != nil || e.armed {
		t.Errorf("%v are late, %v are left", late, e.list)
	}
	e.timer.Stop()
}
