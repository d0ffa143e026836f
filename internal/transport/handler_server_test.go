// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc/credentials"
)

// TestHandlerPeer: who called is known behind net/http, too, by the SPIFFE ID of the certificate.
func TestHandlerPeer(t *testing.T) {
	id := &url.URL{Scheme: "spiffe", Host: "domain", Path: "/workload"}
	s := &HandlerStream{r: &http.Request{RemoteAddr: "1.2.3.4:5", TLS: &tls.ConnectionState{
		PeerCertificates: []*x509.Certificate{{URIs: []*url.URL{id}}},
	}}}
	s.setPeer()
	info := s.peer.AuthInfo.(credentials.TLSInfo)
	if info.SPIFFEID == nil || *info.SPIFFEID != *id || s.peer.Addr.String() != "1.2.3.4:5" {
		t.Errorf("%v, %v", s.peer.Addr, info.SPIFFEID)
	}
}

// TestHandlerQuotesLittle: a refusal quotes no more of a request than one without net/http does.
func TestHandlerQuotesLittle(t *testing.T) {
	long := strings.Repeat("\xff", 4000)
	for name, change := range map[string]func(*http.Request){
		"method":          func(r *http.Request) { r.Method = long },
		"content type":    func(r *http.Request) { r.Header.Set("Content-Type", "application/grpc"+long) },
		"binary metadata": func(r *http.Request) { r.Header[long+"-bin"] = []string{"!"} },
	} {
		r := httptest.NewRequest(http.MethodPost, "/s/m", nil)
		r.ProtoMajor = 2
		r.Header.Set("Content-Type", "application/grpc")
		change(r)
		w := httptest.NewRecorder()
		if s := NewHandlerStream(w, r, &ServerHost{}); s != nil {
			t.Errorf("%s: it is served", name)
			continue
		}
		if n := w.Body.Len(); n > 1500 {
			t.Errorf("%s: a body of %d bytes", name, n)
		}
	}
}

// countedContext counts who waits for its end.
type countedContext struct {
	context.Context
	done    chan struct{}
	waiting int
}

func (c *countedContext) Done() <-chan struct{} { return c.done }

func (c *countedContext) AfterFunc(func()) (stop func() bool) {
	c.waiting++
	return func() bool { c.waiting--; return true }
}

// TestHandlerLeavesProgramsContext: a call keeps nothing at a context of the program's that outlives it.
func TestHandlerLeavesProgramsContext(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/s/m", nil)
	r.ProtoMajor = 2
	r.Header.Set("Content-Type", "application/grpc")
	s := NewHandlerStream(httptest.NewRecorder(), r, &ServerHost{ServerConfig: &ServerConfig{}})
	program := &countedContext{Context: context.Background(), done: make(chan struct{})}
	s.Derive(func(context.Context) context.Context { return program })
	if program.waiting != 1 {
		t.Errorf("%d wait for its end, want the call", program.waiting)
	}
	s.Release()
	if program.waiting != 0 {
		t.Errorf("%d wait for its end after the call", program.waiting)
	}
}

// TestHandlerContextOfProgramEnds: a context that was not made of the call's ends with the call all the same.
func TestHandlerContextOfProgramEnds(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/s/m", nil)
	r.ProtoMajor = 2
	r.Header.Set("Content-Type", "application/grpc")
	s := NewHandlerStream(httptest.NewRecorder(), r, &ServerHost{ServerConfig: &ServerConfig{}})
	type key struct{}
	s.Derive(func(context.Context) context.Context { return context.WithValue(context.Background(), key{}, 1) })
	s.Cancel()
	<-s.Context().Done()
	if err := s.Context().Err(); err != context.Canceled || s.Context().Value(key{}) != 1 {
		t.Error(err)
	}
	s.Release()
}
