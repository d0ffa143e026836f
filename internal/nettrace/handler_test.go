// SPDX-License-Identifier: Apache-2.0

package nettrace

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/trace"

	"google.golang.org/grpc/stats"
)

// page is what /debug/requests shows of a family: its active traces, or with bucket 0 those that are finished.
func page(family, bucket string, sensitive bool) string {
	w := httptest.NewRecorder()
	trace.Render(w, httptest.NewRequest(http.MethodGet, "/debug/requests?exp=1&fam="+family+"&b="+bucket, nil), sensitive)
	return w.Body.String()
}

func newHandler(family string) *handler {
	return &handler{enabled: func() bool { return true }, family: family, towards: "from"}
}

// TestOverWithoutEnd: the trace of an RPC that had no Begin is finished when the RPC is over.
func TestOverWithoutEnd(t *testing.T) {
	h := newHandler("Over")
	ctx := h.TagRPC(context.Background(), &stats.RPCTagInfo{FullMethodName: "/a.Service/Unknown"})
	h.HandleRPC(ctx, &stats.InHeader{})
	if !strings.Contains(page("grpc.Over.Service", "-1", true), "/a.Service/Unknown") {
		t.Error("the RPC is not shown as active")
	}
	h.RPCOver(ctx)
	if strings.Contains(page("grpc.Over.Service", "-1", true), "/a.Service/Unknown") {
		t.Error("the RPC is active for ever")
	}
	h.RPCOver(context.Background())
}

// TestNothingAfterEnd: what is told after End is not told to the trace, which may be another RPC's by then.
func TestNothingAfterEnd(t *testing.T) {
	h := newHandler("End")
	ctx := h.TagRPC(context.Background(), &stats.RPCTagInfo{FullMethodName: "/a.Service/M"})
	h.HandleRPC(ctx, &stats.End{Error: errors.New("no such thing")})
	h.HandleRPC(ctx, &stats.InPayload{Payload: "afterwards"})
	h.HandleRPC(ctx, &stats.End{Error: errors.New("once more")})
	text := page("grpc.End.Service", "0", true)
	if !strings.Contains(text, "no such thing") || strings.Contains(text, "afterwards") || strings.Contains(text, "once more") {
		t.Error(text)
	}
}

// TestSensitive: a handler's error is shown to those who may see messages, and a client's to all.
func TestSensitive(t *testing.T) {
	for _, client := range []bool{false, true} {
		h := newHandler("Secret")
		ctx := h.TagRPC(context.Background(), &stats.RPCTagInfo{FullMethodName: "/a.Service/M"})
		h.HandleRPC(ctx, &stats.End{Client: client, Error: errors.New("of a person")})
		for _, sensitive := range []bool{false, true} {
			if shown := strings.Contains(page("grpc.Secret.Service", "0", sensitive), "of a person"); shown != (client || sensitive) {
				t.Errorf("client %v, sensitive %v: shown %v", client, sensitive, shown)
			}
		}
	}
}
