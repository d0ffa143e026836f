// SPDX-License-Identifier: Apache-2.0

package debugpage_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/debugpage"
	"google.golang.org/grpc/experimental/servercontrol"
)

// The page stands beside pprof, on an address that only its owners reach.
func ExamplePage() {
	var control servercontrol.Control
	server := grpc.NewServer(control.Option())
	defer server.Stop()
	mux := http.NewServeMux()
	mux.Handle("/debug/grpc", &debugpage.Page{Servers: []*servercontrol.Control{&control}})

	debug := httptest.NewServer(mux) // http.ListenAndServe("localhost:6060", mux)
	defer debug.Close()
	resp, err := http.Get(debug.URL + "/debug/grpc?format=json")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, strings.Contains(string(page), `"servers"`), err)
	// Output: 200 OK true <nil>
}
