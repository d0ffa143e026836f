// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strings"
	"testing"
)

func TestGoroutineLabels(t *testing.T) {
	labelled := func() int {
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
			t.Error(err)
		}
		return strings.Count(b.String(), `{"grpc.method":"`)
	}
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		name, ok := pprof.Label(ctx, "grpc.method")
		if want := m.Value == "on"; ok != want || want && name != unaryMethod || want != (labelled() > 0) {
			t.Errorf("%s: label %q, %d goroutines have one", m.Value, name, labelled())
		}
		return m, nil
	}
	for _, on := range []bool{true, false} {
		s := serve(t, e, serverOption(func(o *serverOptions) { o.labelGoroutines = on }))
		cc := newTestClient(t, s.addr)
		value := map[bool]string{true: "on", false: "off"}[on]
		if err := call(testContext(t), cc, value); err != nil {
			t.Error(err)
		}
		_ = cc.Close()
		s.GracefulStop()
	}
}
