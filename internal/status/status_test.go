// SPDX-License-Identifier: Apache-2.0

package status

import (
	"runtime"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"google.golang.org/grpc/codes"
)

func TestMemory(t *testing.T) {
	if got := Memory(nil); got != 0 {
		t.Errorf("none takes %d bytes", got)
	}
	if short, long := Memory(New(codes.Aborted, "")), Memory(New(codes.Aborted, "why")); long != short+3 || short == 0 {
		t.Errorf("%d bytes with a message of 3, %d without", long, short)
	}
	const statuses, details = 20, 1000
	p := &spb.Status{Code: 1}
	for range details {
		p.Details = append(p.Details, new(anypb.Any))
	}
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	var all [statuses]*Status
	before := heap()
	for i := range all {
		all[i] = FromProto(p)
	}
	grew := (heap() - before) / statuses
	if got := Memory(all[0]); got < grew/2 || got > 2*grew {
		t.Errorf("%d bytes of %d details, which take %d", got, details, grew)
	}
	runtime.KeepAlive(all)
}
