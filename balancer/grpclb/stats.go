// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"sync"

	"google.golang.org/grpc/balancer"
	lbpb "google.golang.org/grpc/balancer/grpclb/grpc_lb_v1"
	"google.golang.org/grpc/internal/balancer/done"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// callStats counts RPCs for the reports to the load balancer. The zero value is ready for use.
type callStats struct {
	mu                       sync.Mutex
	stream                   int   // counts the streams that reports go to
	started, finished        int64 // started is negative after a report to the stream of picks that no RPC has used
	failedToSend, knownCalls int64
	dropped                  map[string]int64 // by token
	tokens                   int              // how much of maxTokens these use
}

// maxTokens limits the memory, in bytes, that the tokens of dropped RPCs use until a report: a balancer may name others
// again and again, and never ask for a report. A token counts as its length plus tokenCost.
const (
	maxTokens = 256 << 10
	tokenCost = 64
)

// begin forgets the counts: they do not belong to the stream that begins.
func (s *callStats) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream++
	s.started, s.finished, s.failedToSend, s.knownCalls, s.dropped, s.tokens = 0, 0, 0, 0, nil, 0
}

// start returns what end needs to know.
func (s *callStats) start() (stream int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	return s.stream
}

// drop counts an RPC that the policy drops, as started and as finished, and its token, unless that is new and maxTokens is
// reached.
func (s *callStats) drop(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	s.finished++
	if _, known := s.dropped[token]; !known {
		if s.tokens+len(token)+tokenCost > maxTokens {
			return
		}
		s.tokens += len(token) + tokenCost
		if s.dropped == nil {
			s.dropped = make(map[string]int64)
		}
	}
	s.dropped[token]++
}

func (s *callStats) end(stream int, info balancer.DoneInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done.WasUnused(info) {
		if stream == s.stream {
			s.started--
		}
		return
	}
	s.finished++
	if info.Err != nil && !info.BytesSent {
		s.failedToSend++
	}
	if info.BytesReceived {
		s.knownCalls++
	}
}

// take returns the counts since the last call of take. zero reports whether all of them are zero.
func (s *callStats) take() (out *lbpb.ClientStats, zero bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out = &lbpb.ClientStats{
		Timestamp:                              timestamppb.Now(),
		NumCallsStarted:                        max(s.started, 0),
		NumCallsFinished:                       s.finished,
		NumCallsFinishedWithClientFailedToSend: s.failedToSend,
		NumCallsFinishedKnownReceived:          s.knownCalls,
	}
	for token, n := range s.dropped {
		out.CallsFinishedWithDrop = append(out.CallsFinishedWithDrop, &lbpb.ClientStatsPerToken{LoadBalanceToken: token, NumCalls: n})
	}
	s.started, s.finished, s.failedToSend, s.knownCalls, s.dropped, s.tokens = min(s.started, 0), 0, 0, 0, nil, 0
	return out, out.NumCallsStarted == 0 && out.NumCallsFinished == 0
}
