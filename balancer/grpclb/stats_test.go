// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/balancer/done"
)

// TestUnusedPick: a pick that no RPC has used is not reported, neither as begun nor as finished. If it was reported as
// begun meanwhile, the next reports make up for that.
func TestUnusedPick(t *testing.T) {
	var s callStats
	for _, info := range []balancer.DoneInfo{{}, {Err: done.Lost(errors.New("the connection"))}} {
		s.start()
		s.end(0, info)
		if out, zero := s.take(); !zero || out.NumCallsFinishedWithClientFailedToSend != 0 {
			t.Errorf("%v: %v", info, out)
		}
	}
	s.start()
	if out, _ := s.take(); out.NumCallsStarted != 1 {
		t.Error(out)
	}
	s.end(0, balancer.DoneInfo{})
	if out, zero := s.take(); !zero {
		t.Error(out)
	}
	s.start()
	s.end(0, balancer.DoneInfo{Err: errors.New("the deadline")})
	if out, _ := s.take(); out.NumCallsStarted != 0 || out.NumCallsFinished != 1 || out.NumCallsFinishedWithClientFailedToSend != 1 {
		t.Error(out)
	}
}

// TestUnusedPickOfEarlierStream: a pick that no RPC has used takes nothing from the reports of a stream that began after it.
func TestUnusedPickOfEarlierStream(t *testing.T) {
	var s callStats
	reported, unreported := s.start(), s.start()
	s.take()
	s.end(reported, balancer.DoneInfo{})
	s.begin()
	s.end(unreported, balancer.DoneInfo{})
	s.end(s.start(), balancer.DoneInfo{Err: errors.New("the deadline")})
	if out, _ := s.take(); out.NumCallsStarted != 1 || out.NumCallsFinished != 1 {
		t.Error(out)
	}
}

// TestTokensOfDropsAreBounded: a balancer that names other tokens again and again, and asks for no report, makes the
// client hold maxTokens of them.
func TestTokensOfDropsAreBounded(t *testing.T) {
	var s callStats
	token := strings.Repeat("x", 1000)
	for i := range 1000 {
		s.drop(fmt.Sprint(i) + token)
	}
	if n := len(s.dropped); n < 200 || n > maxTokens/len(token) {
		t.Errorf("%d tokens are held", n)
	}
	if r, _ := s.take(); r.GetNumCallsFinished() != 1000 {
		t.Errorf("%d RPCs are reported", r.GetNumCallsFinished())
	}
	s.drop("again")
	if r, _ := s.take(); len(r.GetCallsFinishedWithDrop()) != 1 {
		t.Error("after a report there is no place")
	}
}
